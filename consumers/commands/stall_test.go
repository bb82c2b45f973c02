package commands_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/test/kafkatest"
)

// workspaceBeside creates a workspace whose commands are in the same partition as those of
// another, or in a different one.
func (f *fixture) workspaceBeside(of uuid.UUID, same bool) uuid.UUID {
	f.tb.Helper()
	for {
		id := f.newWorkspace()
		if (kafka.WorkspacePartition(id, partitions) == kafka.WorkspacePartition(of, partitions)) == same {
			return id
		}
	}
}

// lockRows runs a statement in a separate transaction, which ends when release is called.
func (f *fixture) lockRows(statement string, args ...any) (release func()) {
	f.tb.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, f.url)
	require.NoError(f.tb, err)
	tx, err := conn.Begin(ctx)
	require.NoError(f.tb, err)
	_, err = tx.Exec(ctx, statement, args...)
	require.NoError(f.tb, err)
	release = func() { _ = conn.Close(ctx) }
	f.tb.Cleanup(release)
	return release
}

// withWorkspace returns a copy of the fixture that uses another workspace.
func (f *fixture) withWorkspace(workspace uuid.UUID) *fixture {
	other := *f
	other.workspace = workspace
	return &other
}

// waitForLocks waits until the given number of statements in Postgres wait for a lock.
func (f *fixture) waitForLocks(statements int) {
	f.tb.Helper()
	f.eventually("a statement waits for the lock", func() bool {
		return f.queryInt(`SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'`) >= statements
	})
}

func TestAGroupThatWaitsDelaysOnlyItsPartition(t *testing.T) {
	f := newFixture(t, kafkatest.NewKFake(t))
	f.consume()
	f.do(node("a"))
	release := f.lockRows(`SELECT FROM graph_heads WHERE workspace_id = $1 FOR UPDATE`, f.workspace)
	stuck := f.request(graphrecord.Single, node("b"))
	f.produce(stuck)
	f.waitForLocks(1)
	other := f.withWorkspace(f.workspaceBeside(f.workspace, false))
	began := time.Now()
	for range 20 {
		require.Nil(t, other.do(node("c")).GetFailure())
	}
	t.Logf("20 commands took %s", time.Since(began))
	require.Nil(t, f.stored(stuck), "it still waits")
	release()
	f.eventually("it is decided", func() bool { return f.stored(stuck) != nil })
}

// TestTheDeletionOfAHubDelaysNoOtherWorkspace blocks the cascade of a hub. Meanwhile the other
// workspaces of the partition continue, and later commands of the hub's workspace wait.
func TestTheDeletionOfAHubDelaysNoOtherWorkspace(t *testing.T) {
	f := newFixture(t, kafkatest.NewKFake(t))
	f.config.CascadeEdges = 500
	consumer := f.consume()
	hub := f.createHub(1000)
	release := f.lockRows(`SELECT FROM edges LIMIT 1 FOR UPDATE`)
	neighbour := f.withWorkspace(f.workspaceBeside(f.workspace, true))
	before := f.request(graphrecord.Single, node("before"))
	deletion := f.request(graphrecord.Single, graph.DeleteNode{ID: hub.ID})
	after := f.request(graphrecord.Single, graph.Undo{})
	for _, r := range []*graphrecord.Request{before, deletion, after} {
		f.produce(r)
	}
	f.waitForLocks(1)
	for range 20 {
		require.Nil(t, neighbour.do(node("c")).GetFailure())
	}
	require.NotNil(t, f.stored(before))
	require.Nil(t, f.stored(deletion))
	require.Nil(t, f.stored(after), "a workspace's commands keep their order")
	require.Equal(t, 1, f.queryInt(`SELECT count(*) FROM command_offsets WHERE held_since IS NOT NULL`))

	// The consumer that takes over decides only the records that were not decided.
	consumer.stop()
	dump := f.dump()
	f.consume()
	f.waitForLocks(1)
	require.Equal(t, dump, f.dump())
	require.Nil(t, neighbour.do(node("d")).GetFailure())
	release()
	f.eventually("all is decided", func() bool { return f.stored(after) != nil })
	require.Equal(t, 1000, f.queryInt(`SELECT count(*) FROM edges WHERE NOT deleted AND version = 3`))
	require.Equal(t, 21, f.queryInt(`SELECT sequence FROM graph_heads WHERE workspace_id = $1`, neighbour.workspace))
	require.Equal(t, 5, f.queryInt(`SELECT sequence FROM graph_heads WHERE workspace_id = $1`, f.workspace))
	f.eventually("the fence is at the end", func() bool {
		return f.queryInt(`SELECT count(*) FROM command_offsets WHERE held_since IS NOT NULL`) == 0
	})
	require.Equal(t, 26, f.queryInt(`SELECT sum(next_offset) FROM command_offsets`))
	require.Nil(t, f.do(node("e")).GetFailure(), "it is decided among the others again")
}
