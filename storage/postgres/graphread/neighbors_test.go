package graphread_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
	"github.com/livegraph/livegraph/test/pgtest"
)

// referenceWalk returns the nodes that Neighbors must find, with a plain breadth-first search.
func referenceWalk(
	q graphread.NeighborQuery, nodes map[uuid.UUID]graph.Node, edges []graph.Edge,
) map[uuid.UUID]graphread.Neighbor {
	depth := map[uuid.UUID]int{q.Node: 0}
	found := map[uuid.UUID]graphread.Neighbor{}
	for d := 1; d <= q.Depth; d++ {
		for _, e := range edges {
			if e.Deleted || q.RelationTypes != nil && !slices.Contains(q.RelationTypes, e.RelationType) {
				continue
			}
			for _, direction := range []struct {
				follow   bool
				from, to uuid.UUID
			}{{q.Out, e.SourceID, e.TargetID}, {q.In, e.TargetID, e.SourceID}} {
				if at, ok := depth[direction.from]; !direction.follow || !ok || at != d-1 {
					continue
				}
				if at, ok := depth[direction.to]; ok && at != d {
					continue
				}
				depth[direction.to] = d
				n := found[direction.to]
				n.Node, n.Depth, n.Edges = nodes[direction.to], d, append(n.Edges, e)
				found[direction.to] = n
			}
		}
	}
	for id, n := range found {
		if q.EntityTypes != nil && !slices.Contains(q.EntityTypes, string(n.Node.EntityType)) {
			delete(found, id)
		}
	}
	return found
}

// randomGraph returns a graph with at most the given number of live nodes, and its nodes by id.
func randomGraph(
	r *rand.Rand, nodeCount, edgeCount int,
) (list []graph.Node, nodes map[uuid.UUID]graph.Node, edges []graph.Edge) {
	list = slices.DeleteFunc(pgtest.RandomNodes(r, nodeCount), func(n graph.Node) bool { return n.Deleted })
	nodes = map[uuid.UUID]graph.Node{}
	for _, n := range list {
		nodes[n.ID] = n
	}
	for _, life := range pgtest.RandomNodes(r, edgeCount) {
		edges = append(edges, graph.Edge{
			ID: life.ID, SourceID: list[r.IntN(len(list))].ID, TargetID: list[r.IntN(len(list))].ID,
			RelationType: []string{"feeds", "owns", "a,b"}[r.IntN(3)], Lifecycle: life.Lifecycle,
		})
	}
	return list, nodes, edges
}

func TestNeighborsAreThoseOfAPlainWalk(t *testing.T) {
	db := pgtest.Open(t)
	ws, other := pgtest.LimitedWorkspace(t, db, 1, 1), pgtest.LimitedWorkspace(t, db, 1, 1)
	r := rand.New(rand.NewPCG(7, 8))
	list, nodes, edges := randomGraph(r, 60, 90)
	pgtest.InsertNodes(t, db, ws, list)
	pgtest.InsertEdges(t, db, ws, edges)
	pgtest.InsertNodes(t, db, other, list[:5]) // the same ids, without edges
	for range 200 {
		q := graphread.NeighborQuery{
			Node: list[r.IntN(len(list))].ID, Depth: 1 + r.IntN(3), Out: r.IntN(3) > 0, Limit: 1 + r.IntN(10),
		}
		q.In = !q.Out || r.IntN(2) == 0
		if r.IntN(3) == 0 {
			q.RelationTypes = []string{"owns", "a,b"}
		}
		if r.IntN(3) == 0 {
			q.EntityTypes = []string{"object", "actor"}
		}
		want := referenceWalk(q, nodes, edges)
		var walked []graphread.Neighbor
		for {
			got, err := db.Neighbors(t.Context(), ws, q)
			require.NoError(t, err)
			require.EqualValues(t, len(want), got.Total)
			require.False(t, got.Truncated)
			walked = append(walked, got.Items...)
			require.LessOrEqual(t, len(walked), len(want), "a walk ends")
			if q.After = got.Next; got.Next == nil {
				break
			}
		}
		require.Len(t, walked, len(want))
		for i, n := range walked {
			require.Equal(t, want[n.Node.ID].Node, n.Node)
			require.Equal(t, want[n.Node.ID].Depth, n.Depth)
			require.ElementsMatch(t, want[n.Node.ID].Edges, n.Edges)
			if i > 0 {
				a, b := walked[i-1], n
				require.True(
					t, a.Depth < b.Depth || a.Depth == b.Depth && a.Node.ID.String() < b.Node.ID.String(), "sorted by depth and id",
				)
			}
		}
		q.After, q.Offset = nil, r.IntN(len(want)+2)
		got, err := db.Neighbors(t.Context(), ws, q)
		require.NoError(t, err)
		from := min(q.Offset, len(walked))
		require.Equal(t, slices.Concat(walked[from:min(from+q.Limit, len(walked))]), slices.Concat(got.Items))
	}
	got, err := db.Neighbors(t.Context(), other, graphread.NeighborQuery{
		Node: list[0].ID, Depth: 3, Out: true, In: true, Limit: 10,
	})
	require.NoError(t, err)
	require.Empty(t, got.Items, "edges of another workspace lead nowhere")
	_, err = db.Neighbors(t.Context(), other, graphread.NeighborQuery{Node: uuid.New(), Depth: 1, Out: true, Limit: 10})
	require.Equal(t, fault.NotFound, fault.KindOf(err))
}

func TestAWalkFromOrPastAHubIsBoundedAndReportsIt(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	hub, beside, far := uuid.New(), uuid.New(), uuid.New()
	require.NoError(
		t,
		db.Exec(
			t.Context(),
			`INSERT INTO nodes (workspace_id, id, name, entity_type, created_at, updated_at, version, changed_by, created_by)
		SELECT $1::uuid, CASE i WHEN 1 THEN $2::uuid WHEN 2 THEN $3::uuid WHEN 3 THEN $4::uuid
		ELSE ('00000000-0000-4000-8000-' || lpad(i::text, 12, '0'))::uuid END, 'n' || i, 'object', now(), now(), 1, 1, 1
		FROM generate_series(1, 12003) i`, ws, hub, beside, far,
		),
	)
	require.NoError(
		t,
		db.Exec(
			t.Context(),
			`INSERT INTO edges (workspace_id, id, source_id, target_id, relation_type, created_at, updated_at, version,
				changed_by, created_by, newest)
		SELECT $1::uuid, gen_random_uuid(), $2::uuid, n.id, 'feeds', now(), now(), 1, 1, 1, 1 FROM nodes n
		WHERE id NOT IN ($2::uuid, $3::uuid, $4::uuid)
		UNION ALL SELECT $1::uuid, gen_random_uuid(), $3::uuid, id, 'near', now(), now(), 1, 1, 1, 1
		FROM unnest(ARRAY[$2, $4]::uuid[]) id`, ws, hub, beside, far,
		),
	)
	walk := func(from uuid.UUID, depth int) graphread.NeighborList {
		found, err := db.Neighbors(t.Context(), ws, graphread.NeighborQuery{
			Node: from, Depth: depth, Out: true, In: true, Limit: 5,
		})
		require.NoError(t, err)
		return found
	}
	found := walk(hub, 1)
	require.True(t, found.Truncated)
	require.EqualValues(t, 10_000, found.Total, "the one edge into the hub, and as many out of it as may be followed")
	found = walk(far, 2)
	require.False(t, found.Truncated)
	require.EqualValues(t, 2, found.Total)
	found = walk(far, 3)
	require.True(t, found.Truncated)
	require.EqualValues(t, 2+1_000, found.Total)
}
