package contract_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/test/contract"
)

const mcpPath = "/mcp"

// keyTransport adds a key and a workspace to requests.
type keyTransport struct{ key, workspace string }

// RoundTrip implements http.RoundTripper.
func (k keyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	r.Header.Set("X-Workspace-Id", k.workspace)
	return http.DefaultTransport.RoundTrip(r)
}

// connectMCP connects the client of the SDK with a key.
func connectMCP(t *testing.T, s *contract.Server, key, workspace string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: s.URL + mcpPath, HTTPClient: &http.Client{Transport: keyTransport{key, workspace}}, MaxRetries: -1,
		DisableStandaloneSSE: true,
	}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// toolAnswer is the answer of a tool.
type toolAnswer struct {
	Results   []json.RawMessage
	Result    json.RawMessage
	Total     *int64
	Next      map[string]any
	Cut       []struct{ Path string }
	Citations []struct{ ID, Name, URI string }
	Notes     []string
	RequestID string
	Error     struct {
		Code, Message string
		Details       map[string]any
		Status        int
	}
}

func callTool(
	ctx context.Context, t *testing.T, session *mcp.ClientSession, name string, arguments any,
) (a toolAnswer, isError bool) {
	t.Helper()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	require.NoError(t, err)
	require.Len(t, result.Content, 1)
	text := result.Content[0].(*mcp.TextContent).Text
	require.Less(t, len(text), 32<<10, "answers are small")
	if json.Unmarshal([]byte(text), &a) != nil {
		a.Error.Message = text
	}
	return a, result.IsError
}

func TestToolsOfTheModelContextProtocol(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, groups()...)
	session := connectMCP(t, s, s.Admin, s.Workspace.String())
	tools, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	names := []string{}
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
		writes := tool.Name == "execute_command" || tool.Name == "analyze_graph"
		require.Equal(t, !writes, tool.Annotations != nil && tool.Annotations.ReadOnlyHint, tool.Name)
	}
	slices.Sort(names)
	require.Equal(t, []string{
		"analyses", "analysis", "analyze_graph", "answer", "counts", "execute_command", "history", "hybrid_search",
		"match_pattern", "neighbors", "node", "paths", "promql", "query", "run_saved_query",
		"saved_queries", "search", "series", "subgraph",
	}, names)

	call := func(name string, arguments any) toolAnswer {
		t.Helper()
		a, isError := callTool(t.Context(), t, session, name, arguments)
		require.False(t, isError, "%s: %+v", name, a.Error)
		require.NotEmpty(t, a.RequestID)
		return a
	}
	long := strings.Repeat("water é ", 4000)
	create := func(payload map[string]any) string {
		t.Helper()
		a := call("execute_command", map[string]any{"type": "CREATE_NODE", "payload": payload})
		require.Len(t, a.Citations, 1)
		require.Equal(t, "livegraph://nodes/"+a.Citations[0].ID, a.Citations[0].URI)
		return a.Citations[0].ID
	}
	hub := create(map[string]any{"name": "Hub", "entityType": "object", "description": long})
	for range 12 {
		leaf := create(map[string]any{"name": "Leaf", "entityType": "concept", "description": long})
		call("execute_command", map[string]any{"type": "CREATE_EDGE", "payload": map[string]any{
			"sourceId": hub, "targetId": leaf, "relationType": "HAS",
		}})
	}
	a := call("node", map[string]any{"id": hub})
	require.Equal(t, "result.description", a.Cut[0].Path)
	got, from := "", 0
	for range 20 { // the long text is read in parts
		part := call("node", map[string]any{"id": hub, "text": "description", "from": from})
		var text struct{ Text string }
		require.NoError(t, json.Unmarshal(part.Result, &text))
		got += text.Text
		if part.Next == nil {
			break
		}
		from = int(part.Next["from"].(float64))
	}
	require.Equal(t, long, got)

	seen, offset := map[string]bool{}, 0.0
	for range 20 { // a list is read in pages
		page := call("neighbors", map[string]any{"id": hub, "limit": 5, "offset": offset})
		for _, c := range page.Citations {
			require.False(t, seen[c.ID])
			seen[c.ID] = true
		}
		if page.Next == nil {
			break
		}
		offset = page.Next["offset"].(float64)
	}
	require.Len(t, seen, 12)
	requireSubgraph(t, call, hub)
	requireSavedQueries(t, s, call, session)
	requireAnalyses(t, call)
	require.Len(t, call("neighbors", map[string]any{"id": hub, "asOfSequence": 3}).Results, 1)
	require.NotEmpty(t, call("node", map[string]any{"id": hub, "asOf": "9999-01-01T00:00:00Z"}).Result)
	require.Len(t, call("history", map[string]any{"nodeId": hub, "limit": 3}).Results, 3)
	require.Empty(t, call("series", map[string]any{}).Results)
	require.Empty(t, call("query", map[string]any{"metrics": []string{"m"}}).Results)
	evaluated := func(arguments map[string]any) (list []struct {
		Value  []any
		Values [][]any
	}) {
		for _, result := range call("promql", arguments).Results {
			list = append(list, struct {
				Value  []any
				Values [][]any
			}{})
			require.NoError(t, json.Unmarshal(result, &list[len(list)-1]))
		}
		return list
	}
	require.Equal(t, "2", evaluated(map[string]any{"query": "1 + 1"})[0].Value[1])
	at := evaluated(map[string]any{"query": "vector(time())", "time": "2026-03-01T00:00:00Z"})
	require.Equal(t, []any{1772323200.0, "1772323200"}, at[0].Value)
	points := evaluated(map[string]any{"query": "vector(1)", "start": "-1h"})[0].Values
	require.Len(t, points, 51)
	require.Equal(t, 72.0, points[1][0].(float64)-points[0][0].(float64))
	points = evaluated(map[string]any{"query": "vector(1)", "start": "-1h", "end": "-30m", "step": "10m"})[0].Values
	require.Len(t, points, 4)

	schema, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "livegraph://schema/graph"})
	require.NoError(t, err)
	require.JSONEq(t, `{"entityTypes":[{"type":"concept","count":12},{"type":"object","count":1},`+
		`{"type":"process","count":0},{"type":"actor","count":0}],"relationTypes":[{"type":"HAS","count":12}],`+
		`"relationTypesComplete":true}`,
		schema.Contents[0].Text)
	schema, err = session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "livegraph://schema/live-data"})
	require.NoError(t, err)
	require.JSONEq(t, `{"seriesRead":0,"seriesTotal":0,"sources":[]}`, schema.Contents[0].Text)
	node, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "livegraph://nodes/" + hub})
	require.NoError(t, err)
	require.Contains(t, node.Contents[0].Text, `"name":"Hub"`)

	for name, c := range map[string]struct {
		tool      string
		arguments map[string]any
		status    int
		field     string
	}{
		"an unknown node":    {"node", map[string]any{"id": uuid.NewString()}, 404, ""},
		"no id":              {"node", map[string]any{"id": "../edges"}, 404, ""},
		"no text":            {"node", map[string]any{"id": hub, "text": "version"}, 400, "text"},
		"a wrong depth":      {"neighbors", map[string]any{"id": hub, "depth": 9}, 400, "depth"},
		"a wrong end":        {"paths", map[string]any{"from": hub, "to": "Hub"}, 400, "to"},
		"too many paths":     {"paths", map[string]any{"from": hub, "to": hub, "limit": 21}, 400, "limit"},
		"a wide subgraph":    {"subgraph", map[string]any{"nodeIds": []string{hub}, "depth": 4}, 400, "depth"},
		"no nodes":           {"subgraph", map[string]any{"nodeIds": []string{}}, 400, "nodeId"},
		"a negative count":   {"counts", map[string]any{"limit": -1}, 400, "limit"},
		"an unknown name":    {"match_pattern", map[string]any{"nodes": map[string]any{}}, 422, "nodes"},
		"a negative limit":   {"series", map[string]any{"limit": -1}, 400, "limit"},
		"an unknown command": {"execute_command", map[string]any{"type": "DROP"}, 422, "type"},
		"an unknown function": {
			"query", map[string]any{"aggregation": []string{"guess"}}, 400, "aggregation",
		},
		"an unknown algorithm": {"analyze_graph", map[string]any{"algorithm": "guess"}, 422, "algorithm"},
		"no analysis":          {"analysis", map[string]any{"id": uuid.NewString()}, 404, ""},
		"no saved query":       {"run_saved_query", map[string]any{"id": uuid.NewString()}, 404, ""},
		"no id of a query":     {"run_saved_query", map[string]any{"id": "../queries"}, 404, ""},
		"an unknown kind":      {"saved_queries", map[string]any{"kind": "graph"}, 400, "kind"},
		"no PromQL":            {"promql", map[string]any{"query": "sum("}, 400, ""},
		"no time":              {"promql", map[string]any{"query": "m", "time": "soon"}, 400, "time"},
		"a step alone":         {"promql", map[string]any{"query": "m", "step": "1m"}, 400, "start"},
		"a time with a range":  {"promql", map[string]any{"query": "m", "start": "-1h", "time": "now"}, 400, "time"},
		"an empty query":       {"search", map[string]any{"query": ""}, 422, "query"},
		"no tags of documents": {"search", map[string]any{"query": "a", "tags": []string{""}}, 422, "tags[0]"},
		"no id of a document":  {"answer", map[string]any{"query": "a", "documents": []string{"a"}}, 422, "documents[0]"},
		"no range of times": {
			"hybrid_search", map[string]any{"query": "a", "timestamp": map[string]any{"from": "now"}}, 422, "timestamp.from",
		},
		"an empty question": {"answer", map[string]any{"query": " "}, 422, "query"},
		"many sentences":    {"answer", map[string]any{"query": "a", "maxSentences": 11}, 422, "maxSentences"},
	} {
		a, isError := callTool(t.Context(), t, session, c.tool, c.arguments)
		require.True(t, isError, name)
		require.Equal(t, c.status, a.Error.Status, "%s: %+v", name, a.Error)
		if c.field != "" {
			require.Equal(t, c.field, a.Error.Details["field"], name)
		}
	}
	wrong := map[string]any{"ID": 5, "x": 1}
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "node", Arguments: wrong})
	require.True(t, err != nil || result.IsError, "wrong arguments")
	requirePathsInParts(t, call, create, hub)
}

func TestToolsAreOfferedByScope(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, groups()...)
	other := s.NewWorkspace(t, apikey.Live)
	for scope, want := range map[request.Scope][]string{
		request.ReadNodes: {"counts", "node", "run_saved_query", "saved_queries", "search"}, request.ReadEdges: {"counts"},
		request.WriteNodes:   {"execute_command"},
		request.ReadLiveData: {"promql", "query", "series"}, request.WriteLiveData: {},
	} {
		session := connectMCP(t, s, s.NewKey(t, []uuid.UUID{s.Workspace}, scope), s.Workspace.String())
		var names []string
		if session.InitializeResult().Capabilities.Tools != nil {
			tools, err := session.ListTools(t.Context(), nil)
			require.NoError(t, err)
			for _, tool := range tools.Tools {
				names = append(names, tool.Name)
			}
		}
		slices.Sort(names)
		require.ElementsMatch(t, want, names, scope)
		if scope == request.ReadNodes {
			_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_command", Arguments: map[string]any{
				"type": "CREATE_NODE", "payload": map[string]any{"name": "x", "entityType": "object"},
			}})
			require.Error(t, err, "a tool that is not offered")
		}
	}
	// A key of two workspaces sees in each only its own.
	key := s.NewKey(t, []uuid.UUID{s.Workspace, other}, request.ReadNodes, request.WriteNodes)
	first, second := connectMCP(t, s, key, s.Workspace.String()), connectMCP(t, s, key, other.String())
	made, isError := callTool(t.Context(), t, first, "execute_command", map[string]any{
		"type": "CREATE_NODE", "payload": map[string]any{"name": "mine", "entityType": "object"},
	})
	require.False(t, isError)
	_, isError = callTool(t.Context(), t, first, "node", map[string]any{"id": made.Citations[0].ID})
	require.False(t, isError)
	a, isError := callTool(t.Context(), t, second, "node", map[string]any{"id": made.Citations[0].ID})
	require.True(t, isError)
	require.Equal(t, 404, a.Error.Status)
}

func TestBadRequestsOfTheModelContextProtocol(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, groups()...)
	accept := map[string]string{"Accept": "application/json, text/event-stream"}
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	send := func(q contract.Request) *contract.Answer {
		q.Method, q.Path = http.MethodPost, mcpPath+q.Path
		if q.Body == "" {
			q.Body = list
		}
		if q.Header == nil {
			q.Header = accept
		}
		return s.Do(t, q)
	}
	require.Contains(t, string(send(contract.Request{}).Body), `"search"`)
	send(contract.Request{Key: contract.None}).RequireFailure(t, 401, authentication, "Missing Authorization", nil)
	unknown := apikey.Generate(apikey.Live).Reveal()
	send(contract.Request{Key: unknown}).RequireFailure(t, 401, authentication, "Unauthorized", nil)
	send(contract.Request{Workspace: contract.None}).RequireFailure(
		t, 400, validation, "", map[string]any{"field": "x-workspace-id"},
	)
	other := s.NewWorkspace(t, apikey.Live)
	send(contract.Request{Workspace: other.String()}).RequireFailure(t, 403, authorization, "Workspace access denied", nil)
	powerless := s.NewKey(t, []uuid.UUID{s.Workspace})
	send(contract.Request{Key: powerless}).RequireFailure(t, 403, authorization, "Forbidden", nil)
	send(contract.Request{Path: "?x=1"}).RequireFailure(t, 400, validation, "", map[string]any{"field": "x"})
	send(contract.Request{Body: strings.Repeat(" ", 1<<20+1)}).RequireFailure(t, 413, validation, "", nil)
	send(contract.Request{Header: map[string]string{"Content-Type": "text/plain"}}).RequireFailure(
		t, 415, validation, "", map[string]any{"field": "Content-Type"},
	)
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		s.Do(t, contract.Request{Method: method, Path: mcpPath}).RequireFailure(t, 405, validation, "", nil)
	}
	for name, body := range map[string]string{
		"no JSON": "{", "an array of nothing": "[]", "a scalar": "1",
		"another version": `{"jsonrpc":"1.0","id":1,"method":"ping"}`,
		"deep":            strings.Repeat("[", 100_000), "invalid UTF-8": "{\"jsonrpc\":\"\xff\"}",
	} {
		a := send(contract.Request{Body: body})
		require.Equal(t, 400, a.Status, "%s: %s", name, a.Body)
		require.Contains(t, string(a.Body), `"jsonrpc":"2.0"`, name)
		require.NotContains(t, string(a.Body), "unmarshal", name)
	}
	a := send(contract.Request{Header: map[string]string{"Accept": "application/json"}})
	require.Equal(t, 400, a.Status)
	require.Contains(t, string(a.Body), "text/event-stream")
	for name, body := range map[string]string{
		"an unknown method":   `{"jsonrpc":"2.0","id":1,"method":"tools/guess"}`,
		"an unknown tool":     `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"guess"}}`,
		"an unknown resource": `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}`,
	} {
		a := send(contract.Request{Body: body})
		require.Contains(t, string(a.Body), `"error":{`, name)
		require.NotContains(t, string(a.Body), "root:", name)
	}
	before := time.Now()
	for _, version := range []string{"", "2025-06-18", "2026-07-28"} { // a stream would not end
		header := maps.Clone(accept)
		header["Mcp-Protocol-Version"], header["Mcp-Method"] = version, "subscriptions/listen"
		a := send(contract.Request{Header: header, Body: `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen",` +
			`"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},` +
			`"io.modelcontextprotocol/clientCapabilities":{}},"notifications":{"toolsListChanged":true}}}`})
		require.Contains(t, string(a.Body), `"error":{`, "%s: %s", version, a.Body)
	}
	require.Less(t, time.Since(before), 8*time.Second)
	require.Contains(t, string(send(contract.Request{}).Body), `"search"`, "the next good request works")
}
