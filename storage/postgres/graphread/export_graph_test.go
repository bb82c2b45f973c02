package graphread_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
	"github.com/livegraph/livegraph/test/pgtest"
)

// visited keeps what an export gives.
type visited struct {
	extent graphread.Extent
	nodes  []graph.Node
	edges  []graph.Edge
	node   func() error // told each node
}

func (v *visited) Begin(e graphread.Extent) error { v.extent = e; return nil }

func (v *visited) Node(n *graph.Node) error {
	v.nodes = append(v.nodes, *n)
	if v.node != nil {
		return v.node()
	}
	return nil
}

func (v *visited) Edge(e *graph.Edge) error { v.edges = append(v.edges, *e); return nil }

func TestAnExportIsTheGraphOfOneMoment(t *testing.T) {
	db := pgtest.Open(t)
	ws, other := pgtest.Limited(t, db, 1, 1), pgtest.Limited(t, db, 1, 1)
	list := pgtest.SomeNodes(rand.New(rand.NewPCG(3, 4)), 50)
	list[0].ID, list[0].Deleted = uuid.Nil, false // an id as good as any
	pgtest.InsertNodes(t, db, ws, list)
	pgtest.InsertNodes(t, db, other, pgtest.SomeNodes(rand.New(rand.NewPCG(5, 6)), 5))
	edge := graph.Edge{ID: uuid.New(), SourceID: list[0].ID, TargetID: list[0].ID, RelationType: "feeds",
		Lifecycle: graph.Lifecycle{CreatedAt: pgtest.Epoch, UpdatedAt: pgtest.Epoch, Version: 1}}
	gone := edge
	gone.ID, gone.Deleted = uuid.New(), true
	pgtest.InsertEdges(t, db, ws, []graph.Edge{edge, gone})
	require.NoError(t, db.Exec(t.Context(), `INSERT INTO graph_heads (workspace_id, sequence) VALUES ($1, 42)`, ws))

	standing := map[uuid.UUID]string{}
	for _, n := range list {
		if !n.Deleted {
			standing[n.ID] = n.Name
		}
	}
	var v visited
	v.node = func() error { // others go on writing
		return db.Exec(t.Context(), `WITH n AS (UPDATE nodes SET deleted = true WHERE workspace_id = $1)
			UPDATE edges SET deleted = true WHERE workspace_id = $1`, ws)
	}
	require.NoError(t, db.ExportGraph(t.Context(), ws, &v))
	require.Equal(t, graphread.Extent{Sequence: 42, Nodes: int64(len(standing)), Edges: 1}, v.extent)
	found := map[uuid.UUID]string{}
	for i, n := range v.nodes {
		found[n.ID] = n.Name
		require.True(t, i == 0 || v.nodes[i-1].ID.String() < n.ID.String(), "by ascending id")
	}
	require.Equal(t, standing, found)
	require.Len(t, v.edges, 1)
	require.Equal(t, edge.ID, v.edges[0].ID)

	var empty visited
	require.NoError(t, db.ExportGraph(t.Context(), pgtest.Limited(t, db, 1, 1), &empty))
	require.Equal(t, visited{}, empty)
	require.Equal(t, fault.NotFound, fault.KindOf(db.ExportGraph(t.Context(), uuid.New(), &empty)))
	stop := errors.New("enough")
	v = visited{node: func() error { return stop }}
	require.ErrorIs(t, db.ExportGraph(t.Context(), other, &v), stop)
}

func TestAnExportOfSeveralPagesMissesNothing(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.Limited(t, db, 1, 1)
	require.NoError(t, db.Exec(t.Context(), `
		INSERT INTO nodes (workspace_id, id, name, entity_type, created_at, updated_at, version, changed_by, created_by)
		SELECT $1, gen_random_uuid(), 'n' || i, 'object', now(), now(), 1, 1, 1 FROM generate_series(1, 12345) i`, ws))
	var v visited
	require.NoError(t, db.ExportGraph(t.Context(), ws, &v))
	names := map[string]bool{}
	for _, n := range v.nodes {
		names[n.Name] = true
	}
	require.Len(t, v.nodes, 12345)
	require.Len(t, names, 12345)
}
