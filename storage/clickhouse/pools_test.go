package clickhouse_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/clickhouse"
)

func TestQueriesThatHaveAllConnectionsLeaveTheInsertsBe(t *testing.T) {
	db, _ := open(t)
	var asked sync.WaitGroup
	var answered atomic.Int64
	var queries errgroup.Group
	for range 2 * clickhouse.MaxConns {
		asked.Add(1)
		queries.Go(func() error {
			defer answered.Add(1)
			asked.Done()
			return db.RunQuery(t.Context(), "SELECT sleepEachRow(1) FROM numbers(6) SETTINGS max_block_size = 1")
		})
	}
	asked.Wait()
	// Inserts that wait for a query end together with it. The first ones may run before the queries, and a
	// busy machine may not run all before the queries end.
	inserted := 0
	for ; inserted < 50 && answered.Load() == 0; inserted++ {
		require.NoError(t, db.InsertActivity(t.Context(), []clickhouse.ActivityRow{
			{Workspace: uuid.New(), Source: uuid.New(), ReceivedAtUS: 1},
		}))
	}
	require.Greater(t, inserted, 10, "inserts waited for queries")
	err := queries.Wait()
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	require.ErrorContains(t, err, "Too many queries are running")
}
