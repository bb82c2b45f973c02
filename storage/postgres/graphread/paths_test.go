package graphread_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/paths"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
	"github.com/livegraph/livegraph/test/pgtest"
)

// referencePaths returns the paths that Paths must find, by trying every edge at every node.
func referencePaths(
	q graphread.PathQuery, nodes map[uuid.UUID]graph.Node, edges []graph.Edge,
) (found []graphread.Path) {
	usable := func(e *graph.Edge) (cost float64, ok bool) {
		if e.Deleted || q.RelationTypes != nil && !slices.Contains(q.RelationTypes, e.RelationType) {
			return 0, false
		}
		if q.Weight == "" {
			return 0, true
		}
		cost, err := strconv.ParseFloat(string(e.Properties[q.Weight]), 64)
		return cost, err == nil && cost >= 0
	}
	var walk func(p graphread.Path)
	walk = func(p graphread.Path) {
		at := p.Nodes[len(p.Nodes)-1].ID
		if at == q.To {
			found = append(found, p)
			return
		}
		for _, e := range edges {
			to := e.TargetID
			cost, ok := usable(&e)
			switch {
			case !ok || len(p.Edges) == q.MaxDepth:
				continue
			case q.Out && e.SourceID == at:
			case q.In && e.TargetID == at:
				to = e.SourceID
			default:
				continue
			}
			n := nodes[to]
			if slices.ContainsFunc(p.Nodes, func(n graph.Node) bool { return n.ID == to }) ||
				to != q.To && q.EntityTypes != nil && !slices.Contains(q.EntityTypes, string(n.EntityType)) {
				continue
			}
			walk(graphread.Path{
				Nodes: append(slices.Clone(p.Nodes), n), Edges: append(slices.Clone(p.Edges), e), Cost: p.Cost + cost,
			})
		}
	}
	walk(graphread.Path{Nodes: []graph.Node{nodes[q.From]}, Edges: []graph.Edge{}})
	slices.SortFunc(found, func(a, b graphread.Path) int {
		return cmp.Or(
			cmp.Compare(a.Cost, b.Cost), cmp.Compare(len(a.Edges), len(b.Edges)),
			slices.CompareFunc(a.Edges, b.Edges, func(a, b graph.Edge) int {
				return strings.Compare(a.ID.String(), b.ID.String())
			}),
		)
	})
	return found[:min(len(found), q.Limit)]
}

// weights are values of a property of edges. Sums of the valid costs are exact.
var weights = []string{
	`0`, `1`, `1`, `2`, `0.5`, `7`, `0`, `-1`, `-0.5`, `"1"`, `null`, `true`, `[1]`, `{"cost":1}`, `"NaN"`, `1024`,
}

func TestPathsAreThoseOfAPlainSearch(t *testing.T) {
	db := pgtest.Open(t)
	ws, other := pgtest.LimitedWorkspace(t, db, 1, 1), pgtest.LimitedWorkspace(t, db, 1, 1)
	r := rand.New(rand.NewPCG(9, 10))
	list, nodes, edges := randomGraph(r, 14, 60)
	for i := range edges {
		properties, err := graph.ParseProperties([]byte(`{"cost":` + weights[r.IntN(len(weights))] + `}`))
		require.NoError(t, err)
		edges[i].Properties = properties
	}
	pgtest.InsertNodes(t, db, ws, list)
	pgtest.InsertEdges(t, db, ws, edges)
	pgtest.InsertNodes(t, db, other, list[:5]) // the same ids, without edges
	several := 0
	for range 200 {
		q := graphread.PathQuery{
			From: list[r.IntN(len(list))].ID, To: list[r.IntN(len(list))].ID, MaxDepth: 1 + r.IntN(5), Out: r.IntN(3) > 0,
			Limit: []int{1, 2, 20}[r.IntN(3)], Weight: []string{"", "cost", "none"}[min(r.IntN(9)/4, 2)],
		}
		q.In = !q.Out || r.IntN(2) == 0
		if r.IntN(3) == 0 {
			q.RelationTypes = []string{"owns", "a,b"}
		}
		if r.IntN(3) == 0 {
			q.EntityTypes = []string{"object", "actor"}
		}
		got, err := db.Paths(t.Context(), ws, q)
		require.NoError(t, err)
		require.False(t, got.Truncated)
		want := referencePaths(q, nodes, edges)
		require.Equal(t, slices.Concat(want), slices.Concat(got.Items), "%+v", q)
		if len(want) > 1 {
			several++
		}
	}
	require.Greater(t, several, 20)

	between := graphread.PathQuery{From: list[0].ID, To: list[1].ID, MaxDepth: 10, Limit: 1, Out: true, In: true}
	got, err := db.Paths(t.Context(), other, between)
	require.NoError(t, err)
	require.Empty(t, got.Items, "edges of another workspace lead nowhere")
	for _, q := range []graphread.PathQuery{{From: uuid.New(), To: list[0].ID}, {From: list[0].ID, To: list[7].ID}} {
		_, err = db.Paths(t.Context(), other, q)
		require.Equal(t, fault.NotFound, fault.KindOf(err))
	}
}

func TestPathsBesideAndThroughAHubAreBoundedAndReportIt(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	hubs, leaf, far := [2]uuid.UUID{uuid.New(), uuid.New()}, uuid.New(), uuid.New()
	require.NoError(t, db.Exec(t.Context(), `
		INSERT INTO nodes (workspace_id, id, name, entity_type, created_at, updated_at, version, changed_by, created_by)
		SELECT $1::uuid, id, 'n', 'object', now(), now(), 1, 1, 1
		FROM (SELECT unnest($2::uuid[]) AS id UNION ALL SELECT gen_random_uuid() FROM generate_series(1, 70000)) n`,
		ws, []uuid.UUID{hubs[0], hubs[1], leaf, far}))
	require.NoError(t, db.Exec(t.Context(), `
		INSERT INTO edges (workspace_id, id, source_id, target_id, relation_type, created_at, updated_at, version,
			changed_by, created_by, newest)
		SELECT $1::uuid, gen_random_uuid(), source, target, type, now(), now(), 1, 1, 1, 1 FROM (
			SELECT hub AS source, id AS target, 'feeds' AS type FROM nodes, unnest($2::uuid[]) hub
			WHERE workspace_id = $1 AND id <> ALL ($2) AND id NOT IN ($3::uuid, $4::uuid)
			UNION ALL SELECT $2[1], $3, 'near' UNION ALL SELECT $3, $4, 'near' UNION ALL SELECT $2[2], $3, 'z') e`,
		ws, hubs[:], leaf, far))
	find := func(from, to uuid.UUID, limit int, types ...string) graphread.PathList {
		found, err := db.Paths(t.Context(), ws, graphread.PathQuery{
			From: from, To: to, MaxDepth: 6, Limit: limit, Out: true, In: true, RelationTypes: types,
		})
		require.NoError(t, err)
		return found
	}
	for _, ends := range [][2]uuid.UUID{{hubs[0], far}, {far, hubs[0]}} {
		found := find(ends[0], ends[1], 1)
		require.False(t, found.Truncated, "the edges of the hub are not needed")
		require.Len(t, found.Items, 1)
		require.Len(t, found.Items[0].Edges, 2)
	}
	require.True(t, find(hubs[0], hubs[1], 1).Truncated)
	require.False(t, find(hubs[0], hubs[1], 20, "near", "z").Truncated)
	require.Len(t, find(hubs[0], hubs[1], 20, "near", "z").Items, 1)
}

// TestReadsOfEdgesAreLimited reads the edges of a node that has 30 in each direction.
func TestReadsOfEdgesAreLimited(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	list := pgtest.RandomNodes(rand.New(rand.NewPCG(1, 2)), 31)
	var edges []graph.Edge
	for i := range list {
		list[i].Deleted = false
		if i == 0 {
			continue
		}
		for relation, ends := range map[string][2]uuid.UUID{
			"out": {list[0].ID, list[i].ID}, "in": {list[i].ID, list[0].ID},
		} {
			edges = append(edges, graph.Edge{ID: uuid.New(), SourceID: ends[0], TargetID: ends[1], RelationType: relation,
				Lifecycle: graph.Lifecycle{CreatedAt: pgtest.Epoch, UpdatedAt: pgtest.Epoch, Version: 1}})
		}
	}
	pgtest.InsertNodes(t, db, ws, list)
	pgtest.InsertEdges(t, db, ws, edges)
	for _, c := range []struct {
		out, in        bool
		types          []string
		limit, perNode int
		examined       int
		truncated      bool
	}{
		{out: true, limit: 30, perNode: 100, examined: 30},
		{out: true, limit: 29, perNode: 100, examined: 29, truncated: true},
		{in: true, limit: 100, perNode: 30, examined: 30},
		{in: true, limit: 100, perNode: 29, examined: 29, truncated: true},
		{out: true, in: true, limit: 60, perNode: 100, examined: 60},
		{out: true, in: true, limit: 59, perNode: 100, examined: 59, truncated: true},
		{out: true, in: true, limit: 10, perNode: 100, examined: 10, truncated: true},
		{out: true, in: true, limit: 100, perNode: 5, examined: 10, truncated: true},
		{out: true, in: true, types: []string{"out"}, limit: 30, perNode: 100, examined: 30},
	} {
		got, err := db.ReadPathEdges(
			t.Context(), ws, graphread.PathQuery{From: list[0].ID, To: list[1].ID, RelationTypes: c.types},
			paths.Read{Nodes: []uuid.UUID{list[0].ID}, Out: c.out, In: c.in, Limit: c.limit, MaxPerNode: c.perNode},
		)
		require.NoError(t, err)
		require.Equal(t, c.examined, got.Examined, "%+v", c)
		require.Len(t, got.Edges, c.examined, "%+v", c)
		require.Equal(t, c.truncated, got.Truncated, "%+v", c)
	}
}
