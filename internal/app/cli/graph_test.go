package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// testGraphByCommandLine shows a graph, and undoes and redoes its commands.
func testGraphByCommandLine(w *workspace) {
	t := w.t
	pump, boiler := w.createNode("Pump 7", "leaks oil"), w.createNode("Boiler", "")
	w.createEdge(pump, boiler, "feeds")

	nodes := w.ok(w.in("graph", "nodes", "--name", "pump", "--entity-type", "object", "--sort=-name")...)
	require.Regexp(t, `(?m)^Pump 7 +object +`+pump.String()+` +1 `, nodes)
	require.True(t, strings.HasSuffix(nodes, "\n1 node\n"), nodes)
	page := w.ok(w.in("graph", "nodes", "--limit", "1")...)
	cursor := regexp.MustCompile(`1 of 2 nodes; next page: --cursor (\S+)`).FindStringSubmatch(page)
	require.Len(t, cursor, 2, page)
	require.Contains(t, page, "Pump 7", "the oldest is first")
	require.Contains(t, w.ok(w.in("graph", "nodes", "--limit", "1", "--cursor", cursor[1])...), "Boiler")

	shown := w.ok(w.in("graph", "node", pump.String())...)
	require.Contains(t, shown, "description: leaks oil\nproperties: {}\n")
	require.Regexp(t, `feeds +`+pump.String()+` +`+boiler.String()+`\n1 edge\n$`, shown)
	require.Contains(t, w.ok(w.in("graph", "node", boiler.String())...), "description: -\n")
	neighbors := w.in("graph", "neighbors", pump.String())
	require.Regexp(t, `(?m)^1 +feeds +Boiler`, w.ok(append(neighbors, "--relation-type", "feeds")...))
	require.Contains(t, w.ok(append(neighbors, "--direction", "in", "--depth", "3")...), "0 nodes")

	subgraph := w.ok(w.in("graph", "subgraph", pump.String(), "--depth", "2")...)
	require.Regexp(t, `(?s)0 +Pump 7.*1 +Boiler.*feeds.*\n2 nodes, 1 edge\n$`, subgraph)
	pattern := filepath.Join(t.TempDir(), "pattern.json")
	require.NoError(t, os.WriteFile(pattern, []byte(
		`{"nodes": {"what": {"name": "pump"}, "to": {}}, "edges": [{"from": "what", "to": "to"}]}`), 0o600))
	require.Regexp(t, `^to +what\nBoiler +Pump 7\n1 of 1 match\n$`, w.ok(w.in("graph", "match", pattern)...))
	require.NoError(t, os.WriteFile(pattern, []byte(`{"nodes": {"a": {}}, "return": ["a"], "limit": 1}`), 0o600))
	require.Regexp(t, `^a +COUNT\n\S.* +1\n1 of 2 matches\n$`, w.ok(w.in("graph", "match", pattern)...))
	require.NoError(t, os.WriteFile(pattern, []byte(`{`), 0o600))
	require.Contains(t, w.bad(w.in("graph", "match", pattern)...), "is not JSON")
	require.Regexp(
		t, `(?s)node +object +2\s+node +\(all\) +2\s+edge +feeds +1\s+edge +\(all\) +1`, w.ok(w.in("graph", "counts")...),
	)
	require.Regexp(t, `^undo of CREATE_EDGE \S+ is change 4: 0 nodes, 1 edge\n$`, w.ok(w.in("graph", "undo")...))
	require.Contains(t, w.ok(neighbors...), "0 nodes")
	require.Regexp(t, `^redo of CREATE_EDGE \S+ is change 5: 0 nodes, 1 edge\n$`, w.ok(w.in("graph", "redo")...))
	require.Regexp(t, `(?m)^1 +feeds +Boiler`, w.ok(neighbors...))
	w.execute(http.StatusOK, "DELETE_NODE", map[string]any{"id": boiler})
	history := w.ok(w.in("graph", "history")...)
	require.Regexp(t, `(?s)\n6 +\S+ +DELETE_NODE +Boiler and 1 edge .*\n5 .* REDO .*\n4 .* UNDO .*`+
		`\n3 .* CREATE_EDGE +feeds: `+pump.String()+` -> `+boiler.String()+` .*`+
		`\n2 .* CREATE_NODE +Boiler .*\n1 .* CREATE_NODE +Pump 7 .*\n6 changes\n$`, history)
	require.NotContains(t, w.ok(w.in("graph", "history", boiler.String())...), "Pump 7")
	require.Contains(t, w.ok(w.in("graph", "node", boiler.String(), "--as-of-sequence", "5")...), "Boiler")
	require.Regexp(t, `(?m)^1 +feeds +Boiler`, w.ok(append(neighbors, "--as-of-sequence", "5")...))
	require.Contains(t, w.ok(append(neighbors, "--as-of", "9999-01-01T00:00:00Z")...), "0 nodes")
	testPurge(w, pump, boiler)
	testGraphRefusals(w, pump)
}

// testPurge purges a node that is deleted, and not the other.
func testPurge(w *workspace, kept, deleted uuid.UUID) {
	require.Contains(w.t, w.bad(w.in("graph", "purge", kept.String())...), "not deleted")
	w.eventually(func() bool {
		state := w.ok(w.in("graph", "purge", deleted.String())...)
		require.Regexp(w.t, "^node "+deleted.String()+" (is purged|will be purged by a server with role points; .*)\n$",
			state)
		return strings.Contains(state, "is purged")
	})
	require.NotContains(w.t, w.ok(w.in("graph", "history")...), "Boiler")
	require.Contains(w.t, w.ok(w.in("graph", "purge", deleted.String(), "--json")...), `"state": "purged"`)
}

func testGraphRefusals(w *workspace, node uuid.UUID) {
	for message, args := range map[string][]string{
		"--workspace: there is no workspace": {"graph", "nodes", "--workspace", uuid.NewString()},
		"No such node":                       w.in("graph", "node", uuid.NewString()),
		"Command not found":                  w.in("graph", "undo", "--command", uuid.NewString()),
		"Nothing to redo":                    w.in("graph", "redo"),
		"depth":                              w.in("graph", "neighbors", node.String(), "--depth", "4"),
		"sort":                               w.in("graph", "nodes", "--sort", "color"),
		"entityType":                         w.in("graph", "nodes", "--entity-type", "ghost"),
		`must be one of "out","in","both"`:   w.in("graph", "neighbors", node.String(), "--direction", "up"),
		"Node not found":                     w.in("graph", "purge", uuid.NewString()),
	} {
		require.Contains(w.t, w.bad(args...), message, "%v", args)
	}
}

// testSearchByCommandLine searches nodes by words, meaning and the graph.
func testSearchByCommandLine(w *workspace) {
	t := w.t
	pump, boiler := w.createNode("Pump 7", "leaks oil at night"), w.createNode("Boiler", "")
	w.createEdge(pump, boiler, "feeds")
	w.eventually(func() bool {
		return strings.Contains(w.ok(w.in("index", "status")...), "ready: 2 of 2 nodes indexed, 0 pending, 0 events behind")
	})

	require.Regexp(t, `^\d\.\d{3}  Pump 7  \(object `+pump.String()+`\)\n +leaks oil at night\n +words \d\.\d{3}`,
		w.ok(w.in("search", "--hybrid", "--hops", "0", "oil")...))
	require.Regexp(t, `^\d\.\d{3}  Pump 7 `, w.ok(w.in("search", "who leaks oil", "--min-score", "0.1")...))
	require.Contains(t, w.ok(w.in("search", "oil", "--entity-type", "actor")...), "0 candidates")
	explained := w.ok(w.in("search", "--hybrid", "--explain", "oil")...)
	require.Regexp(t, `(?s)^1\.000  Pump 7 .*\n0\.\d{3}  Boiler .*%  graph: linked to "Pump 7"`, explained)
	require.Regexp(t, `(?s)Boiler.*\n0\.\d{3}  Pump 7 .*1 edge away`,
		w.ok(w.in("search", "--hybrid", "--node", boiler.String(), "--hops", "1", "zzz")...))
	for message, args := range map[string][]string{
		"--hops: needs --hybrid":    w.in("search", "--hops", "2", "oil"),
		"--node: needs --hybrid":    w.in("search", "--node", pump.String(), "oil"),
		"--explain: needs --hybrid": w.in("search", "--explain", "oil"),
		`expected "<query>"`:        w.in("search"),
		"--limit: must be":          w.in("search", "--limit", "0", "oil"),
		"hops":                      w.in("search", "--hybrid", "--hops", "4", "oil"),
		"minScore":                  w.in("search", "--min-score", "2", "oil"),
	} {
		require.Contains(t, w.bad(args...), message, "%v", args)
	}
}

// testListsAsJSON requires that --json prints the API's answer.
func testListsAsJSON(w *workspace) {
	pump := w.createNode("Pump 7", "").String()
	w.createSource(map[string]any{"name": "kettle"})
	w.measure("kettle", "temp", 1)
	w.do(http.MethodPut, "/api/rules/machines", machineRules, http.StatusCreated, nil)
	for _, command := range [][]string{
		{"sources", "list"}, {"series", "list"}, {"query"}, {"graph", "nodes"}, {"graph", "node", pump},
		{"graph", "neighbors", pump}, {"graph", "history"}, {"search", "oil"}, {"search", "--hybrid", "oil"},
		{"index", "status"}, {"graph", "undo"}, {"graph", "redo"}, {"rules", "list"}, {"rules", "get", "machines"},
		{"webhooks", "list"}, {"documents", "list"}, {"saved-queries", "list"},
	} {
		answer := decode[struct {
			Success   bool
			Data      any
			RequestID string
		}](w.t, w.ok(w.in(append(command, "--json")...)...))
		require.True(w.t, answer.Success, command)
		require.NotNil(w.t, answer.Data, command)
		require.Regexp(w.t, `^req_`, answer.RequestID)
	}
	alerts := decode[struct{ Status string }](w.t, w.ok(w.in("rules", "alerts", "--json")...))
	require.Equal(w.t, "success", alerts.Status, "the answer of Prometheus' API")
}
