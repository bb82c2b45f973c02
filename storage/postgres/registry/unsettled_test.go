package registry_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/registry"
	"github.com/livegraph/livegraph/test/pgtest"
)

// TestTombstonesBecomeVisibleInTheirOrder delays the commit of one writer: a later number
// must not be visible before it, or a reader would skip the earlier number.
func TestTombstonesBecomeVisibleInTheirOrder(t *testing.T) {
	address := pgtest.Migrated(t)
	db, err := pgtest.Connect(t.Context(), address, 4)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	require.NoError(t, db.Migrate(t.Context()))
	workspace, slow, fast := uuid.New(), uuid.New(), uuid.New()
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `SELECT pg_advisory_xact_lock(hashtextextended('livegraph.tombstones', 0))`)
	require.NoError(t, err)
	_, err = tx.Exec(
		t.Context(),
		`INSERT INTO tombstones (partition, record_version, ordinal, workspace_id, source_id, version_ceiling)
			VALUES (0, 1, 0, $1, $2, 5)`,
		workspace, slow,
	)
	require.NoError(t, err)

	state, err := db.ConsumerState(t.Context(), "points", 0)
	require.NoError(t, err)
	written := make(chan error, 1)
	go func() {
		written <- db.AddTombstones(t.Context(), []registry.Tombstone{
			{RecordVersion: 2, Workspace: workspace, Source: fast, Ceiling: 6},
		})
	}()
	time.Sleep(300 * time.Millisecond)
	between, err := db.ConsumerState(t.Context(), "points", state.AsOf)
	require.NoError(t, err)
	require.Empty(t, between.ChangedSources, "a writer with a higher number waits")
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-written)
	after, err := db.ConsumerState(t.Context(), "points", between.AsOf)
	require.NoError(t, err)
	require.Equal(
		t, []registry.SourceID{{Workspace: workspace, Source: slow}, {Workspace: workspace, Source: fast}},
		after.ChangedSources,
	)
}

func TestADeletedWorkspaceIsReportedInTheSameOrder(t *testing.T) {
	db := pgtest.Open(t)
	begin, err := db.ConsumerState(t.Context(), "points", 0)
	require.NoError(t, err)
	workspace, err := db.CreateWorkspace(t.Context(), access.Workspace{Name: "gone", Plan: "pro", Mode: "live"})
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, db.DeleteWorkspace(t.Context(), workspace.ID, "req_test"))
	}
	state, err := db.ConsumerState(t.Context(), "points", begin.AsOf)
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{workspace.ID}, state.DeletedWorkspaces)
	_, gone, err := db.SourceTombstones(t.Context(), []registry.SourceMinVersion{
		{SourceID: registry.SourceID{Workspace: workspace.ID, Source: uuid.New()}},
	})
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{workspace.ID}, gone)
}

func TestADeletionSettlesOnlyUnderItsLastAttempt(t *testing.T) {
	db := pgtest.Open(t)
	tombstone := registry.Tombstone{RecordVersion: 2, Workspace: uuid.New(), Source: uuid.New(), Ceiling: 6}
	begin, err := db.ConsumerState(t.Context(), "points", 0)
	require.NoError(t, err)
	require.NoError(t, db.AddTombstones(t.Context(), []registry.Tombstone{tombstone}))
	unsettled := func() []registry.UnsettledDeletion {
		list, err := db.UnsettledDeletions(t.Context(), tombstone.Workspace)
		require.NoError(t, err)
		return list
	}
	due := func(age time.Duration) []registry.UnsettledDeletion {
		list, err := db.DueDeletions(t.Context(), age, 10)
		require.NoError(t, err)
		return list
	}
	first := due(time.Hour)
	require.Len(t, first, 1)
	require.Equal(t, tombstone, first[0].Tombstone)
	require.False(t, first[0].Final)
	require.NoError(t, db.MarkDeletionsDone(t.Context(), first))
	require.Empty(t, due(time.Hour), "it is executed again when it is old enough")
	require.True(t, unsettled()[0].Executed)

	last := due(0)
	require.Len(t, last, 1)
	require.True(t, last[0].Final)
	require.NoError(t, db.RepeatSourceDeletions(
		t.Context(), []registry.SourceID{{Workspace: tombstone.Workspace, Source: tombstone.Source}}, begin.AsOf,
	))
	require.NoError(t, db.MarkDeletionsDone(t.Context(), last), "rows came in between")
	require.Len(t, unsettled(), 1)
	require.False(t, unsettled()[0].Executed)

	require.NoError(t, db.MarkDeletionsDone(t.Context(), due(0)))
	require.Empty(t, unsettled())
	waiting, _, err := db.UnexecutedDeletions(t.Context())
	require.NoError(t, err)
	require.Zero(t, waiting)
	require.NoError(t, db.AddTombstones(t.Context(), []registry.Tombstone{tombstone}))
	require.Len(t, unsettled(), 1, "the record was read again")
}
