package auth_test

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/auth"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

func open(t *testing.T, url string) *stores.DB {
	t.Helper()
	db, err := stores.Open(t.Context(), url, 4)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	require.NoError(t, db.Migrate(t.Context()))
	return db
}

func newKey(t *testing.T, db *stores.DB) (string, access.Key) {
	t.Helper()
	w, err := db.CreateWorkspace(t.Context(), access.Workspace{Name: "plant", Plan: "starter", Mode: apikey.Live})
	require.NoError(t, err)
	text := apikey.Generate(apikey.Live)
	key, err := db.CreateKey(t.Context(), access.NewKey{
		Hash: text.Hash(), Display: text.Display(), Name: "key", Mode: apikey.Live, Scopes: []string{"admin"},
		Workspaces: []uuid.UUID{w.ID}, CreatedBy: "test",
	})
	require.NoError(t, err)
	return text.Reveal(), key
}

// run runs the authenticator until stop is called or the test ends.
func run(t *testing.T, a *auth.Authenticator) (stop func()) {
	t.Helper()
	return testenv.RunInBackground(t, a.Run)
}

func TestARevokedKeyEndsWithinASecondOnEveryProcess(t *testing.T) {
	db := open(t, pgtest.Migrated(t))
	first, second := auth.New(db), auth.New(db)
	run(t, first)
	run(t, second)
	text, key := newKey(t, db)
	for _, a := range []*auth.Authenticator{first, second} {
		found, err := a.Authenticate(t.Context(), text, netip.Addr{})
		require.NoError(t, err)
		require.Equal(t, key.ID, found.ID)
	}
	_, err := db.RevokeKey(t.Context(), key.ID)
	require.NoError(t, err)
	revoked := time.Now()
	for _, a := range []*auth.Authenticator{first, second} {
		require.Eventually(t, func() bool {
			_, err := a.Authenticate(t.Context(), text, netip.Addr{})
			return fault.Is(err, fault.Unauthenticated)
		}, time.Second-time.Since(revoked), 10*time.Millisecond)
	}
}

func TestAKeyWorksAsSoonAsItIsMadeThoughItWasTriedBefore(t *testing.T) {
	db := open(t, pgtest.Migrated(t))
	a := auth.New(db)
	run(t, a)
	w, err := db.CreateWorkspace(t.Context(), access.Workspace{Name: "plant", Plan: "starter", Mode: apikey.Live})
	require.NoError(t, err)
	text := apikey.Generate(apikey.Live)
	_, err = a.Authenticate(t.Context(), text.Reveal(), netip.Addr{})
	require.Equal(t, fault.Unauthenticated, fault.KindOf(err))
	_, err = db.CreateKey(
		t.Context(),
		access.NewKey{Hash: text.Hash(), Display: text.Display(), Name: "k", Mode: apikey.Live,
			Scopes: []string{}, Workspaces: []uuid.UUID{w.ID}, CreatedBy: "test"},
	)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := a.Authenticate(t.Context(), text.Reveal(), netip.Addr{})
		return err == nil
	}, time.Minute, 10*time.Millisecond)
}

func TestWithoutAPollEveryRequestLooksUp(t *testing.T) {
	db := open(t, pgtest.Migrated(t))
	a := auth.New(db) // Run is not running
	text, key := newKey(t, db)
	_, err := a.Authenticate(t.Context(), text, netip.Addr{})
	require.NoError(t, err)
	time.Sleep(1100 * time.Millisecond) // without a confirmation
	_, err = db.RevokeKey(t.Context(), key.ID)
	require.NoError(t, err)
	_, err = a.Authenticate(t.Context(), text, netip.Addr{})
	require.Equal(t, fault.Unauthenticated, fault.KindOf(err))
}

func TestASilentDatabaseMakesKeysUnverifiableAfterASecondAndNotForGood(t *testing.T) {
	server := testenv.StoppablePostgres(t)
	db := open(t, server.Address())
	a := auth.New(db)
	run(t, a)
	text, _ := newKey(t, db)
	_, err := a.Authenticate(t.Context(), text, netip.Addr{})
	require.NoError(t, err)

	for name, silence := range map[string]func() (wake func()){
		"frozen": func() func() {
			testenv.Pause(t, server)
			return func() { testenv.Resume(t, server) }
		},
		"stopped": func() func() {
			require.NoError(t, server.Stop(context.Background()))
			return func() { require.NoError(t, server.Start(context.Background())) }
		},
	} {
		time.Sleep(400 * time.Millisecond)
		_, err := a.Authenticate(t.Context(), text, netip.Addr{})
		require.NoError(t, err)
		since := time.Now()
		wake := silence() // stopping takes longer on a busy machine
		for time.Since(since) < 300*time.Millisecond {
			_, err = a.Authenticate(t.Context(), text, netip.Addr{})
			require.NoError(t, err, "%s: a short silence is bridged", name)
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(1200 * time.Millisecond)
		asked := time.Now()
		_, err = a.Authenticate(t.Context(), text, netip.Addr{})
		require.Equal(t, fault.Unavailable, fault.KindOf(err), "%s: %v", name, err)
		require.Less(t, time.Since(asked), 10*time.Second)
		_, err = a.Authenticate(t.Context(), "lg_live_nonsense", netip.Addr{})
		require.Equal(t, fault.Unauthenticated, fault.KindOf(err), "a checksum needs no look-up")
		wake()
		require.Eventually(t, func() bool {
			_, err := a.Authenticate(t.Context(), text, netip.Addr{})
			return err == nil
		}, time.Minute, 50*time.Millisecond, name)
	}
}

func TestUnknownKeysDoNotFillTheMemory(t *testing.T) {
	db := open(t, pgtest.Migrated(t))
	a := auth.New(db)
	run(t, a)
	for range 200 {
		_, err := a.Authenticate(t.Context(), apikey.Generate(apikey.Live).Reveal(), netip.Addr{})
		require.Equal(t, fault.Unauthenticated, fault.KindOf(err))
	}
}

func TestTheLastUseIsStored(t *testing.T) {
	db := open(t, pgtest.Migrated(t))
	a := auth.New(db)
	stop := run(t, a)
	_, key := newKey(t, db)
	a.RecordUse(key.ID, netip.MustParseAddr("10.0.0.1"))
	a.RecordUse(key.ID, netip.MustParseAddr("10.0.0.2"))
	stop() // stores the pending uses
	stored, err := db.KeyByID(t.Context(), key.ID)
	require.NoError(t, err)
	require.Equal(t, "10.0.0.2", stored.LastUsedIP.String())
	require.WithinDuration(t, time.Now(), *stored.LastUsedAt, 5*time.Second)
}

// fakeChannel connects the authenticators of one test. It can be cut.
type fakeChannel struct {
	mu        sync.Mutex
	cut       bool
	receivers []func(int64, time.Time)
	sent      int
}

func (w *fakeChannel) Send(_ context.Context, revision int64, at time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent++
	if w.cut {
		return errors.New("the wire is cut")
	}
	for _, hear := range w.receivers {
		hear(revision, at)
	}
	return nil
}

func (w *fakeChannel) Listen(ctx context.Context, hear func(int64, time.Time)) error {
	w.mu.Lock()
	w.receivers = append(w.receivers, hear)
	w.mu.Unlock()
	<-ctx.Done()
	return ctx.Err()
}

func (w *fakeChannel) setCut(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
}

// unreliableStore is a store that can become unreachable, and whose clock may be wrong.
type unreliableStore struct {
	*stores.DB
	unreachable atomic.Bool
	clockOffset atomic.Int64 // how far it is ahead
}

func (a *unreliableStore) AuthChanges(ctx context.Context, since int64) (access.AuthChanges, error) {
	if a.unreachable.Load() {
		return access.AuthChanges{}, errors.New("the way to Postgres is cut")
	}
	found, err := a.DB.AuthChanges(ctx, since)
	found.At = found.At.Add(time.Duration(a.clockOffset.Load()))
	return found, err
}

func (a *unreliableStore) CredentialsByHash(
	ctx context.Context, hashes [][32]byte,
) ([]*access.Credential, int64, error) {
	if a.unreachable.Load() {
		return nil, 0, errors.New("the way to Postgres is cut")
	}
	return a.DB.CredentialsByHash(ctx, hashes)
}

func TestAProcessThatCannotAskPostgresBelievesTheOthers(t *testing.T) {
	db := open(t, pgtest.Migrated(t))
	channel := &fakeChannel{}
	reachable, isolated := &unreliableStore{DB: db}, &unreliableStore{DB: db}
	first, second := auth.New(reachable), auth.New(isolated)
	first.UseChannel(channel)
	second.UseChannel(channel)
	run(t, first)
	run(t, second)
	text, key := newKey(t, db)
	ask := func(a *auth.Authenticator) fault.Kind {
		_, err := a.Authenticate(t.Context(), text, netip.Addr{})
		if err == nil {
			return fault.Internal // none: it is good
		}
		return fault.KindOf(err)
	}
	const good = fault.Internal
	requireEventually := func(a *auth.Authenticator, want fault.Kind, why string) {
		t.Helper()
		require.Eventually(t, func() bool { return ask(a) == want }, time.Minute, 10*time.Millisecond, why)
	}
	requireEventually(first, good, "it is asked for")
	requireEventually(second, good, "it is asked for")
	time.Sleep(time.Second) // until the cache is of the newest revision
	require.Equal(t, good, ask(second))

	isolated.unreachable.Store(true)
	time.Sleep(2 * time.Second)
	requireEventually(second, good, "the other process reports that nothing has changed")
	channel.setCut(true)
	time.Sleep(time.Second)
	require.Equal(t, fault.Unavailable, ask(second), "no process reports anything to it")
	channel.setCut(false)
	requireEventually(second, good, "the wire is whole again")
	_, err := db.RevokeKey(t.Context(), key.ID)
	require.NoError(t, err)
	time.Sleep(time.Second)
	require.Equal(t, fault.Unavailable, ask(second), "it hears that something has changed, and cannot ask what")
	require.Equal(t, fault.Unauthenticated, ask(first))
	isolated.unreachable.Store(false)
	requireEventually(second, fault.Unauthenticated, "and then it can")
}

// Whatever the clocks show, a report never counts as newer than its receipt.
func TestAnotherClockKeepsNoKeyAlive(t *testing.T) {
	db := open(t, pgtest.Migrated(t))
	channel := &fakeChannel{}
	skewed, isolated := &unreliableStore{DB: db}, &unreliableStore{DB: db}
	first, second := auth.New(skewed), auth.New(isolated)
	first.UseChannel(channel)
	second.UseChannel(channel)
	stop := run(t, first)
	run(t, second)
	text, _ := newKey(t, db)
	require.Eventually(t, func() bool {
		_, err := second.Authenticate(t.Context(), text, netip.Addr{})
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	time.Sleep(time.Second)
	_, err := second.Authenticate(t.Context(), text, netip.Addr{})
	require.NoError(t, err)
	isolated.unreachable.Store(true)
	skewed.clockOffset.Store(int64(time.Hour))
	time.Sleep(time.Second)
	stop()
	time.Sleep(time.Second)
	_, err = second.Authenticate(t.Context(), text, netip.Addr{})
	require.Equal(t, fault.Unavailable, fault.KindOf(err), "a confirmation of a process whose clock is ahead is no newer")
}

// However many processes there are, few of them send: a revision that was just sent is not
// sent again.
func TestFewProcessesCompareTheirTopics(t *testing.T) {
	db := open(t, pgtest.Migrated(t))
	channel := &fakeChannel{}
	const processes = 8
	for range processes {
		a := auth.New(db)
		a.UseChannel(channel)
		run(t, a)
	}
	const watched = 3 * time.Second
	time.Sleep(watched)
	channel.mu.Lock()
	defer channel.mu.Unlock()
	polls := processes * int(watched/(200*time.Millisecond))
	require.Less(t, channel.sent, polls/2, "of %d polls", polls)
}
