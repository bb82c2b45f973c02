package commands_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/test/testenv"
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
		INSERT INTO edges (workspace_id, id, source_id, target_id, relation_type, created_at, updated_at, version, changed_by,
		created_by, newest)
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

	parts := 1 + (edges-graph.MaxListed+graphrecord.EventEdges-1)/graphrecord.EventEdges
	events := w.events(2 + 2*parts)[2:]
	db, err := stores.Open(t.Context(), w.url, 1)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	for i, restored := range []bool{false, true} {
		all := w.ids(`SELECT id FROM edges ORDER BY id`)
		require.Equal(t, all, edgesNamed(t, events[i*parts:(i+1)*parts], restored))
		node := uuid.UUID(events[0].GetChange().GetSteps()[0].GetNode().GetId())
		some, err := db.CascadeEdges(t.Context(), w.workspace, int64(3+i), node, 9_500, 20_500)
		require.NoError(t, err)
		require.Equal(t, all[9_500:20_500], some, "across three rows")
		some, err = db.CascadeEdges(t.Context(), w.workspace, int64(3+i), node, edges-1, edges+1)
		require.NoError(t, err)
		require.Equal(t, all[edges-1:], some)
	}
}

// edgesNamed returns the edges that the parts of one event name.
func edgesNamed(t *testing.T, parts []*eventsv1.GraphEvent, restored bool) (ids []uuid.UUID) {
	t.Helper()
	for i, e := range parts {
		require.Equal(t, uint32(i), e.GetPart())
		require.Equal(t, uint32(len(parts)), e.GetParts())
		require.Less(t, proto.Size(e), graphrecord.EventBytes)
		require.Len(t, e.GetChange().GetSteps(), 1)
		step := e.GetChange().GetSteps()[0]
		require.NotNil(t, step.GetNode())
		require.Equal(t, restored, step.GetCascade().GetRestored())
		require.EqualValues(t, len(ids), step.GetCascade().GetFirst())
		require.EqualValues(t, 100_000, step.GetCascade().GetCount())
		for _, id := range step.GetCascade().GetEdgeIds() {
			ids = append(ids, uuid.UUID(id))
		}
	}
	return ids
}

// ids reads a column of ids.
func (w *world) ids(query string) []uuid.UUID {
	w.tb.Helper()
	rows, err := w.look.Query(context.Background(), query)
	require.NoError(w.tb, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	require.NoError(w.tb, err)
	return found
}
