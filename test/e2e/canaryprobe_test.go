package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/klauspost/compress/snappy"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/promwrite"
)

// calls returns the requests of the second tenant to all operations of the contract: each
// path with the first tenant's ids, each parameter with what of the first tenant might
// fit, and bodies.
func (w *tenants) calls() (calls []call) {
	w.t.Helper()
	w.tokens = []string{w.cursor, w.checkpoint} // URLs have their characters as they are
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
						for _, value := range []string{"*", "7", w.place} {
							calls = append(calls, call{op: op, path: at, header: map[string]string{name: value}})
						}
					}
				}
			}
		}
	}
	for _, query := range w.pointQueries() {
		calls = append(calls, call{op: "GET /api/live-data/query", path: "/api/live-data/query?" + query})
	}
	slices.SortStableFunc(calls, func(a, b call) int {
		// Searches and what came of them are compared while no index is being made.
		return cmp.Or(
			cmp.Compare(strings.Count(a.op, "reindex"), strings.Count(b.op, "reindex")), strings.Compare(a.op, b.op),
		)
	})
	return calls
}

// picks returns the first tenant's ids of some kinds.
func (w *tenants) picks(kinds ...string) (ids []string) {
	w.t.Helper()
	for _, kind := range kinds {
		require.NotEmpty(w.t, w.pick[kind], kind)
		ids = append(ids, w.pick[kind])
	}
	return ids
}

func (w *tenants) theirIDs() []string {
	return w.picks("node", "edge", "source", "command", "batch", "gone", "goneSource", "key", "actor", "workspace")
}

// paths fills in the parameters of a path.
func (w *tenants) paths(path string) []string {
	switch {
	case strings.Contains(path, "{id}"):
		var filled []string
		for _, id := range append(w.theirIDs(), "no-id") {
			filled = append(filled, strings.Replace(path, "{id}", id, 1))
		}
		return filled
	case strings.Contains(path, "{sequence}"):
		var filled []string
		for sequence := range 12 {
			filled = append(filled, strings.Replace(path, "{sequence}", fmt.Sprint(sequence), 1))
		}
		return filled
	case strings.Contains(path, "{asset}"):
		return []string{strings.Replace(path, "{asset}", "init.js", 1), strings.Replace(path, "{asset}", "none", 1)}
	}
	require.NotContains(w.t, path, "{", "a parameter of a path that this test does not know")
	return []string{path}
}

// queries returns each parameter by itself, with each value that might find something.
func (w *tenants) queries(parameters openapi3.Parameters) (queries []string) {
	for _, ref := range parameters {
		p := ref.Value
		if p.In != "query" {
			continue
		}
		name := strings.NewReplacer(
			"property.<key>", "property."+w.pick["propertyKey"], "tag.<key>", "tag."+w.pick["tagKey"],
		).Replace(p.Name)
		for _, value := range w.valuesOf(p.Name, p.Schema.Value) {
			queries = append(queries, url.Values{name: {value}}.Encode())
		}
	}
	return queries
}

// valuesOf returns values of a parameter.
func (w *tenants) valuesOf(name string, s *openapi3.Schema) []string {
	if s.Items != nil {
		s = s.Items.Value
	}
	if known := map[string][]string{
		"sort": {"-createdAt"}, "interval": {"1m", "hour"}, "from": {"-24h", "2020-01-01T00:00:00Z"}, "to": {"now"},
		"fill": {"null"}, "timezone": {"UTC"}, "route": {"/api/*"}, "status": {"2xx"},
		"groupBy": {"metric", "none", "tag." + w.pick["tagKey"]}, "ip": {"127.0.0.1"}, "requestId": w.picks("request"),
		"cursor": {w.cursor}, "checkpoint": {w.checkpoint},
		"after": {"0", w.place}, "bucket": w.picks("workspace"), "db": w.picks("workspace"),
		"name": {w.pick["name"], w.pick["sourceName"], w.mark, "%"}, "limit": {"100", "1"},
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
		return append(w.picks("node", "edge", "source", "gone", "key"), w.pick["node"]+","+w.pick["source"])
	}
	return w.picks("propertyValue", "tagValue", "metric", "sourceName", "relation", "name")
}

// pointQueries are queries of points with several parameters.
func (w *tenants) pointQueries() (queries []string) {
	id := url.QueryEscape
	for _, selector := range []string{
		"", "sourceId=" + w.pick["source"], "source=" + id(w.pick["sourceName"]), "nodeId=" + w.pick["node"],
		"metric=" + id(w.pick["metric"]), "tag." + id(w.pick["tagKey"]) + "=" + id(w.pick["tagValue"]),
	} {
		for _, form := range []string{
			"", "aggregation=count,last&groupBy=none", "aggregation=last&interval=1m&groupBy=sourceId,metric&fill=previous",
			"latest=true", "downsample=lttb&maxPoints=10",
			"format=csv", "format=ndjson", "aggregation=count&groupBy=tag." + id(w.pick["tagKey"]), "epoch=us&order=desc",
		} {
			queries = append(queries, strings.Trim(selector+"&from=-2h&limit=100&"+form, "&"))
		}
	}
	return queries
}

// bodies are those that the second tenant sends, by operation; of another path than the
// operation's the call has what follows it.
func (w *tenants) bodies() map[string][]call {
	w.t.Helper()
	p := w.pick
	of := func(bodies ...object) (calls []call) {
		for _, body := range bodies {
			text, err := json.Marshal(body)
			require.NoError(w.t, err)
			calls = append(calls, call{kind: asJSON, body: string(text)})
		}
		return calls
	}
	command := func(kind string, payload object) object { return object{"type": kind, "payload": payload} }
	var commands []object
	for _, id := range w.picks("node", "edge", "gone", "source") {
		commands = append(commands, command("UPDATE_NODE", object{"id": id, "name": "taken over"}),
			command("DELETE_NODE", object{"id": id}), command("DELETE_EDGE", object{"id": id}),
			command("UPDATE_EDGE", object{"id": id, "relationType": "taken over"}),
			command("CREATE_EDGE", object{"sourceId": id, "targetId": id, "relationType": "r"}))
	}
	var batches, undos, searches []object
	for i, c := range commands {
		batches = append(batches, object{"commands": []any{c}, "atomic": i%2 == 0})
	}
	for _, id := range w.picks("command", "batch", "node") {
		undos = append(undos, command("UNDO", object{"commandId": id}), command("REDO", object{"commandId": id}))
	}
	for _, query := range []string{p["name"], "pumps water", p["propertyValue"], w.mark} {
		for _, body := range []object{
			{}, {"properties": object{p["propertyKey"]: p["propertyValue"]}}, {"includeContent": true, "limit": 100},
		} {
			body["query"] = query
			searches = append(searches, body)
		}
	}
	hybrids := slices.Clone(searches)
	for _, query := range []string{"pumps water", p["name"]} {
		hybrids = append(hybrids, object{
			"query": query, "nodeIds": w.theirIDs(), "hops": 3, "explain": true, "includeEdges": true, "includeLiveData": true,
			"includeContent": true,
		},
			object{
				"query": query, "relationTypes": []any{p["relation"]}, "includeLiveData": true,
				"weights": object{"text": 0, "vector": 0},
			})
	}
	point := func(more object) object {
		more["value"], more["metric"] = 1, "m"
		return object{"points": []any{more}}
	}
	line := call{kind: "text/plain", body: "own-lines,k=v f=1"}
	remote := call{kind: "application/x-protobuf", header: map[string]string{"Content-Encoding": "snappy"},
		body: string(snappy.Encode(nil, promwrite.Request(
			promwrite.Labels("__name__", "up", "instance", "own", "job", "own").Sample(time.Now().UnixMilli(), 1),
		)))}
	inTheirs := func(parameter string) call {
		c := line
		c.path = "?" + parameter + "=" + p["workspace"]
		return c
	}
	return map[string][]call{
		opExecute: of(append(commands, undos...)...),
		opBatch:   of(batches...),
		opSearch:  of(searches...),
		opHybrid:  of(hybrids...),
		opSources: of(object{"name": "own-source"}, object{"name": ""}),
		"PATCH /api/live-data/sources/{id}": of(
			object{"name": "taken over"},
			object{"expectedVersion": 1, "tags": object{"k": nil}},
		),
		opIngest: append(
			of(
				point(object{"sourceId": p["source"]}), point(object{"sourceId": p["goneSource"]}),
				point(object{"source": p["sourceName"]}),
			),
			line, remote,
		),
		"POST /api/v1/write":               {remote},
		"POST /api/v2/write":               {line, inTheirs("bucket")},
		"POST /write":                      {line, inTheirs("db")},
		"POST /api/admin/reindex":          of(object{}),
		"POST /api/admin/nodes/{id}/purge": of(object{}),
	}
}

// requireEachRouteAsked: no operation of the contract, and no body, is left out.
func (w *tenants) requireEachRouteAsked(calls []call) {
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
