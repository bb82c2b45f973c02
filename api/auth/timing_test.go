package auth_test

import (
	"context"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/auth"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/test/pgtest"
)

// countingStore counts the look-ups of keys.
type countingStore struct {
	*stores.DB
	lookUps atomic.Int64
}

func (c *countingStore) CredentialsByHash(
	ctx context.Context, hashes [][32]byte,
) ([]*access.Credential, int64, error) {
	c.lookUps.Add(1)
	return c.DB.CredentialsByHash(ctx, hashes)
}

// The response time depends on the work, so the test compares the work: an unknown, a
// revoked, an expired and a valid key cost one look-up, and then none. Only a malformed key
// costs none at all, and its sender can see that it is malformed.
func TestTheWorkForAKeyDoesNotRevealItsError(t *testing.T) {
	db := open(t, pgtest.Migrated(t))
	good, _ := newKey(t, db)
	revoked, key := newKey(t, db)
	_, err := db.RevokeKey(t.Context(), key.ID)
	require.NoError(t, err)
	past := time.Now().Add(time.Second)
	expired := apikey.Generate(apikey.Live)
	_, err = db.CreateKey(t.Context(), access.NewKey{
		Hash: expired.Hash(), Display: expired.Display(), Name: "key", Mode: apikey.Live, Scopes: []string{},
		Workspaces: key.Workspaces, CreatedBy: "test", ExpiresAt: &past,
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return time.Now().After(past) }, time.Minute, 10*time.Millisecond)

	store := &countingStore{DB: db}
	a := auth.New(store)
	run(t, a)
	for name, text := range map[string]string{
		"good": good, "revoked": revoked, "expired": expired.Reveal(), "unknown": apikey.Generate(apikey.Live).Reveal(),
	} {
		before := store.lookUps.Load()
		for range 5 {
			_, err := a.Authenticate(t.Context(), text, netip.Addr{})
			require.Equal(t, name == "good", err == nil, name)
		}
		require.Equal(t, before+1, store.lookUps.Load(), name)
	}
	before := store.lookUps.Load()
	_, err = a.Authenticate(t.Context(), good[:len(good)-1]+"-", netip.Addr{})
	require.Error(t, err)
	_, err = a.Authenticate(t.Context(), uuid.NewString(), netip.Addr{})
	require.Error(t, err)
	require.Equal(t, before, store.lookUps.Load())
}
