package graphread_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/topology"
	"github.com/livegraph/livegraph/test/pgtest"
)

// recordingVisitor stores an exported graph.
type recordingVisitor struct {
	extent topology.Extent
	nodes  []graph.Node
	edges  []graph.Edge
	onNode func() error // called for each node
}

func (v *recordingVisitor) Begin(e topology.Extent) error { v.extent = e; return nil }

func (v *recordingVisitor) Node(n *graph.Node) error {
	v.nodes = append(v.nodes, *n)
	if v.onNode != nil {
		return v.onNode()
	}
	return nil
}

func (v *recordingVisitor) Edge(e *graph.Edge) error { v.edges = append(v.edges, *e); return nil }

func TestAnExportIsTheGraphOfOneMoment(t *testing.T) {
	db := pgtest.Open(t)
	ws, other := pgtest.LimitedWorkspace(t, db, 1, 1), pgtest.LimitedWorkspace(t, db, 1, 1)
	list := pgtest.RandomNodes(rand.New(rand.NewPCG(3, 4)), 50)
	list[0].ID, list[0].Deleted = uuid.Nil, false // the lowest id is valid, too
	pgtest.InsertNodes(t, db, ws, list)
	pgtest.InsertNodes(t, db, other, pgtest.RandomNodes(rand.New(rand.NewPCG(5, 6)), 5))
	edge := graph.Edge{ID: uuid.New(), SourceID: list[0].ID, TargetID: list[0].ID, RelationType: "feeds",
		Lifecycle: graph.Lifecycle{CreatedAt: pgtest.Epoch, UpdatedAt: pgtest.Epoch, Version: 1}}
	deletedEdge := edge
	deletedEdge.ID, deletedEdge.Deleted = uuid.New(), true
	pgtest.InsertEdges(t, db, ws, []graph.Edge{edge, deletedEdge})
	require.NoError(t, db.Exec(t.Context(), `INSERT INTO graph_heads (workspace_id, sequence) VALUES ($1, 42)`, ws))

	live := map[uuid.UUID]string{}
	for _, n := range list {
		if !n.Deleted {
			live[n.ID] = n.Name
		}
	}
	var v recordingVisitor
	v.onNode = func() error { // concurrent writes
		return db.Exec(t.Context(), `WITH n AS (UPDATE nodes SET deleted = true WHERE workspace_id = $1)
			UPDATE edges SET deleted = true WHERE workspace_id = $1`, ws)
	}
	require.NoError(t, db.ExportGraph(t.Context(), ws, &v))
	require.Equal(t, topology.Extent{Sequence: 42, Nodes: int64(len(live)), Edges: 1}, v.extent)
	found := map[uuid.UUID]string{}
	for i, n := range v.nodes {
		found[n.ID] = n.Name
		require.True(t, i == 0 || v.nodes[i-1].ID.String() < n.ID.String(), "by ascending id")
	}
	require.Equal(t, live, found)
	require.Len(t, v.edges, 1)
	require.Equal(t, edge.ID, v.edges[0].ID)

	var empty recordingVisitor
	require.NoError(t, db.ExportGraph(t.Context(), pgtest.LimitedWorkspace(t, db, 1, 1), &empty))
	require.Equal(t, recordingVisitor{}, empty)
	require.Equal(t, fault.NotFound, fault.KindOf(db.ExportGraph(t.Context(), uuid.New(), &empty)))
	stop := errors.New("enough")
	v = recordingVisitor{onNode: func() error { return stop }}
	require.ErrorIs(t, db.ExportGraph(t.Context(), other, &v), stop)
}

func TestAnExportOfSeveralPagesMissesNothing(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	require.NoError(t, db.Exec(t.Context(), `
		INSERT INTO nodes (workspace_id, id, name, entity_type, created_at, updated_at, version, changed_by, created_by)
		SELECT $1, gen_random_uuid(), 'n' || i, 'object', now(), now(), 1, 1, 1 FROM generate_series(1, 12345) i`, ws))
	var v recordingVisitor
	require.NoError(t, db.ExportGraph(t.Context(), ws, &v))
	names := map[string]bool{}
	for _, n := range v.nodes {
		names[n.Name] = true
	}
	require.Len(t, v.nodes, 12345)
	require.Len(t, names, 12345)
}
