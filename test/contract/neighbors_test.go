package contract_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/test/contract"
)

// neighbor contains the fields of a neighbor that tests compare.
type neighbor struct {
	Node  resource
	Depth int
	Edges []resource
}

func TestNeighborsAreListedWithTheEdgesThatLeadThere(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	a, b := g.node(t, g.Workspace, "a", "object", `{}`), g.node(t, g.Workspace, "b", "process", `{}`)
	c, d := g.node(t, g.Workspace, "c", "object", `{}`), g.node(t, g.Workspace, "d", "object", `{}`)
	ab, ab2 := g.edge(t, g.Workspace, a, b, "feeds", `{}`), g.edge(t, g.Workspace, a, b, "owns", `{}`)
	cb, cd := g.edge(t, g.Workspace, c, b, "feeds", `{}`), g.edge(t, g.Workspace, c, d, "feeds", `{}`)
	g.edge(t, g.Workspace, a, a, "feeds", `{}`)
	type found map[string][]string // name -> depth and edges
	read := func(query string) found {
		var list []neighbor
		meta := g.Get(t, "/api/queries/nodes/"+a+"/neighbors?"+query, &list).Meta
		require.EqualValues(t, len(list), meta.Total)
		got := found{}
		for _, n := range list {
			got[n.Node.Name] = []string{string(rune('0' + n.Depth))}
			for _, e := range n.Edges {
				got[n.Node.Name] = append(got[n.Node.Name], e.ID)
			}
		}
		return got
	}
	require.Equal(t, found{"b": {"1", ab, ab2}}, read(""))
	require.Equal(t, found{"b": {"1", ab, ab2}, "c": {"2", cb}, "d": {"3", cd}}, read("depth=3"))
	require.Equal(t, found{"b": {"1", ab, ab2}}, read("depth=3&direction=out"))
	require.Empty(t, read("depth=3&direction=in"))
	require.Equal(t, found{"b": {"1", ab}, "c": {"2", cb}}, read("depth=2&relationType=feeds"))
	require.Equal(
		t, found{"c": {"2", cb}, "d": {"3", cd}}, read("depth=3&entityType=object,actor"), "others are passed through",
	)
	require.Equal(t, found{"b": {"1", ab2}}, read("depth=3&relationType=owns&relationType=none"))

	var first, second []neighbor
	page := g.Get(t, "/api/queries/nodes/"+a+"/neighbors?depth=3&limit=2", &first)
	require.Equal(t, contract.Meta{Total: 3, Limit: 2, HasMore: true}, *page.Meta)
	path := "/api/queries/nodes/" + a + "/neighbors?depth=3&cursor=" + *nextCursor(t, page)
	require.Nil(t, nextCursor(t, g.Get(t, path, &second)))
	require.Equal(t, []string{"b", "c", "d"}, []string{first[0].Node.Name, first[1].Node.Name, second[0].Node.Name})
	g.Get(t, "/api/queries/nodes/"+a+"/neighbors?depth=3&offset=2", &second)
	require.Equal(t, "d", second[0].Node.Name)
	g.Do(t, contract.Request{Path: path + "&direction=out"}).RequireFailure(
		t, 400, validation, "", map[string]any{"field": "cursor"},
	)
}

// badNeighbors returns parameters of a query for neighbors, with the name of the invalid
// parameter.
func badNeighbors() map[string]string {
	return map[string]string{
		"depth=0": "depth", "depth=4": "depth", "depth=-1": "depth", "depth=1.5": "depth", "depth=": "depth",
		"depth=1&depth=2": "depth", "depth=9223372036854775808": "depth",
		"direction=up": "direction", "direction=": "direction", "direction=OUT": "direction",
		"entityType=thing": "entityType", "entityType=": "entityType",
		"hops=2": "hops", "sort=name": "sort", "limit=0": "limit", "offset=-1": "offset", "cursor=x": "cursor",
	}
}

func TestBadQuestionsForNeighborsAreRefused(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	id := g.node(t, g.Workspace, "a", "object", `{}`)
	path := "/api/queries/nodes/" + id + "/neighbors"
	for query, field := range badNeighbors() {
		g.Do(t, contract.Request{Path: path + "?" + query}).RequireFailure(
			t, 400, validation, "", map[string]any{"field": field},
		)
	}
	other := g.NewWorkspace(t, "live")
	stranger := g.node(t, other, "secret", "object", `{}`)
	for _, unknown := range []string{uuid.NewString(), "x", stranger} {
		g.Do(t, contract.Request{
			Path: "/api/queries/nodes/" + unknown + "/neighbors",
		}).RequireFailure(t, http.StatusNotFound, "NOT_FOUND", "No such node", nil)
	}
	both := []any{string(request.ReadNodes), string(request.ReadEdges)}
	for _, scope := range request.Scopes {
		a := g.Do(t, contract.Request{Path: path, Key: g.NewKey(t, []uuid.UUID{g.Workspace}, scope)})
		if scope != request.Admin {
			a.RequireFailure(t, http.StatusForbidden, authorization, "Forbidden", map[string]any{"required": both})
		}
	}
	require.Equal(
		t, http.StatusOK,
		g.Do(t, contract.Request{Path: path, Key: g.NewKey(
			t, []uuid.UUID{g.Workspace}, request.ReadNodes, request.ReadEdges,
		)}).Status,
	)
}
