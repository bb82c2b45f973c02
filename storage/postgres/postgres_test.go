package postgres_test

import (
	"context"
	"crypto/sha256"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

func newKey(text string, workspaces ...uuid.UUID) access.NewKey {
	return access.NewKey{
		Hash: sha256.Sum256([]byte(text)), Display: "lg_live_abcd", Name: text, Mode: "live",
		Scopes: []string{"read:livedata"}, Workspaces: workspaces, CreatedBy: "test",
	}
}

func TestProcessesThatStartTogetherMigrateOnce(t *testing.T) {
	url := testenv.Postgres(t)
	var group errgroup.Group
	for range 3 {
		group.Go(func() error {
			db, err := pgtest.Connect(t.Context(), url, 2)
			if err != nil {
				return err
			}
			defer db.Close()
			return db.Migrate(t.Context())
		})
	}
	require.NoError(t, group.Wait())
}

func TestTheInstallationIsCreatedOnceAndNeverChanges(t *testing.T) {
	db := pgtest.Open(t)
	first, err := db.Installation(t.Context())
	require.NoError(t, err)
	require.NotZero(t, first.ID)
	require.NotZero(t, first.FingerprintKey)
	require.NotZero(t, first.CheckpointKey)
	second, err := db.Installation(t.Context())
	require.NoError(t, err)
	require.Equal(t, first, second)
}

func TestAnUnreachableServerIsUnavailableSoon(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	start := time.Now()
	_, err = pgtest.Connect(t.Context(), "postgres://u:secretpassword@"+address+"/d", 1)
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
	require.NotContains(t, err.Error(), "secretpassword")
	require.Less(t, time.Since(start), 5*time.Second)
}

func TestAnUnreadableURLDoesNotShowItsPassword(t *testing.T) {
	_, err := pgtest.Connect(t.Context(), "postgres://u:secretpassword@host:notaport/d", 1)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secretpassword")
}

func TestTheCallersDeadlineIsReturnedUnchanged(t *testing.T) {
	db := pgtest.Open(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	_, _, err := authRevision(ctx, db)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestAWorkspaceIsCreatedListedChangedAndDeleted(t *testing.T) {
	db := pgtest.Open(t)
	w := pgtest.Workspace(t, db, "live")
	require.Equal(t, int64(10_000), w.MaxSources)
	require.Equal(t, int64(1_000_000), w.MaxSeries)

	list, err := db.Workspaces(t.Context())
	require.NoError(t, err)
	require.Equal(t, []access.Workspace{w}, list)

	plan, perMinute := "enterprise", new(int64)
	*perMinute = 7
	changed, err := db.UpdateWorkspace(t.Context(), w.ID, access.WorkspaceChange{Plan: &plan, PerMinute: &perMinute})
	require.NoError(t, err)
	require.Equal(t, "enterprise", changed.Plan)
	require.Equal(t, int64(7), *changed.PerMinute)
	require.Equal(t, w.Name, changed.Name)

	require.NoError(t, db.DeleteWorkspace(t.Context(), w.ID, "test"))
	require.NoError(t, db.DeleteWorkspace(t.Context(), w.ID, "test"), "deleting continues where it stopped")
	list, err = db.Workspaces(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)

	require.Equal(t, fault.NotFound, fault.KindOf(db.DeleteWorkspace(t.Context(), uuid.New(), "test")))
	_, err = db.UpdateWorkspace(t.Context(), w.ID, access.WorkspaceChange{})
	require.Equal(t, fault.NotFound, fault.KindOf(err))
}

func TestEveryChangeToKeysAndWorkspacesRaisesTheRevision(t *testing.T) {
	db := pgtest.Open(t)
	last, _, err := authRevision(t.Context(), db)
	require.NoError(t, err)
	raised := func(change string) {
		now, _, err := authRevision(t.Context(), db)
		require.NoError(t, err)
		require.Greater(t, now, last, change)
		last = now
	}
	w := pgtest.Workspace(t, db, "live")
	raised("workspace created")
	key, err := db.CreateKey(t.Context(), newKey("one", w.ID))
	require.NoError(t, err)
	raised("key created")
	_, err = db.RollKey(t.Context(), key.ID, sha256.Sum256([]byte("two")), "d", "test", time.Hour)
	require.NoError(t, err)
	raised("key rolled")
	_, err = db.RevokeKey(t.Context(), key.ID)
	require.NoError(t, err)
	raised("key revoked")
	require.NoError(t, db.DeleteWorkspace(t.Context(), w.ID, "test"))
	raised("workspace deleted")

	require.NoError(t, db.RecordKeyUses(t.Context(), []access.KeyUse{
		{ID: key.ID, At: time.Now(), IP: netip.MustParseAddr("10.1.2.3")},
	}))
	now, _, err := authRevision(t.Context(), db)
	require.NoError(t, err)
	require.Equal(t, last, now, "recording a use is not a change")
	keys, err := db.Keys(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, "10.1.2.3", keys[0].LastUsedIP.String())
}

func TestACredentialIsFoundByTheHashOfItsText(t *testing.T) {
	db := pgtest.Open(t)
	w := pgtest.Workspace(t, db, "live")
	key, err := db.CreateKey(t.Context(), newKey("one", w.ID))
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{w.ID}, key.Workspaces)

	revision, _, err := authRevision(t.Context(), db)
	require.NoError(t, err)
	found, at, err := db.CredentialByHash(t.Context(), sha256.Sum256([]byte("one")))
	require.NoError(t, err)
	require.Equal(t, revision, at)
	require.Equal(t, key.ID, found.ID)
	require.Len(t, found.Workspaces, 1)
	require.Equal(t, "live", found.Workspaces[w.ID].Mode)
	require.Equal(t, []string{"read:livedata"}, found.Scopes)

	unknown, at, err := db.CredentialByHash(t.Context(), sha256.Sum256([]byte("other")))
	require.NoError(t, err)
	require.Equal(t, revision, at)
	require.Nil(t, unknown)

	require.NoError(t, db.DeleteWorkspace(t.Context(), w.ID, "test"))
	found, _, err = db.CredentialByHash(t.Context(), sha256.Sum256([]byte("one")))
	require.NoError(t, err)
	require.Empty(t, found.Workspaces, "a key does not open a deleted workspace")
}

func TestAKeyIsOfItsWorkspacesMode(t *testing.T) {
	db := pgtest.Open(t)
	_, err := db.CreateKey(t.Context(), newKey("one", pgtest.Workspace(t, db, "test").ID))
	require.Equal(t, fault.Invalid, fault.KindOf(err))
	_, err = db.CreateKey(t.Context(), newKey("one", uuid.New()))
	require.Equal(t, fault.NotFound, fault.KindOf(err))
}

func TestARolledKeyPassesOnItsActorAndIsValidForTheGracePeriod(t *testing.T) {
	db := pgtest.Open(t)
	w := pgtest.Workspace(t, db, "live")
	spec := newKey("one", w.ID)
	expires := time.Now().Add(90 * 24 * time.Hour)
	spec.ExpiresAt = &expires
	old, err := db.CreateKey(t.Context(), spec)
	require.NoError(t, err)
	next, err := db.RollKey(t.Context(), old.ID, sha256.Sum256([]byte("two")), "lg_live_efgh", "test", 24*time.Hour)
	require.NoError(t, err)
	require.Equal(t, old.ActorID, next.ActorID)
	require.Equal(t, old.Scopes, next.Scopes)
	require.Equal(t, old.Workspaces, next.Workspaces)
	require.Equal(t, old.ID, *next.RolledFrom)
	require.WithinDuration(
		t, expires, *next.ExpiresAt, time.Minute, "the successor has the lifetime that the old key was created with",
	)

	keys, err := db.Keys(t.Context(), &w.ID)
	require.NoError(t, err)
	require.Len(t, keys, 2)
	require.WithinDuration(t, time.Now().Add(24*time.Hour), *keys[0].ExpiresAt, time.Minute)

	again, err := db.RollKey(t.Context(), old.ID, sha256.Sum256([]byte("two again")), "lg_live_ijkl", "test", time.Hour)
	require.NoError(t, err)
	require.WithinDuration(
		t, expires, *again.ExpiresAt, time.Minute, "so does a second one, although the old key now expires earlier",
	)

	lasting, err := db.CreateKey(t.Context(), newKey("lasting", w.ID))
	require.NoError(t, err)
	for _, text := range []string{"four", "five"} {
		next, err = db.RollKey(t.Context(), lasting.ID, sha256.Sum256([]byte(text)), "lg_live_mnop", "test", time.Hour)
		require.NoError(t, err)
		require.Nil(t, next.ExpiresAt, "the successor of a key without expiry has none")
	}

	revoked, err := db.RevokeKey(t.Context(), old.ID)
	require.NoError(t, err)
	require.NotNil(t, revoked.RevokedAt)
	_, err = db.RollKey(t.Context(), old.ID, sha256.Sum256([]byte("three")), "d", "test", 0)
	require.Equal(t, fault.Conflict, fault.KindOf(err))
	_, err = db.RevokeKey(t.Context(), uuid.New())
	require.Equal(t, fault.NotFound, fault.KindOf(err))
}

func authRevision(ctx context.Context, db *pgtest.DB) (int64, time.Time, error) {
	found, err := db.AuthChanges(ctx, 0)
	return found.Revision, found.At, err
}
