package contract_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

// requireSavedQueries lists saved queries and runs them.
func requireSavedQueries(
	t *testing.T, s *contract.Server, call func(string, any) toolAnswer, session *mcp.ClientSession,
) {
	t.Helper()
	require.Empty(t, call("saved_queries", map[string]any{}).Results)
	ids := map[string]string{}
	for name, body := range map[string]string{
		"leaves":   `"kind":"search","request":{"query":"Leaf","limit":4,"offset":2}`,
		"hub":      `"kind":"hybrid-search","request":{"query":"Hub","hops":1}`,
		"question": `"kind":"answer","request":{"query":"unknown words only"}`,
	} {
		ids[name] = save(t, s, `{"name":"`+name+`","description":"of a test",`+body+`}`).ID
	}
	list := call("saved_queries", map[string]any{"limit": 2})
	require.Len(t, list.Results, 2)
	require.Equal(t, map[string]any{"offset": 2.0}, list.Next)
	require.Contains(t, string(list.Results[0]), `"name":"hub"`)
	require.Len(t, call("saved_queries", map[string]any{"name": "LEAV", "kind": "search"}).Results, 1)
	run := func(name string, arguments map[string]any) toolAnswer {
		t.Helper()
		arguments["id"] = ids[name]
		return call("run_saved_query", arguments)
	}
	for _, c := range []struct {
		name      string
		arguments map[string]any
	}{
		{"leaves", map[string]any{}}, {"leaves", map[string]any{"query": "Hub", "offset": 0, "limit": 1}},
		{"hub", map[string]any{}}, {"hub", map[string]any{"tags": []string{"none"}}},
	} {
		require.Empty(t, run(c.name, c.arguments).Results, "the nodes are not indexed in this test")
	}
	require.Contains(t, run("question", map[string]any{}).Notes, "No sentence answers the question.")
	a, isError := callTool(t.Context(), t, session, "run_saved_query", map[string]any{"id": ids["question"], "offset": 1})
	require.True(t, isError)
	require.Equal(t, "offset", a.Error.Details["field"])
}

// requireAnalyses starts an analysis, which nothing runs in this test, and reads its state.
func requireAnalyses(t *testing.T, call func(string, any) toolAnswer) {
	t.Helper()
	type job struct {
		ID, Algorithm, State, Property string
		Damping                        float64
	}
	read := func(raw json.RawMessage) (j job) {
		require.NoError(t, json.Unmarshal(raw, &j))
		return j
	}
	started := read(call("analyze_graph", map[string]any{
		"algorithm": "pagerank", "damping": 0.5, "property": "rank", "relationTypes": []string{"HAS"},
	}).Result)
	require.Equal(t, job{started.ID, "pagerank", "queued", "rank", 0.5}, started)
	require.Equal(t, started, read(call("analysis", map[string]any{"id": started.ID}).Result))
	second := read(call("analyze_graph", map[string]any{"algorithm": "components"}).Result)
	list := call("analyses", map[string]any{"limit": 1})
	require.Equal(t, second.ID, read(list.Results[0]).ID)
	require.Equal(t, map[string]any{"offset": 1.0}, list.Next)
	require.Len(t, call("analyses", map[string]any{}).Results, 2)
}

// requireSubgraph reads the hub with its 12 leaves, and the counts of the graph.
func requireSubgraph(t *testing.T, call func(string, any) toolAnswer, hub string) {
	t.Helper()
	var found struct {
		Nodes []struct{ ID, Name, EntityType, Description string }
		Edges []struct{ SourceID, RelationType string }
	}
	a := call("subgraph", map[string]any{"nodeIds": []string{hub}})
	require.NoError(t, json.Unmarshal(a.Result, &found))
	require.Len(t, found.Nodes, 13)
	require.Len(t, found.Edges, 12)
	require.Len(t, a.Citations, 13)
	require.Equal(t, []string{hub, "Hub", "object", ""}, []string{
		found.Nodes[0].ID, found.Nodes[0].Name, found.Nodes[0].EntityType, found.Nodes[0].Description,
	})
	require.Equal(t, []string{hub, "HAS"}, []string{found.Edges[0].SourceID, found.Edges[0].RelationType})
	a = call("subgraph", map[string]any{"nodeIds": []string{hub}, "limit": 5, "direction": "out"})
	require.NoError(t, json.Unmarshal(a.Result, &found))
	require.Len(t, found.Nodes, 5)
	require.NotEmpty(t, a.Notes, "there are more")
	a = call("subgraph", map[string]any{"nodeIds": []string{hub}, "asOfSequence": 3})
	require.Len(t, a.Citations, 2)
	a = call("subgraph", map[string]any{"nodeIds": []string{hub}, "depth": 0})
	require.NoError(t, json.Unmarshal(a.Result, &found))
	require.Len(t, found.Nodes, 1)

	var counts struct{ Nodes, Edges struct{ Total int } }
	require.NoError(t, json.Unmarshal(call("counts", map[string]any{}).Result, &counts))
	require.Equal(t, []int{13, 12}, []int{counts.Nodes.Total, counts.Edges.Total})
}

// requirePathsInParts requires that paths which are too large for one answer are read in several.
func requirePathsInParts(
	t *testing.T, call func(string, any) toolAnswer, create func(map[string]any) string, hub string,
) {
	t.Helper()
	end := create(map[string]any{"name": "End", "entityType": "object", "properties": map[string]any{
		"a": strings.Repeat("x", 600), "b": strings.Repeat("y", 600), "c": strings.Repeat("z", 600),
	}})
	for weight := range 12 {
		call("execute_command", map[string]any{"type": "CREATE_EDGE", "payload": map[string]any{
			"sourceId": hub, "targetId": end, "relationType": "TO", "properties": map[string]any{"weight": weight},
		}})
	}
	costs, offset := []any{}, 0.0
	for range 12 {
		page := call("paths", map[string]any{"from": hub, "to": end, "weight": "weight", "limit": 12, "offset": offset})
		require.EqualValues(t, 12, *page.Total)
		for _, result := range page.Results {
			var path pathItem
			require.NoError(t, json.Unmarshal(result, &path))
			require.Len(t, path.Nodes, 2)
			costs = append(costs, *path.Cost)
		}
		if page.Next == nil {
			break
		}
		require.Greater(t, page.Next["offset"], offset)
		offset = page.Next["offset"].(float64)
	}
	require.Greater(t, offset, 0.0)
	require.Equal(t, []any{0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0}, costs)
	one := call("paths", map[string]any{"from": end, "to": hub, "relationTypes": []string{"TO"}, "direction": "in"})
	require.Len(t, one.Results, 1)
	require.Len(t, one.Citations, 2)
	require.Empty(t, call("paths", map[string]any{"from": end, "to": hub, "direction": "out", "offset": 3}).Results)

	pattern := map[string]any{
		"nodes": map[string]any{"a": map[string]any{"nodeIds": []string{hub}}, "b": map[string]any{}},
		"edges": []any{map[string]any{"from": "a", "to": "b", "relationTypes": []string{"TO"}}}, "limit": 5,
	}
	edges := map[string]bool{}
	for range 3 {
		page := call("match_pattern", pattern)
		require.EqualValues(t, 12, *page.Total)
		for _, result := range page.Results {
			var match struct{ Edges [][]string }
			require.NoError(t, json.Unmarshal(result, &match))
			edges[match.Edges[0][0]] = true
		}
		require.Len(t, page.Citations, 2)
		pattern["offset"] = page.Next["offset"]
		if page.Next == nil {
			break
		}
	}
	require.Len(t, edges, 12)
}
