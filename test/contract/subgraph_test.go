package contract_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

// subgraphAnswer is the data of an answer with a subgraph.
type subgraphAnswer struct {
	Nodes []struct {
		Node  resource
		Depth int
	}
	Edges     []resource
	Truncated bool
}

// depths returns the nodes with their depths.
func (s *subgraphAnswer) depths() map[string]int {
	found := map[string]int{}
	for _, n := range s.Nodes {
		found[n.Node.ID] = n.Depth
	}
	return found
}

func (s *subgraphAnswer) edgeIDs() []string {
	ids := make([]string, 0, len(s.Edges))
	for _, e := range s.Edges {
		ids = append(ids, e.ID)
	}
	return ids
}

// modelEdge is an edge of the model of a graph.
type modelEdge struct{ id, from, to, relation string }

// modelSubgraph computes a subgraph by relaxation: the depth of each node is one more than the least depth of a node
// from which an edge leads to it.
func modelSubgraph(
	types map[string]string, edges []modelEdge, seeds []string, depth int, direction, relation, entityType string,
) (depths map[string]int, ids []string) {
	depths = map[string]int{}
	for _, id := range seeds {
		depths[id] = 0
	}
	relax := func(from, to string, limit int) {
		d, ok := depths[from]
		_, known := depths[to]
		if ok && d == limit-1 && !known && (entityType == "" || types[to] == entityType) {
			depths[to] = limit
		}
	}
	for limit := 1; limit <= depth; limit++ {
		for _, e := range edges {
			if relation != "" && e.relation != relation {
				continue
			}
			if direction != "in" {
				relax(e.from, e.to, limit)
			}
			if direction != "out" {
				relax(e.to, e.from, limit)
			}
		}
	}
	for _, e := range edges {
		_, from := depths[e.from]
		_, to := depths[e.to]
		if from && to && (relation == "" || e.relation == relation) {
			ids = append(ids, e.id)
		}
	}
	slices.Sort(ids)
	return depths, ids
}

func TestSubgraphsAreThoseOfAModel(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	rng := rand.New(rand.NewPCG(5, 9))
	pick := func(list []string) string { return list[rng.IntN(len(list))] }
	types, relations := map[string]string{}, []string{"r", "s"}
	var nodes []string
	for i := range 30 {
		entityType := pick([]string{"object", "actor"})
		id := g.node(t, g.Workspace, fmt.Sprint(i), entityType, `{}`)
		nodes, types[id] = append(nodes, id), entityType
	}
	var edges []modelEdge
	for range 45 {
		e := modelEdge{from: pick(nodes), to: pick(nodes), relation: pick(relations)}
		e.id = g.edge(t, g.Workspace, e.from, e.to, e.relation, `{}`)
		edges = append(edges, e)
	}
	for range 120 {
		seeds := []string{pick(nodes), pick(nodes), pick(nodes)}[:1+rng.IntN(3)]
		depth, direction := rng.IntN(4), pick([]string{"out", "in", "both"})
		relation, entityType := pick([]string{"", "", "r"}), pick([]string{"", "", "actor"})
		query := fmt.Sprintf("nodeId=%s&depth=%d&direction=%s", strings.Join(seeds, ","), depth, direction)
		if relation != "" {
			query += "&relationType=" + relation
		}
		if entityType != "" {
			query += "&entityType=" + entityType
		}
		wantDepths, wantEdges := modelSubgraph(types, edges, seeds, depth, direction, relation, entityType)
		var got subgraphAnswer
		g.Get(t, "/api/queries/subgraph?"+query, &got)
		require.Equal(t, wantDepths, got.depths(), query)
		require.ElementsMatch(t, wantEdges, got.edgeIDs(), query)
		require.True(t, slices.IsSorted(got.edgeIDs()))
		require.False(t, got.Truncated)

		limit := len(wantDepths) - 1
		if seedCount := len(slices.Compact(slices.Sorted(slices.Values(seeds)))); limit < seedCount {
			continue
		}
		var cut subgraphAnswer
		g.Get(t, fmt.Sprintf("/api/queries/subgraph?%s&limit=%d", query, limit), &cut)
		require.True(t, cut.Truncated)
		require.Equal(t, got.Nodes[:limit], cut.Nodes)
		for _, id := range cut.edgeIDs() {
			i := slices.IndexFunc(edges, func(e modelEdge) bool { return e.id == id })
			require.Subset(t, slices.Collect(maps.Keys(cut.depths())), []string{edges[i].from, edges[i].to})
		}
	}
}

func TestBadQuestionsForSubgraphsAreRefused(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	id := g.node(t, g.Workspace, "a", "object", `{}`)
	stranger := g.node(t, g.NewWorkspace(t, "live"), "secret", "object", `{}`)
	many := make([]string, 21)
	for i := range many {
		many[i] = uuid.NewString()
	}
	for query, field := range map[string]string{
		"": "nodeId", "nodeId=": "nodeId", "nodeId=x": "nodeId", "nodeId=" + strings.Join(many, ","): "nodeId",
		"nodeId=" + id + "&depth=4": "depth", "nodeId=" + id + "&depth=-1": "depth", "nodeId=" + id + "&limit=501": "limit",
		"nodeId=" + id + "&limit=0": "limit", "nodeId=" + id + "," + stranger + "&limit=1": "limit",
		"nodeId=" + id + "&direction=up": "direction", "nodeId=" + id + "&entityType=thing": "entityType",
		"nodeId=" + id + "&hops=1": "hops", "nodeId=" + id + "&offset=1": "offset",
	} {
		g.Do(t, contract.Request{Path: "/api/queries/subgraph?" + query}).RequireFailure(
			t, http.StatusBadRequest, validation, "", map[string]any{"field": field},
		)
	}
	for _, unknown := range []string{uuid.NewString(), stranger} {
		g.Do(t, contract.Request{Path: "/api/queries/subgraph?nodeId=" + id + "," + unknown}).RequireFailure(
			t, http.StatusNotFound, "NOT_FOUND", "No such node", map[string]any{"field": "nodeId"},
		)
	}
	var alone subgraphAnswer
	g.Get(t, "/api/queries/subgraph?nodeId="+id+"&nodeId="+id+"&limit=1", &alone)
	require.Len(t, alone.Nodes, 1)
}
