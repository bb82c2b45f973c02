package auth_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/auth"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/test/pgtest"
)

func TestAChangeOfOneKeyOrWorkspaceLeavesWhatIsRememberedOfOthers(t *testing.T) {
	store := &countingStore{DB: open(t, pgtest.Migrated(t))}
	a := auth.New(store)
	run(t, a)
	kept, _ := newKey(t, store.DB)
	changed, key := newKey(t, store.DB)
	ask := func(text string) error {
		_, err := a.Authenticate(t.Context(), text, netip.Addr{})
		return err
	}
	// settled waits until a change is known: then verifying the key costs no look-up.
	settled := func(text string) {
		require.Eventually(t, func() bool {
			before := store.lookUps.Load()
			return ask(text) == nil && store.lookUps.Load() == before
		}, time.Minute, 10*time.Millisecond)
	}
	settled(kept)
	settled(changed)
	time.Sleep(400 * time.Millisecond) // two polls
	before := store.lookUps.Load()
	for range 20 {
		newKey(t, store.DB) // a workspace and a key each
		time.Sleep(10 * time.Millisecond)
	}
	name := "other"
	_, err := store.UpdateWorkspace(t.Context(), key.Workspaces[0], access.WorkspaceChange{Name: &name})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return ask(changed) == nil && store.lookUps.Load() > before
	}, time.Minute, 10*time.Millisecond,
		"a key of the workspace that changed is looked up")
	time.Sleep(time.Second)
	before = store.lookUps.Load()
	require.NoError(t, ask(kept))
	require.Equal(t, before, store.lookUps.Load(), "another is remembered")
	_, err = store.RevokeKey(t.Context(), key.ID)
	require.NoError(t, err)
	revoked := time.Now()
	require.Eventually(t, func() bool {
		return fault.Is(ask(changed), fault.Unauthenticated)
	}, time.Minute, 5*time.Millisecond)
	t.Logf("revoked after %s", time.Since(revoked))
	require.NoError(t, ask(kept))
}

func TestWhoMissedChangesDropsEverything(t *testing.T) {
	db := open(t, pgtest.Migrated(t))
	_, err := db.AuthChanges(t.Context(), 0)
	require.NoError(t, err)
	now, err := db.AuthChanges(t.Context(), 0)
	require.NoError(t, err)
	_, key := newKey(t, db)
	after, err := db.AuthChanges(t.Context(), now.Revision)
	require.NoError(t, err)
	require.True(t, after.Complete)
	require.Contains(t, after.IDs, key.ID)
	require.Contains(t, after.IDs, key.Workspaces[0])
	require.Len(t, after.IDs, int(after.Revision-now.Revision))
	for _, since := range []int64{after.Revision - 5000, -1, after.Revision + 1} {
		missed, err := db.AuthChanges(t.Context(), since)
		require.NoError(t, err)
		require.False(t, missed.Complete, since)
	}
	none, err := db.AuthChanges(t.Context(), after.Revision)
	require.NoError(t, err)
	require.True(t, none.Complete)
	require.Empty(t, none.IDs)
}

// slowStore looks up one key immediately, and others when release is closed.
type slowStore struct {
	*stores.DB
	good    [32]byte
	asked   atomic.Int64
	release chan struct{}
}

func (s *slowStore) CredentialsByHash(
	ctx context.Context, hashes [][32]byte,
) ([]*access.Credential, int64, error) {
	if !slices.Equal(hashes, [][32]byte{s.good}) {
		s.asked.Add(1)
		select {
		case <-s.release:
		case <-ctx.Done():
			return nil, 0, errors.New("slow")
		}
	}
	return s.DB.CredentialsByHash(ctx, hashes)
}

func TestKeysThatWereMadeUpKeepNobodyElseFromBeingLookedUp(t *testing.T) {
	db := open(t, pgtest.Migrated(t))
	text, _ := newKey(t, db)
	key, err := apikey.Parse(text)
	require.NoError(t, err)
	store := &slowStore{DB: db, good: key.Hash(), release: make(chan struct{})}
	a := auth.New(store)
	run(t, a)
	attacker := netip.MustParseAddr("203.0.113.1")
	var asking sync.WaitGroup
	var refused atomic.Int64
	for range 200 {
		asking.Go(func() {
			_, err := a.Authenticate(t.Context(), apikey.Generate(apikey.Live).Reveal(), attacker)
			if fault.Is(err, fault.Unavailable) {
				refused.Add(1)
			}
		})
	}
	require.Eventually(t, func() bool {
		return store.asked.Load() > 0 && refused.Load() > 0
	}, time.Minute, time.Millisecond)
	require.EqualValues(t, 1, store.asked.Load(), "one of them at a time")
	_, err = a.Authenticate(t.Context(), text, netip.MustParseAddr("203.0.113.2"))
	require.NoError(t, err, "another address's key is looked up meanwhile")
	_, err = a.Authenticate(t.Context(), text, attacker)
	require.NoError(t, err, "and then it is remembered, wherever it comes from")
	close(store.release)
	asking.Wait()
}

// TestKeysThatWereMadeUpAreLookedUpTogether counts statements: with one statement a key, a
// client that tries many keys a second would overload Postgres.
func TestKeysThatWereMadeUpAreLookedUpTogether(t *testing.T) {
	store := &countingStore{DB: open(t, pgtest.Migrated(t))}
	a := auth.New(store)
	run(t, a)
	var asking sync.WaitGroup
	var unknown atomic.Int64
	began := time.Now()
	for range 8 {
		asking.Go(func() {
			for range 100 {
				_, err := a.Authenticate(t.Context(), apikey.Generate(apikey.Live).Reveal(), netip.Addr{})
				if fault.Is(err, fault.Unauthenticated) {
					unknown.Add(1)
				}
			}
		})
	}
	asking.Wait()
	require.EqualValues(t, 800, unknown.Load())
	require.LessOrEqual(t, store.lookUps.Load(), int64(2+time.Since(began)/(10*time.Millisecond)))
	require.Less(t, store.lookUps.Load(), unknown.Load()/2, "several in a statement")
}

// TestAnAddressThatSendsUnknownKeysHasFewLookedUp counts keys: an address that keeps sending keys
// that do not exist gets 16 looked up per batch, and the others are refused without waiting. When
// it stops, it has the usual limit again.
func TestAnAddressThatSendsUnknownKeysHasFewLookedUp(t *testing.T) {
	db := open(t, pgtest.Migrated(t))
	text, _ := newKey(t, db)
	store := &countingStore{DB: db}
	a := auth.New(store)
	run(t, a)
	attacker := netip.MustParseAddr("203.0.113.1")
	var asking sync.WaitGroup
	var unknown, refused atomic.Int64
	began := time.Now()
	for range 200 {
		asking.Go(func() {
			for time.Since(began) < 500*time.Millisecond {
				_, err := a.Authenticate(t.Context(), apikey.Generate(apikey.Live).Reveal(), attacker)
				if fault.Is(err, fault.Unavailable) {
					refused.Add(1)
					time.Sleep(time.Millisecond)
				} else {
					unknown.Add(1)
				}
			}
		})
	}
	asking.Wait()
	batches := store.lookUps.Load()
	require.Positive(t, refused.Load())
	require.LessOrEqual(t, unknown.Load(), 64+16*batches, "64 in the first batch")
	require.Eventually(t, func() bool {
		_, err := a.Authenticate(t.Context(), text, attacker)
		return err == nil
	}, time.Minute, 10*time.Millisecond)
}
