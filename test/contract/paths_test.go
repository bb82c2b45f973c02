package contract_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/test/contract"
)

// pathItem contains the fields of a path that tests compare.
type pathItem struct {
	Nodes, Edges []resource
	Length       int
	Cost         *float64
}

// edgeIDs returns the ids of the edges of paths, each of which must begin and end at the nodes.
func edgeIDs(t *testing.T, list []pathItem, from, to string) (ids [][]string) {
	t.Helper()
	for _, p := range list {
		require.Len(t, p.Edges, p.Length)
		require.Len(t, p.Nodes, p.Length+1)
		require.Equal(t, []string{from, to}, []string{p.Nodes[0].ID, p.Nodes[p.Length].ID})
		list := []string{}
		for _, e := range p.Edges {
			list = append(list, e.ID)
		}
		ids = append(ids, list)
	}
	return ids
}

func TestPathsAreListedInOrderOfLengthOrCost(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	a, b := g.node(t, g.Workspace, "a", "object", `{}`), g.node(t, g.Workspace, "b", "process", `{}`)
	c, d := g.node(t, g.Workspace, "c", "object", `{}`), g.node(t, g.Workspace, "d", "object", `{}`)
	alone := g.node(t, g.Workspace, "alone", "object", `{}`)
	ab, bd := g.edge(t, g.Workspace, a, b, "feeds", `{"km":3}`), g.edge(t, g.Workspace, b, d, "feeds", `{"km":3}`)
	ac, cd := g.edge(t, g.Workspace, a, c, "owns", `{"km":0.5}`), g.edge(t, g.Workspace, c, d, "feeds", `{"km":1.5}`)
	da, bc := g.edge(t, g.Workspace, d, a, "feeds", `{"km":-1}`), g.edge(t, g.Workspace, b, c, "feeds", `{"km":"1"}`)
	g.edge(t, g.Workspace, a, a, "feeds", `{"km":0}`)
	twoEdges := [][]string{{ab, bd}, {ac, cd}}
	slices.SortFunc(twoEdges, slices.Compare)
	base := "/api/queries/paths?from=" + a + "&to=" + d
	for query, want := range map[string][][]string{
		"":                                   {{da}},
		"&direction=in":                      {{da}},
		"&direction=out":                     twoEdges[:1],
		"&direction=out&limit=20":            append(slices.Clone(twoEdges), []string{ab, bc, cd}),
		"&direction=out&limit=20&maxDepth=1": nil,
		"&direction=out&limit=20&maxDepth=2": twoEdges,
		"&direction=out&relationType=feeds&relationType=none&limit=20": {{ab, bd}, {ab, bc, cd}},
		"&direction=out&entityType=process&limit=20":                   {{ab, bd}},
		"&direction=out&entityType=object,actor&limit=20":              {{ac, cd}},
		"&weight=km&limit=20":                                          {{ac, cd}, {ab, bd}},
		"&weight=miles&limit=20":                                       nil,
	} {
		var list []pathItem
		meta := g.Get(t, base+query, &list).Meta
		require.Equal(t, want, edgeIDs(t, list, a, d), query)
		require.EqualValues(t, len(want), meta.Total)
		require.False(t, meta.HasMore)
	}
	var list []pathItem
	meta := g.Get(t, base+"&weight=km&limit=2", &list).Meta
	require.Equal(t, contract.Meta{Total: 2, Limit: 2}, *meta)
	require.Equal(t, []float64{2, 6}, []float64{*list[0].Cost, *list[1].Cost})
	require.Equal(t, []string{"a", "c", "d"}, []string{
		list[0].Nodes[0].Name, list[0].Nodes[1].Name, list[0].Nodes[2].Name,
	})
	var unweighted []pathItem
	g.Get(t, base, &unweighted)
	require.Nil(t, unweighted[0].Cost)
	g.Get(t, "/api/queries/paths?from="+a+"&to="+alone, &list)
	require.Empty(t, list)
	g.Get(t, "/api/queries/paths?from="+a+"&to="+a+"&weight=km&limit=20&direction=out", &list)
	require.Equal(t, [][]string{{}}, edgeIDs(t, list, a, a))
	require.Zero(t, *list[0].Cost)
}

// badPaths returns queries for paths between two nodes, with the name of the invalid parameter.
func badPaths(from, to string) map[string]string {
	queries := map[string]string{
		"": "from", "from=" + from: "to", "to=" + to: "from", "from=&to=" + to: "from", "from=" + from + "&to=": "to",
		"from=x&to=" + to: "from", "from=" + from + "," + to + "&to=" + to: "from", "from=" + from + "&to=..%2Fedges": "to",
	}
	for more, field := range map[string]string{
		"maxDepth=0": "maxDepth", "maxDepth=11": "maxDepth", "maxDepth=-1": "maxDepth", "maxDepth=1.5": "maxDepth",
		"maxDepth=": "maxDepth", "maxDepth=1&maxDepth=2": "maxDepth", "maxDepth=9223372036854775808": "maxDepth",
		"limit=0": "limit", "limit=21": "limit", "limit=-1": "limit", "limit=": "limit", "limit=1e1": "limit",
		"limit=9223372036854775808": "limit", "direction=up": "direction", "direction=": "direction",
		"direction=OUT": "direction", "entityType=thing": "entityType", "entityType=": "entityType", "weight=": "weight",
		"weight=a&weight=b": "weight", "from=00000000-0000-0000-0000-000000000000": "from", "to=x": "to",
		"depth=2": "depth", "sort=name": "sort", "offset=0": "offset", "offset=9223372036854775807": "offset",
		"cursor=x": "cursor", "weight=%00": "weight", "relationType=%ff": "relationType",
	} {
		queries["from="+from+"&to="+to+"&"+more] = field
	}
	return queries
}

func TestBadQuestionsForPathsAreRefused(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	a, b := g.node(t, g.Workspace, "a", "object", `{}`), g.node(t, g.Workspace, "b", "object", `{}`)
	route := "/api/queries/paths"
	path := route + "?from=" + a + "&to=" + b
	for query, field := range badPaths(a, b) {
		g.Do(t, contract.Request{Path: route + "?" + query}).RequireFailure(
			t, 400, validation, "", map[string]any{"field": field},
		)
	}
	other := g.NewWorkspace(t, "live")
	stranger := g.node(t, other, "secret", "object", `{}`)
	for _, unknown := range []string{uuid.NewString(), stranger} {
		for _, query := range []string{
			"?from=" + unknown + "&to=" + b, "?from=" + a + "&to=" + unknown, "?from=" + unknown + "&to=" + unknown,
		} {
			g.Do(t, contract.Request{Path: route + query}).RequireFailure(
				t, http.StatusNotFound, "NOT_FOUND", "No such node", nil,
			)
		}
	}
	both := []any{string(request.ReadNodes), string(request.ReadEdges)}
	for _, scope := range request.Scopes {
		a := g.Do(t, contract.Request{Path: path, Key: g.NewKey(t, []uuid.UUID{g.Workspace}, scope)})
		if scope != request.Admin {
			a.RequireFailure(t, http.StatusForbidden, authorization, "Forbidden", map[string]any{"required": both})
		}
	}
	key := g.NewKey(t, []uuid.UUID{g.Workspace}, request.ReadNodes, request.ReadEdges)
	require.Equal(t, http.StatusOK, g.Do(t, contract.Request{Path: path, Key: key}).Status)
}
