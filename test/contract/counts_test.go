package contract_test

import (
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/test/contract"
)

// countsAnswer is the data of an answer with counts.
type countsAnswer struct {
	Sequence     int
	Nodes, Edges *typeCounts
}

type typeCounts struct {
	Total, OtherTypes, OtherCount int
	Types                         []typeCount
}

type typeCount struct {
	Type  string
	Count int
}

func TestNodesAndEdgesAreCountedByType(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	read := func(query string) (c countsAnswer) {
		t.Helper()
		w.Get(t, "/api/queries/counts"+query, &c)
		return c
	}
	require.Equal(
		t, countsAnswer{Nodes: &typeCounts{Types: []typeCount{}}, Edges: &typeCounts{Types: []typeCount{}}}, read(""),
	)
	hub := w.newNode(t, "hub")
	w.mustExecute(t, `{"type":"CREATE_NODE","payload":{"name":"a","entityType":"actor"}}`)
	second := w.newNode(t, "second")
	for _, relation := range []string{"b", "b", "a", "c", "b"} {
		w.mustExecute(t, `{"type":"CREATE_EDGE","payload":{"sourceId":"`+hub+`","targetId":"`+second+
			`","relationType":"`+relation+`"}}`)
	}
	nodes := &typeCounts{Total: 3, Types: []typeCount{{"object", 2}, {"actor", 1}}}
	require.Equal(t, countsAnswer{
		Sequence: 8, Nodes: nodes, Edges: &typeCounts{Total: 5, Types: []typeCount{{"b", 3}, {"a", 1}, {"c", 1}}},
	}, read(""))
	require.Equal(t, countsAnswer{
		Sequence: 8, Nodes: nodes,
		Edges: &typeCounts{Total: 5, Types: []typeCount{{"b", 3}, {"a", 1}}, OtherTypes: 1, OtherCount: 1},
	}, read("?limit=2"))
	w.mustExecute(t, deleteNode(second))
	require.Equal(t, countsAnswer{
		Sequence: 9, Nodes: &typeCounts{Total: 2, Types: []typeCount{{"actor", 1}, {"object", 1}}},
		Edges: &typeCounts{Types: []typeCount{}},
	}, read(""))
	w.mustExecute(t, `{"type":"UNDO"}`)
	require.Equal(t, 5, read("").Edges.Total)

	for scope, want := range map[request.Scope][2]bool{
		request.ReadNodes: {true, false}, request.ReadEdges: {false, true}, request.Admin: {true, true},
	} {
		c := decode[countsAnswer](
			t, w.Do(t, contract.Request{Path: "/api/queries/counts", Key: w.newActorKey(t, scope)}), http.StatusOK,
		)
		require.Equal(t, want, [2]bool{c.Nodes != nil, c.Edges != nil}, "%s", scope)
	}
	for _, query := range []string{"limit=0", "limit=101", "limit=x", "limit=1&limit=2"} {
		w.Do(t, contract.Request{Path: "/api/queries/counts?" + query}).RequireFailure(
			t, http.StatusBadRequest, validation, "", map[string]any{"field": "limit"},
		)
	}
	other := w.Do(t, contract.Request{
		Path: "/api/queries/counts", Workspace: w.NewWorkspace(t, "live").String(), Key: w.newActorKey(t),
	})
	require.Equal(t, http.StatusForbidden, other.Status)
}

// The counts after a random history are those of the lists.
func TestCountsAreThoseOfTheLists(t *testing.T) {
	t.Parallel()
	g := &pastGraph{writer: startCommands(t), rng: rand.New(rand.NewPCG(3, 5))}
	g.keys = []string{g.newActorKey(t)}
	for range 60 {
		g.run(t)
	}
	listed := func(path string, typeOf func(resource) string) map[string]int {
		var list []resource
		g.Get(t, path+"?limit=100", &list)
		counts := map[string]int{}
		for _, item := range list {
			counts[typeOf(item)]++
		}
		return counts
	}
	counted := func(c *typeCounts) map[string]int {
		counts := map[string]int{}
		for _, item := range c.Types {
			counts[item.Type] = item.Count
		}
		return counts
	}
	var c countsAnswer
	g.Get(t, "/api/queries/counts", &c)
	require.Equal(t, listed("/api/queries/nodes", func(r resource) string { return r.EntityType }), counted(c.Nodes))
	require.Equal(t, listed("/api/queries/edges", func(r resource) string { return r.RelationType }), counted(c.Edges))
	require.NotEmpty(t, c.Edges.Types)
}
