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
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/testenv"
)

// createHub creates a node with the given number of edges to 100 other nodes. It inserts the
// edges with one statement, as if the second change had created them.
func (f *fixture) createHub(edges int) graph.CreateNode {
	f.tb.Helper()
	hub := node("hub")
	f.do(hub)
	others := make([]graph.Payload, 100)
	for i := range others {
		others[i] = node("other")
	}
	require.Nil(f.tb, f.submit(f.request(graphrecord.Atomic, others...)).GetFailure())
	_, err := f.conn.Exec(context.Background(), `
		INSERT INTO edges (workspace_id, id, source_id, target_id, relation_type, created_at, updated_at, version, changed_by,
		created_by, newest)
		SELECT $1, gen_random_uuid(), $2, o.id, 'feeds', now(), now(), 1, 2, 2, 2
		FROM (SELECT id, row_number() OVER (ORDER BY id) - 1 AS place FROM nodes WHERE workspace_id = $1 AND id <> $2) o
		JOIN generate_series(0, $3 - 1) i ON i % 100 = o.place`, f.workspace, hub.ID, edges)
	require.NoError(f.tb, err)
	_, err = f.conn.Exec(context.Background(), `INSERT INTO graph_totals VALUES ($1, 2, 'feeds', $2)`, f.workspace, edges)
	require.NoError(f.tb, err)
	return hub
}

func TestANodeWith100000EdgesIsDeletedAndRestoredByOneCommandEach(t *testing.T) {
	testenv.RequireFull(t)
	const edges = 100_000
	const memory = 48 << 20 // far less than the edges would need
	f := newFixture(t, kafkatest.NewKFake(t))
	f.consume()
	hub := f.createHub(edges)
	standing := func() int { return f.queryInt(`SELECT count(*) FROM edges WHERE NOT deleted`) }
	total := func() int { return f.queryInt(`SELECT standing FROM graph_totals WHERE kind = 2`) }

	for round, p := range []graph.Payload{graph.DeleteNode{ID: hub.ID}, graph.Undo{}} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		result := f.do(p)
		runtime.ReadMemStats(&after)
		require.Nil(t, result.GetFailure())
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(memory))
		require.Equal(t, int64(edges), result.GetAffected().GetEdges())
		require.Len(t, result.GetAffected().GetEdgeIds(), graph.MaxListed)
		want := edges * (round % 2)
		require.Equal(t, want, standing())
		require.Equal(t, want, total())
	}
	require.Equal(t, edges, f.queryInt(`SELECT count(*) FROM edges WHERE version = 3 AND changed_by = 4`))
	require.Less(t, f.queryInt(`SELECT max(length(change)) FROM journal WHERE sequence > 2`), 64<<10)

	parts := 1 + (edges-graph.MaxListed+graphrecord.MaxEventEdges-1)/graphrecord.MaxEventEdges
	events := f.readEvents(2 + 2*parts)[2:]
	db, err := stores.Open(t.Context(), f.url, 1)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	for i, restored := range []bool{false, true} {
		all := f.ids(`SELECT id FROM edges ORDER BY id`)
		require.Equal(t, all, edgesNamed(t, events[i*parts:(i+1)*parts], restored))
		node := uuid.UUID(events[0].GetChange().GetSteps()[0].GetNode().GetId())
		some, err := db.CascadeEdges(t.Context(), f.workspace, int64(3+i), node, 9_500, 20_500)
		require.NoError(t, err)
		require.Equal(t, all[9_500:20_500], some, "across three rows")
		some, err = db.CascadeEdges(t.Context(), f.workspace, int64(3+i), node, edges-1, edges+1)
		require.NoError(t, err)
		require.Equal(t, all[edges-1:], some)
	}
}

// edgesNamed returns the IDs of the edges that the parts of one event list.
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

// ids returns the IDs that a query selects.
func (f *fixture) ids(query string) []uuid.UUID {
	f.tb.Helper()
	rows, err := f.conn.Query(context.Background(), query)
	require.NoError(f.tb, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	require.NoError(f.tb, err)
	return found
}
