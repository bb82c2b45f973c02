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
	"github.com/livegraph/livegraph/test/testenv"
)

// neighbour makes a workspace whose commands are in the partition of another's, or not.
func (w *world) neighbour(of uuid.UUID, same bool) uuid.UUID {
	w.tb.Helper()
	for {
		id := w.newWorkspace()
		if (kafka.WorkspacePartition(id, partitions) == kafka.WorkspacePartition(of, partitions)) == same {
			return id
		}
	}
}

// locked runs a statement in its own transaction, which ends when the test says so.
func (w *world) locked(statement string, args ...any) (release func()) {
	w.tb.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, w.url)
	require.NoError(w.tb, err)
	tx, err := conn.Begin(ctx)
	require.NoError(w.tb, err)
	_, err = tx.Exec(ctx, statement, args...)
	require.NoError(w.tb, err)
	release = func() { _ = conn.Close(ctx) }
	w.tb.Cleanup(release)
	return release
}

// in is the same world, seen by another workspace.
func (w *world) in(workspace uuid.UUID) *world {
	other := *w
	other.workspace = workspace
	return &other
}

// waits waits until so many statements in Postgres wait for a lock.
func (w *world) waits(statements int) {
	w.tb.Helper()
	w.eventually("a statement waits for the lock", func() bool {
		return w.number(`SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'`) >= statements
	})
}

func TestAGroupThatWaitsHoldsUpItsOwnPartitionOnly(t *testing.T) {
	w := newWorld(t, testenv.NewKFake(t))
	w.consume()
	w.do(node("a"))
	release := w.locked(`SELECT FROM graph_heads WHERE workspace_id = $1 FOR UPDATE`, w.workspace)
	stuck := w.request(graphrecord.Single, node("b"))
	w.produce(stuck)
	w.waits(1)
	other := w.in(w.neighbour(w.workspace, false))
	began := time.Now()
	for range 20 {
		require.Nil(t, other.do(node("c")).GetFailure())
	}
	t.Logf("20 commands took %s", time.Since(began))
	require.Nil(t, w.stored(stuck), "it still waits")
	release()
	w.eventually("it is decided", func() bool { return w.stored(stuck) != nil })
}

// TestTheDeletionOfAHubHoldsUpNoOtherWorkspace has the cascade of a hub wait: meanwhile
// the other workspaces of the same partition go on, and what follows in its own waits.
func TestTheDeletionOfAHubHoldsUpNoOtherWorkspace(t *testing.T) {
	w := newWorld(t, testenv.NewKFake(t))
	w.config.CascadeEdges = 500
	consumer := w.consume()
	hub := w.hub(1000)
	release := w.locked(`SELECT FROM edges LIMIT 1 FOR UPDATE`)
	neighbour := w.in(w.neighbour(w.workspace, true))
	before := w.request(graphrecord.Single, node("before"))
	deletion := w.request(graphrecord.Single, graph.DeleteNode{ID: hub.ID})
	after := w.request(graphrecord.Single, graph.Undo{})
	for _, r := range []*graphrecord.Request{before, deletion, after} {
		w.produce(r)
	}
	w.waits(1)
	for range 20 {
		require.Nil(t, neighbour.do(node("c")).GetFailure())
	}
	require.NotNil(t, w.stored(before))
	require.Nil(t, w.stored(deletion))
	require.Nil(t, w.stored(after), "a workspace's commands keep their order")
	require.Equal(t, 1, w.number(`SELECT count(*) FROM command_offsets WHERE held_since IS NOT NULL`))

	// Anyone who takes over decides again what was not, and nothing else.
	consumer.stop()
	dump := w.dump()
	w.consume()
	w.waits(1)
	require.Equal(t, dump, w.dump())
	require.Nil(t, neighbour.do(node("d")).GetFailure())
	release()
	w.eventually("all is decided", func() bool { return w.stored(after) != nil })
	require.Equal(t, 1000, w.number(`SELECT count(*) FROM edges WHERE NOT deleted AND version = 3`))
	require.Equal(t, 21, w.number(`SELECT sequence FROM graph_heads WHERE workspace_id = $1`, neighbour.workspace))
	require.Equal(t, 5, w.number(`SELECT sequence FROM graph_heads WHERE workspace_id = $1`, w.workspace))
	w.eventually("the fence is at the end", func() bool {
		return w.number(`SELECT count(*) FROM command_offsets WHERE held_since IS NOT NULL`) == 0
	})
	require.Equal(t, 26, w.number(`SELECT sum(next_offset) FROM command_offsets`))
	require.Nil(t, w.do(node("e")).GetFailure(), "it is decided among the others again")
}
