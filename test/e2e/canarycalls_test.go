package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/klauspost/compress/snappy"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/promwrite"
)

// calls returns the second tenant's requests to all operations of the specification: each path with
// the first tenant's ids, each parameter with values of the first tenant, and bodies.
func (w *tenants) calls() (calls []call) {
	w.t.Helper()
	w.tokens = []string{w.cursor, w.checkpoint} // URLs contain their characters unescaped
	bodies := w.bodies()
	for path, item := range w.doc.Paths.Map() {
		for method, operation := range item.Operations() {
			op := method + " " + path
			for _, at := range w.paths(path) {
				if operation.RequestBody != nil {
					for _, c := range bodies[op] {
						c.op, c.path = op, at+c.path
						calls = append(calls, c)
					}
					continue
				}
				calls = append(calls, call{op: op, path: at})
				for _, query := range w.queries(slices.Concat(item.Parameters, operation.Parameters)) {
					calls = append(calls, call{op: op, path: at + "?" + query})
				}
				for _, name := range []string{"If-None-Match", "Last-Event-ID"} {
					if operation.Parameters.GetByInAndName("header", name) != nil {
						for _, value := range []string{"*", "7", w.streamID} {
							calls = append(calls, call{op: op, path: at, header: map[string]string{name: value}})
						}
					}
				}
			}
		}
	}
	for _, query := range w.pathQueries() {
		calls = append(calls, call{op: "GET /api/queries/paths", path: "/api/queries/paths?" + query})
	}
	for _, id := range append(w.firstTenantIDs(), w.values["node"]+","+w.values["edgeTarget"]) {
		for _, query := range []string{"", "&depth=3&limit=500", "&depth=0", "&direction=in", "&entityType=object"} {
			calls = append(calls, call{op: "GET /api/queries/subgraph", path: "/api/queries/subgraph?nodeId=" + id + query})
		}
	}
	for _, query := range w.pointQueries() {
		calls = append(calls, call{op: "GET /api/live-data/query", path: "/api/live-data/query?" + query})
	}
	for op, form := range promForms(fmt.Sprintf(`{__name__=%q}`, w.values["metric"])) {
		path, isForm := strings.CutPrefix(op, "POST ")
		if isForm {
			calls = append(calls, call{op: "GET " + path, path: path + "?" + form})
		}
	}
	slices.SortStableFunc(calls, func(a, b call) int {
		// Reindexing comes last, so that no index is built while search results are compared.
		return cmp.Or(
			cmp.Compare(strings.Count(a.op, "reindex"), strings.Count(b.op, "reindex")), strings.Compare(a.op, b.op),
		)
	})
	return calls
}

// knownValues returns the first tenant's values of some kinds.
func (w *tenants) knownValues(kinds ...string) (ids []string) {
	w.t.Helper()
	for _, kind := range kinds {
		require.NotEmpty(w.t, w.values[kind], kind)
		ids = append(ids, w.values[kind])
	}
	return ids
}

func (w *tenants) firstTenantIDs() []string {
	return w.knownValues(
		"node", "edge", "source", "command", "batch", "gone", "goneSource", "key", "actor", "workspace", "document",
		"webhook", "delivery", "analysis", "savedQuery", "goneQuery",
	)
}

// paths returns a path for each value of its parameter.
func (w *tenants) paths(path string) []string {
	switch {
	case strings.Contains(path, "{id}"):
		var filled []string
		path = strings.Replace(path, "{deliveryId}", w.values["delivery"], 1)
		for _, id := range append(w.firstTenantIDs(), "no-id") {
			filled = append(filled, strings.Replace(path, "{id}", id, 1))
		}
		return filled
	case strings.Contains(path, "{sequence}"):
		var filled []string
		for sequence := range 12 {
			filled = append(filled, strings.Replace(path, "{sequence}", fmt.Sprint(sequence), 1))
		}
		return filled
	case strings.Contains(path, "{name}"): // of a label, or a file of rules
		var filled []string
		for _, name := range []string{"__name__", "source", w.values["tagKey"], "machines", "none"} {
			filled = append(filled, strings.Replace(path, "{name}", name, 1))
		}
		return filled
	case strings.Contains(path, "{asset}"):
		return []string{strings.Replace(path, "{asset}", "init.js", 1), strings.Replace(path, "{asset}", "none", 1)}
	}
	require.NotContains(w.t, path, "{", "a parameter of a path that this test does not know")
	return []string{path}
}

// queries returns a query for each value of each parameter.
func (w *tenants) queries(parameters openapi3.Parameters) (queries []string) {
	for _, ref := range parameters {
		p := ref.Value
		if p.In != "query" {
			continue
		}
		key := w.values["propertyKey"]
		if strings.HasPrefix(p.Name, "tag.") {
			key = w.values["tagKey"]
		}
		name := strings.Replace(p.Name, "<key>", key, 1)
		for _, value := range w.valuesOf(p.Name, p.Schema.Value) {
			queries = append(queries, url.Values{name: {value}}.Encode())
		}
	}
	return queries
}

// valuesOf returns the values to use for a parameter.
func (w *tenants) valuesOf(name string, s *openapi3.Schema) []string {
	if s.Items != nil {
		s = s.Items.Value
	}
	if known := map[string][]string{
		"sort": {"-createdAt"}, "interval": {"1m", "hour"}, "from": {"-24h", "2020-01-01T00:00:00Z"}, "to": {"now"},
		"fill": {"null"}, "timezone": {"UTC"}, "route": {"/api/*"}, "status": {"2xx"},
		"groupBy": {"metric", "none", "tag." + w.values["tagKey"]}, "ip": {"127.0.0.1"},
		"requestId": w.knownValues("request"), "cursor": {w.cursor}, "checkpoint": {w.checkpoint},
		"after": {"0", w.streamID}, "bucket": w.knownValues("workspace"), "db": w.knownValues("workspace"),
		"name": {w.values["name"], w.values["sourceName"], w.canaryPrefix, "%"}, "limit": {"100", "1"},
	}[name]; known != nil {
		return known
	}
	switch {
	case len(s.Enum) > 0:
		var values []string
		for _, value := range s.Enum {
			values = append(values, fmt.Sprint(value))
		}
		return values
	case s.Type.Is("integer"), s.Type.Is("number"):
		return []string{"1", "0"}
	case s.Type.Is("boolean"):
		return []string{"true", "false"}
	case s.Format == "date-time":
		return []string{"2020-01-01T00:00:00Z", "2100-01-01T00:00:00Z"}
	case s.Format == "uuid":
		return append(w.knownValues("node", "edge", "source", "gone", "key"), w.values["node"]+","+w.values["source"])
	}
	return w.knownValues("propertyValue", "tagValue", "metric", "sourceName", "relation", "name")
}

// pathQueries returns queries of paths between the first tenant's nodes, with each of the other parameters.
func (w *tenants) pathQueries() (queries []string) {
	id := url.QueryEscape
	for _, from := range w.firstTenantIDs() {
		for _, to := range w.knownValues("node", "edgeTarget", "gone") {
			queries = append(queries, "from="+from+"&to="+to)
		}
	}
	for _, more := range []string{
		"direction=out&limit=20&maxDepth=10", "relationType=" + id(w.values["relation"]), "entityType=object,concept",
		"weight=" + id(w.values["propertyKey"]),
	} {
		queries = append(queries, "from="+w.values["node"]+"&to="+w.values["edgeTarget"]+"&"+more)
	}
	return queries
}

// pointQueries returns queries of points with several parameters.
func (w *tenants) pointQueries() (queries []string) {
	id := url.QueryEscape
	for _, selector := range []string{
		"", "sourceId=" + w.values["source"], "source=" + id(w.values["sourceName"]), "nodeId=" + w.values["node"],
		"metric=" + id(w.values["metric"]), "tag." + id(w.values["tagKey"]) + "=" + id(w.values["tagValue"]),
	} {
		for _, form := range []string{
			"", "aggregation=count,last&groupBy=none", "aggregation=last&interval=1m&groupBy=sourceId,metric&fill=previous",
			"latest=true", "downsample=lttb&maxPoints=10",
			"format=csv", "format=ndjson", "format=parquet", "aggregation=count&groupBy=tag." + id(w.values["tagKey"]),
			"epoch=us&order=desc",
		} {
			queries = append(queries, strings.Trim(selector+"&from=-2h&limit=100&"+form, "&"))
		}
	}
	return queries
}

// bodies returns the second tenant's request bodies by operation. If a call has a path, it is appended
// to the operation's path.
func (w *tenants) bodies() map[string][]call {
	w.t.Helper()
	p := w.values
	jsonCalls := func(bodies ...object) (calls []call) {
		for _, body := range bodies {
			text, err := json.Marshal(body)
			require.NoError(w.t, err)
			calls = append(calls, call{contentType: asJSON, body: string(text)})
		}
		return calls
	}
	command := func(kind string, payload object) object { return object{"type": kind, "payload": payload} }
	var commands []object
	for _, id := range w.knownValues("node", "edge", "gone", "source") {
		commands = append(commands, command("UPDATE_NODE", object{"id": id, "name": "taken over"}),
			command("DELETE_NODE", object{"id": id}), command("DELETE_EDGE", object{"id": id}),
			command("UPDATE_EDGE", object{"id": id, "relationType": "taken over"}),
			command("CREATE_EDGE", object{"sourceId": id, "targetId": id, "relationType": "r"}),
			command("UPSERT_EDGE", object{"sourceId": id, "targetId": id, "relationType": "r"}))
	}
	keyed := object{"key": object{w.values["propertyKey"]: w.values["propertyValue"]}, "entityType": "object"}
	commands = append(commands, command("UPSERT_EDGE", object{"source": keyed, "target": keyed, "relationType": "r"}))
	var batches, undos, searches []object
	for i, c := range commands {
		batches = append(batches, object{"commands": []any{c}, "atomic": i%2 == 0})
	}
	for _, id := range w.knownValues("command", "batch", "node") {
		undos = append(undos, command("UNDO", object{"commandId": id}), command("REDO", object{"commandId": id}))
	}
	for _, query := range []string{p["name"], "pumps water", p["propertyValue"], w.canaryPrefix} {
		for _, body := range []object{
			{}, {"properties": object{p["propertyKey"]: p["propertyValue"]}},
			{"includeContent": true, "limit": 100, "rerank": object{"candidates": 50}},
			{"tags": []any{p["documentTag"]}, "limit": 100},
		} {
			body["query"] = query
			searches = append(searches, body)
		}
	}
	hybrids := slices.Clone(searches)
	for _, query := range []string{"pumps water", p["name"]} {
		hybrids = append(hybrids, object{
			"query": query, "nodeIds": w.firstTenantIDs(), "hops": 3, "explain": true, "includeEdges": true,
			"includeLiveData": true, "includeContent": true,
		},
			object{
				"query": query, "relationTypes": []any{p["relation"]}, "includeLiveData": true,
				"weights": object{"text": 0, "vector": 0},
			})
	}
	var questions []object
	for _, query := range []string{"pumps water", p["name"], p["propertyValue"], w.canaryPrefix} {
		questions = append(questions, object{"query": query, "maxSentences": 10, "limit": 100}, object{
			"query": query, "nodeIds": w.firstTenantIDs(), "hops": 3, "includeLiveData": true,
			"properties": object{p["propertyKey"]: p["propertyValue"]}, "relationTypes": []any{p["relation"]},
		}, object{
			"query": query, "mode": "generate", "nodeIds": w.firstTenantIDs(), "hops": 3, "includeLiveData": true,
			"maxSentences": 10, "limit": 100,
		})
	}
	answers := jsonCalls(questions...)
	for _, c := range jsonCalls(questions...) {
		c.header = map[string]string{"Accept": "text/event-stream"}
		answers = append(answers, c)
	}
	point := func(more object) object {
		more["value"], more["metric"] = 1, "m"
		return object{"points": []any{more}}
	}
	line := call{contentType: "text/plain", body: "own-lines,k=v f=1"}
	remote := call{contentType: "application/x-protobuf", header: map[string]string{"Content-Encoding": "snappy"},
		body: string(snappy.Encode(nil, promwrite.Request(
			promwrite.Labels("__name__", "up", "instance", "own", "job", "own").Sample(time.Now().UnixMilli(), 1),
		)))}
	inFirstWorkspace := func(parameter string) call {
		c := line
		c.path = "?" + parameter + "=" + p["workspace"]
		return c
	}
	bodies := map[string][]call{
		opExecute: jsonCalls(append(commands, undos...)...),
		opBatch:   jsonCalls(batches...),
		opSearch:  jsonCalls(searches...),
		opHybrid:  jsonCalls(hybrids...),
		opAnswer:  answers,
		opSources: jsonCalls(object{"name": "own-source"}, object{"name": ""}),
		"PATCH /api/live-data/sources/{id}": jsonCalls(
			object{"name": "taken over"},
			object{"expectedVersion": 1, "tags": object{"k": nil}},
		),
		opIngest: append(
			jsonCalls(
				point(object{"sourceId": p["source"]}), point(object{"sourceId": p["goneSource"]}),
				point(object{"source": p["sourceName"]}),
			),
			line, remote,
		),
		"POST /api/v1/write":  {remote},
		"POST /api/documents": jsonCalls(object{"documents": []any{object{"externalId": "own", "text": "own"}}}),
		opRules: {
			{contentType: "application/yaml", body: "groups: [{name: own, rules: []}]"},
			{contentType: asJSON, body: `{"groups":[{"name":"own","rules":[{"record":"own","expr":"1"}]}]}`},
		},
		opAlertmanagers: jsonCalls(
			object{"urls": []any{"https://192.0.2.1"}},
			object{"alertmanagers": []any{object{"url": "https://192.0.2.1", "authorization": object{
				"type": "bearer", "token": "own",
			}}}},
		),
		"POST /api/webhooks":             jsonCalls(object{"name": "own", "url": "https://x.invalid", "events": []any{}}),
		"PATCH /api/webhooks/{id}":       jsonCalls(object{"enabled": false}, object{"name": "taken over", "labels": nil}),
		opAnalyses:                       jsonCalls(object{"algorithm": "degree"}),
		"POST /api/analyses/{id}/cancel": jsonCalls(object{}),
		opSaveQuery: jsonCalls(
			object{"name": "own-query", "kind": "search", "request": object{"query": "own"}},
			object{"name": "own-bad", "kind": "answer", "request": object{
				"query": p["name"], "nodeIds": w.firstTenantIDs(), "minScore": 2,
			}},
		),
		opPatchSaved:                       jsonCalls(object{"name": "taken over"}, object{"request": object{"limit": 1}}),
		opRunSaved:                         jsonCalls(object{}, object{"query": p["name"], "limit": 100}),
		"POST /mcp":                        w.mcpCalls(),
		opPatterns:                         jsonCalls(w.patternBodies()...),
		"POST /v1/metrics":                 {{contentType: asJSON, body: otlpGauge("own-otlp", "level", "k", "v", "d", "u")}},
		"POST /api/v2/write":               {line, inFirstWorkspace("bucket")},
		"POST /write":                      {line, inFirstWorkspace("db")},
		"POST /api/admin/reindex":          jsonCalls(object{}),
		"POST /api/admin/nodes/{id}/purge": jsonCalls(object{}),
	}
	maps.Copy(bodies, w.promCalls(p["metric"]))
	return bodies
}

// requireEachRouteCalled requires that calls covers every operation of the specification.
func (w *tenants) requireEachRouteCalled(calls []call) {
	w.t.Helper()
	asked := map[string]bool{}
	for _, c := range calls {
		asked[c.op] = true
	}
	for path, item := range w.doc.Paths.Map() {
		for method := range item.Operations() {
			require.True(w.t, asked[method+" "+path], "%s %s is a route that this test does not ask", method, path)
		}
	}
}

// mcpCalls returns calls of all tools with the first tenant's ids and names, and of its resources.
func (w *tenants) mcpCalls() (calls []call) {
	w.t.Helper()
	add := func(method string, params object) {
		text, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
		require.NoError(w.t, err)
		calls = append(calls, call{
			contentType: asJSON, body: string(text), header: map[string]string{"Accept": "application/json, text/event-stream"},
		})
	}
	tool := func(name string, arguments object) { add("tools/call", object{"name": name, "arguments": arguments}) }
	p := w.values
	for _, query := range []string{p["name"], w.canaryPrefix} {
		tool("search", object{"query": query})
		tool("search", object{"query": query, "tags": []any{p["documentTag"]}})
		tool("hybrid_search", object{"query": query, "nodeIds": w.firstTenantIDs(), "hops": 3})
		tool("answer", object{"query": query, "maxSentences": 10})
	}
	for _, id := range w.knownValues("node", "gone", "source", "edge") {
		tool("node", object{"id": id})
		tool("neighbors", object{"id": id, "depth": 3})
		tool("paths", object{"from": id, "to": p["edgeTarget"], "limit": 20})
		tool("subgraph", object{"nodeIds": []any{id}, "depth": 3})
		tool("history", object{"nodeId": id})
		tool("match_pattern", object{"nodes": object{"a": object{"nodeIds": []any{id}}}})
		tool("execute_command", object{"type": "UPDATE_NODE", "payload": object{"id": id, "name": "taken over"}})
		add("resources/read", object{"uri": "livegraph://nodes/" + id})
		add("resources/read", object{"uri": "livegraph://sources/" + id})
	}
	tool("saved_queries", object{})
	tool("analyses", object{})
	tool("analysis", object{"id": p["analysis"]})
	tool("run_saved_query", object{"id": p["savedQuery"], "query": p["name"]})
	tool("history", object{})
	tool("counts", object{})
	tool("series", object{"source": p["sourceName"]})
	tool("series", object{})
	tool("query", object{"sourceIds": []any{p["source"]}, "from": "-2h"})
	tool("query", object{"latest": true})
	for _, schema := range []string{"graph", "live-data"} {
		add("resources/read", object{"uri": "livegraph://schema/" + schema})
	}
	return calls
}
