package commands_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/schemas/graphrecord"

	"github.com/livegraph/livegraph/internal/testenv"
)

// hub makes a node with so many edges to a hundred others. The edges are written by
// one statement, as what the second change made.
func (w *world) hub(edges int) graph.CreateNode {
	w.tb.Helper()
	hub := node("hub")
	w.do(hub)
	others := make([]graph.Payload, 100)
	for i := range others {
		others[i] = node("other")
	}
	require.Nil(w.tb, w.ask(w.request(graphrecord.Atomic, others...)).GetFailure())
	_, err := w.look.Exec(context.Background(), `
		INSERT INTO edges (workspace_id, id, source_id, target_id, relation_type, created_at, updated_at, version, changed_by, created_by, newest)
		SELECT $1, gen_random_uuid(), $2, o.id, 'feeds', now(), now(), 1, 2, 2, 2
		FROM (SELECT id, row_number() OVER (ORDER BY id) - 1 AS place FROM nodes WHERE workspace_id = $1 AND id <> $2) o
		JOIN generate_series(0, $3 - 1) i ON i % 100 = o.place`, w.workspace, hub.ID, edges)
	require.NoError(w.tb, err)
	_, err = w.look.Exec(context.Background(), `INSERT INTO graph_totals VALUES ($1, 2, 'feeds', $2)`, w.workspace, edges)
	require.NoError(w.tb, err)
	return hub
}

func TestANodeWith100000EdgesIsDeletedAndBroughtBackByOneCommandEach(t *testing.T) {
	const edges = 100_000
	const memory = 48 << 20 // far less than the edges would take
	w := newWorld(t, testenv.NewKFake(t))
	w.consume()
	hub := w.hub(edges)
	standing := func() int { return w.number(`SELECT count(*) FROM edges WHERE NOT deleted`) }
	total := func() int { return w.number(`SELECT standing FROM graph_totals WHERE kind = 2`) }

	for round, p := range []graph.Payload{graph.DeleteNode{ID: hub.ID}, graph.Undo{}} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		result := w.do(p)
		runtime.ReadMemStats(&after)
		require.Nil(t, result.GetFailure())
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(memory))
		require.Equal(t, int64(edges), result.GetAffected().GetEdges())
		require.Len(t, result.GetAffected().GetEdgeIds(), graph.MaxListed)
		want := edges * (round % 2)
		require.Equal(t, want, standing())
		require.Equal(t, want, total())
	}
	require.Equal(t, edges, w.number(`SELECT count(*) FROM edges WHERE version = 3 AND changed_by = 4`))
	require.Less(t, w.number(`SELECT max(length(change)) FROM journal WHERE sequence > 2`), 64<<10)

	events := w.events(4)
	last := events[len(events)-1].GetChange()
	require.Len(t, last.GetSteps(), 1)
	require.Equal(t, int64(edges), last.GetSteps()[0].GetCascade().GetCount())
	require.True(t, last.GetSteps()[0].GetCascade().GetRestored())
}
