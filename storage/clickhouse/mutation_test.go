package clickhouse_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/test/testenv"
)

// TestADeletionThatTakesTooLongIsNotQueuedAgain stops the store's mutations. Further calls for
// the same deletion wait for the queued one, also after a restart.
func TestADeletionThatTakesTooLongIsNotQueuedAgain(t *testing.T) {
	testenv.RequireOneServer(t)
	r := newRollupFixture(t, 1)
	require.NoError(t, r.InsertPoints(t.Context(), r.columns(r.nextVersion(), every(second, t0, t0+minute, id(0))...)))
	unfinished := func() string {
		return testenv.QueryClickHouse(t, r.URL.String(),
			"SELECT count() FROM system.mutations WHERE database = currentDatabase() AND table = 'points' AND NOT is_done")
	}
	count := func() string { return testenv.QueryClickHouse(t, r.URL.String(), "SELECT count() FROM points") }
	r.Exec(t, "SYSTEM STOP MERGES points")
	deletion := clickhouse.Deletion{Workspace: r.workspace, Source: r.source, Ceiling: 1 << 40}
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		err := r.Delete(ctx, deletion)
		cancel()
		require.Error(t, err, "it is not done")
		require.Equal(t, "1", unfinished())
		r.reopen() // as another process
	}
	r.Exec(t, "SYSTEM START MERGES points")
	require.NoError(t, r.Delete(t.Context(), deletion))
	require.Equal(t, "0", count())
	require.Equal(t, "0", unfinished())

	require.NoError(t, r.Delete(t.Context(), deletion), "again, with nothing left")
	require.NoError(t, r.InsertPoints(t.Context(), r.columns(r.nextVersion(), every(second, t0, t0+minute, id(0))...)))
	require.NoError(t, r.Delete(t.Context(), deletion, clickhouse.Deletion{Workspace: uuid.New(), Source: uuid.New()}))
	require.Equal(t, "0", count(), "a later repetition is a new deletion")
}
