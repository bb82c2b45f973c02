package contract_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/test/contract"
	"github.com/livegraph/livegraph/test/promwrite"
)

// httpClasses returns requests that are wrong in any route.
func (w *environment) httpClasses(t *testing.T) []requestClass {
	t.Helper()
	echo := w.Bytes(t, contract.Request{Method: http.MethodPost, Path: "/api/test/echo", Body: echoGood})
	var framing, paths, methods, types []badRequest
	for _, table := range []map[string]onTheWire{badOnTheWire(), oddRequestLines(), oddTrailers(w.Server)} {
		for name, c := range table {
			if c.status >= 400 && c.status < 500 { // the others are not refused
				framing = append(framing, badRequest{name: name, bytes: c.request(w.offlineWire(t)), status: c.status})
			}
		}
	}
	for _, path := range []string{
		"/api", "/api/", "/api/me/", "/api//me", "/api/ME", "/api/../me", "/api/test/%2e%2e/me", "/api/me%00", "/api/me%ff",
		"/api/me%2f", "/api%2fme", "/%61pi/me", "/api/me;x=1", "/api\\me", "/api/queries/../me",
		"/api/queries/nodes%2f" + w.node,
	} {
		paths = append(paths, w.newBadRequest(t, path, contract.Request{Path: path}, 404, ""))
	}
	replaced := map[string]bool{} // patterns of routes that have PUT
	for _, rt := range w.API.Routes() {
		replaced[rt.Pattern] = replaced[rt.Pattern] || rt.Method == http.MethodPut
	}
	for _, rt := range w.API.Routes() {
		path := strings.NewReplacer("{id}", w.node, "{sequence}", "1", "*", "x").Replace(rt.Pattern)
		for _, method := range []string{"TRACE", "BREW", "get", "PUT"} {
			if method == http.MethodPut && replaced[rt.Pattern] {
				continue
			}
			methods = append(methods, w.newBadRequest(
				t, method+" "+rt.Method+" "+path, contract.Request{Method: method, Path: path}, 405, "method",
			))
		}
	}
	for _, path := range []string{
		"/api/test/echo", executePath, batchPath, sourcesPath, searchPath, hybridPath, answerPath,
	} {
		for header, values := range map[string][]string{
			"Content-Type": {
				"", "text/plain", "application/jsonx", "application/json; charset=latin1", "application/json, text/plain",
				"multipart/form-data",
			},
			"Content-Encoding": {"br", "deflate", "gzip, gzip", "gzip, identity", "aes128gcm", "identity, gzip"},
		} {
			for _, value := range values {
				q := contract.Request{Method: http.MethodPost, Path: path, Body: "{}", Header: map[string]string{header: value}}
				types = append(types, w.newBadRequest(t, path+" "+header+" "+value, q, 415, header))
			}
		}
	}
	return []requestClass{
		{"HTTP", echo, framing}, {"paths", echo, paths}, {"methods", echo, methods}, {"media types", echo, types},
	}
}

// badBodies returns a bad request for each body of a table.
func (w *environment) badBodies(t *testing.T, method, path string, list []refusal) (made []badRequest) {
	t.Helper()
	for i, r := range list {
		if r.body == "" {
			continue // it would be sent without a Content-Type
		}
		field := r.field
		if field == "body" {
			field = "" // the position of a syntax error depends on the parser
		}
		made = append(made, w.newBadRequest(
			t, fmt.Sprintf("%03d %s %.60q", i, path, r.body), contract.Request{Method: method, Path: path, Body: r.body},
			r.status, field,
		))
	}
	return made
}

// bodyClasses returns requests with bad bodies.
func (w *environment) bodyClasses(t *testing.T) []requestClass {
	t.Helper()
	echo := w.Bytes(t, contract.Request{Method: http.MethodPost, Path: "/api/test/echo", Body: echoGood})
	command := w.Bytes(t, contract.Request{
		Method: http.MethodPost, Path: executePath, Body: updateNode(w.node, `"name":"a"`),
	})
	nothing := w.Bytes(t, contract.Request{
		Method: http.MethodPost, Path: remoteWritePath,
		Body:   string(encodeWrite()),
		Header: map[string]string{"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy"},
	})
	node := w.Bytes(t, contract.Request{Path: "/api/queries/nodes/" + w.node})
	var plain, sources, batches, searches []badRequest
	for name, r := range badJSON() {
		plain = append(plain, w.newBadRequest(
			t, name, contract.Request{Method: http.MethodPost, Path: "/api/test/echo", Body: r.body}, r.status, r.field,
		))
	}
	both, onlyPost, onlyPatch := badSources(w.source)
	sources = append(sources, w.badBodies(t, http.MethodPost, sourcesPath, append(onlyPost, both...))...)
	sources = append(sources, w.badBodies(t, http.MethodPatch, sourcesPath+"/"+w.source.ID, append(onlyPatch, both...))...)
	create := `{"type":"CREATE_NODE","payload":{"id":"` + unknownID() + `","name":"new","entityType":"object"}}`
	for i, r := range badLastCommands(w.node, create) {
		batches = append(batches, w.newBadRequest(t, fmt.Sprintf("%03d %.60q", i, r.body), contract.Request{
			Method: http.MethodPost, Path: batchPath, Body: batchOf(true, create, updateNode(w.node, `"name":"b"`), r.body),
		}, r.status, r.field))
	}
	many := strings.TrimSuffix(strings.Repeat(create+",", 1001), ",")
	batches = append(batches, w.newBadRequest(
		t, "1001 commands", contract.Request{Method: http.MethodPost, Path: batchPath, Body: `{"commands":[` + many + `]}`},
		422, "commands",
	))
	searches = append(
		searches, w.badBodies(t, http.MethodPost, searchPath, append(searchRefusals(), facetRefusals()...))...,
	)
	searches = append(
		searches, w.badBodies(t, http.MethodPost, hybridPath, append(searchRefusals(), hybridRefusals()...))...,
	)
	searches = append(searches, w.badBodies(t, http.MethodPost, answerPath, answerRefusals())...)
	return []requestClass{
		{"JSON", echo, plain},
		{"commands", command, w.badBodies(t, http.MethodPost, executePath, badCommands(w.node, w.edge))},
		{"batches", command, batches},
		{"refused by the graph", command, w.badBodies(t, http.MethodPost, executePath, inapplicableCommands(w.node))},
		{"sources", echo, sources}, {"points", nothing, w.badBodies(t, http.MethodPost, ingestPath, badIngest(w.source))},
		{"lines and remote writes", nothing, w.badWrites(t)}, {"searches", node, searches},
	}
}

// inapplicableCommands returns commands that are well formed but cannot be applied.
func inapplicableCommands(node string) []refusal {
	return []refusal{
		{deleteNode(unknownID()), 404, "payload.id"}, {updateNode(unknownID(), `"name":"x"`), 404, "payload.id"},
		{deleteNode("no-uuid"), 404, "payload.id"},
		{createEdge(node, unknownID()), 404, "payload.targetId"}, {createEdge(unknownID(), node), 404, "payload.sourceId"},
		{`{"type":"CREATE_NODE","payload":{"id":"` + node + `","name":"x","entityType":"object"}}`, 409, ""},
		{`{"type":"DELETE_NODE","expectedVersion":9223372036854775807,"payload":{"id":"` + node + `"}}`, 409, ""},
		{redo, 409, ""}, {undoOf(unknownID()), 404, "payload.commandId"}, {redoOf("x"), 404, "payload.commandId"},
	}
}

// badWrites returns line protocol, NDJSON and remote writes of which nothing can be stored.
func (w *environment) badWrites(t *testing.T) (made []badRequest) {
	t.Helper()
	add := func(name, path, contentType, encoding, body string, status int) {
		header := map[string]string{"Content-Type": contentType, "Content-Encoding": encoding}
		made = append(made, w.newBadRequest(
			t, name, contract.Request{Method: http.MethodPost, Path: path, Body: body, Header: header}, status, "",
		))
	}
	for i, line := range []string{
		"x", "m f=", "m f=\"x", "m f=1e999", "m f=1 -1", "m f=1 99999999999999999999", "m f=1i1", "m f=9223372036854775808i",
		"m f=18446744073709551616u", "m f=-1u", "m f=NaN", "m f=1\\", "m,a f=1", "m,a= f=1", "m, f=1", ",a=b f=1",
		"m,a=b,a=c f=1", "m f==1", "m f=1,", "m ,f=1", "m\tf=1", "m f=1\t1", "m f=tru", "m f='x'", "# only a comment", "\n",
		"\r\n", "\\", "m\\ f=1", "m f=1 1 1", "\x00 f=1", "m\xff f=1", "m f=\"\xff\"",
	} {
		add(fmt.Sprintf("line %02d %q", i, line), ingestPath, "text/plain", "", line, 422)
	}
	add("precision", ingestPath+"?precision=d", "text/plain", "", "m f=1", 400)
	add("strict", ingestPath+"?strict=true", "text/plain", "", "m f=1\nx", 422)
	for i, line := range []string{
		"{\n}", "[]", "null", "\ufeff{}", `{"points":[]}`, `{"sourceId":"x","metric":"m"}`, strings.Repeat("[", 100_000),
	} {
		add(fmt.Sprintf("line of JSON %02d", i), ingestPath, "application/x-ndjson", "", line, 400)
	}
	for _, path := range remoteWritePaths {
		for name, body := range map[string]string{
			"not compressed": "hello", "a length of nothing": "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
			"cut off": string(encodeWrite(upSeries("a:1").Sample(marchFirst, 1))[:20]),
			"twice":   string(snappy.Encode(nil, encodeWrite(upSeries("a:1").Sample(marchFirst, 1)))),
		} {
			add(path+" "+name, path, "application/x-protobuf", "snappy", body, 400)
		}
		add(path+" a length of 4 GiB", path, "application/x-protobuf", "snappy", "\xff\xff\xff\xff\x0fabc", 413)
		add(path+" nested", path, "application/x-protobuf", "snappy, snappy", "x", 415)
		add(path+" version 3", path, "application/x-protobuf;proto=io.prometheus.write.v3.Request", "snappy", "x", 415)
		second := version2["Content-Type"]
		add(path+" version 1 as 2", path, second, "snappy", string(encodeWrite(upSeries("a:1").Sample(marchFirst, 1))), 415)
		for name, series := range map[string]promwrite.Message{
			"no such symbol":         promwrite.Message{}.Bytes(1, []byte{0, 9}).Sample(marchFirst, 1),
			"a name without a value": promwrite.Message{}.Bytes(1, []byte{0}).Sample(marchFirst, 1),
			"a cut sample":           promwrite.Message{}.Bytes(1, []byte{0, 0}).Bytes(2, []byte{9, 1}),
		} {
			body := snappy.Encode(nil, promwrite.Message{}.Text(4, "").Bytes(5, series))
			add(path+" version 2, "+name, path, second, "snappy", string(body), 400)
		}
	}
	for i, header := range []string{"a b", "é", strings.Repeat("x", 256), "a\tb"} {
		made = append(made, w.newBadRequest(t, fmt.Sprintf("idempotency key %d", i), contract.Request{
			Method: http.MethodPost, Path: ingestPath, Body: `{"points":[{"source":"boiler","metric":"m","value":1}]}`,
			Header: map[string]string{"Idempotency-Key": header},
		}, 400, "Idempotency-Key"))
	}
	return made
}

// parameterClasses returns requests with bad parameters or ids.
func (w *environment) parameterClasses(t *testing.T) []requestClass {
	t.Helper()
	get := func(path string) string { return w.Bytes(t, contract.Request{Path: path}) }
	toRequests := func(method, path string, table map[string]string) (made []badRequest) {
		for query, field := range table {
			if field == "" {
				continue // these parameters are valid
			}
			query = strings.ReplaceAll(query, " ", "%20")
			made = append(made, w.newBadRequest(
				t, fmt.Sprintf("%s?%.80s", path, query), contract.Request{Method: method, Path: path + "?" + query}, 400, field,
			))
		}
		return made
	}
	times, counts, ids := map[string]string{}, map[string]string{}, []badRequest{}
	for _, text := range badTimes {
		times["from="+escape(text)], times["to="+escape(text)] = "from", "to"
	}
	for _, text := range badIntervals {
		times["aggregation=count&interval="+escape(text)] = "interval"
	}
	for _, text := range badCounts {
		counts["limit="+text], counts["offset="+text] = "limit", "offset"
	}
	for i, text := range wrongIDs(w.node) {
		if text == "" || strings.HasPrefix(text, "../") {
			continue // another path
		}
		for _, path := range []string{sourcesPath + "/", "/api/queries/nodes/", "/api/queries/edges/", "/api/commands/"} {
			ids = append(ids, w.newBadRequest(
				t, fmt.Sprintf("%02d %s", i, path), contract.Request{Path: path + strings.ReplaceAll(escape(text), "+", "%20")},
				404, "",
			))
		}
	}
	var lists []badRequest
	for path, queries := range badGraphLists() {
		for _, q := range queries {
			field := q.field
			if len(field) > 60 {
				field = ""
			}
			lists = append(lists, w.newBadRequest(
				t, fmt.Sprintf("%s%.80s", path, q.query), contract.Request{Path: path + q.query}, 400, field,
			))
		}
	}
	var streams []badRequest
	for _, text := range []string{"99999", "-1", "+1", "1.5", "x", "9223372036854775808"} {
		for _, path := range []string{"/api/queries/events", streamPath} {
			if text == "99999" && path != streamPath {
				continue // it may be valid after a graph was restored
			}
			streams = append(streams, w.newBadRequest(
				t, path+" "+text, contract.Request{Path: path + "?after=" + escape(text)}, 400, "after",
			),
				w.newBadRequest(
					t, path+" Last-Event-ID "+text, contract.Request{Path: path, Header: map[string]string{"Last-Event-ID": text}},
					400, "Last-Event-ID",
				),
				w.newBadRequest(
					t, path+" HEAD "+text, contract.Request{Method: http.MethodHead, Path: path + "?after=" + escape(text)}, 400, "",
				))
		}
	}
	query, node := get("/api/live-data/query?metric=temp&from=1970-01-01T00:00:00Z&to=2026-11-01T00:00:00Z"),
		get("/api/queries/nodes/"+w.node)
	return []requestClass{
		{"queries", query, toRequests(http.MethodGet, "/api/live-data/query", badQueries(w.node))},
		{"times", node, toRequests(http.MethodGet, "/api/live-data/query", times)},
		{"counts", node, append(
			toRequests(http.MethodGet, sourcesPath, counts), toRequests(http.MethodGet, "/api/queries/history", counts)...,
		)},
		{"lists of sources", node, toRequests(http.MethodGet, sourcesPath, badSourceLists())},
		{"deletions of points", node, toRequests(http.MethodDelete, pointsPath, badDeletions(w.source.ID, w.gone.ID))},
		{"the graph", node, lists},
		{"neighbors", node, toRequests(http.MethodGet, "/api/queries/nodes/"+w.node+"/neighbors", badNeighbors())},
		{"paths", node, toRequests(http.MethodGet, "/api/queries/paths", badPaths(w.node, w.node))},
		{"ids", node, ids}, {"streams", node, streams},
		{"the audit log", node, append(
			toRequests(http.MethodGet, "/api/admin/audit", badAuditParams()),
			toRequests(http.MethodGet, "/api/admin/usage", badAuditParams())...,
		)},
	}
}

// accessClasses returns requests that authentication or authorization refuses.
func (w *environment) accessClasses(t *testing.T) []requestClass {
	t.Helper()
	me := w.Bytes(t, contract.Request{Path: "/api/me"})
	var keys, workspaces, scopes []badRequest
	for name, c := range badAuthorizations(w.Admin) {
		for _, path := range []string{"/api/me", "/api/queries/nodes/" + w.node, "/api/unknown"} {
			keys = append(keys, w.newBadRequest(
				t, name+" "+path,
				contract.Request{Path: path, Key: contract.None, Header: map[string]string{"Authorization": c.header}}, 401, "",
			))
		}
		body := contract.Request{
			Method: http.MethodPost, Path: executePath, Key: contract.None, Header: map[string]string{"Authorization": c.header},
			Body: createNode("x"),
		}
		keys = append(keys, w.newBadRequest(t, name+" with a body", body, 401, ""))
	}
	for _, header := range []string{"Authorization: Bearer " + w.Admin, "AUTHORIZATION: Basic x"} {
		keys = append(keys, badRequest{
			name:  "two headers " + header[:13],
			bytes: w.offlineWire(t).head("GET", "/api/me") + header + "\r\n\r\n", status: 401,
		})
	}
	keys = append(keys, badRequest{
		name: "in the query", bytes: "GET /api/me?Authorization=Bearer+" + w.Admin + " HTTP/1.1\r\nHost: x\r\n\r\n",
		status: 401,
	})
	other, sandbox := w.NewWorkspace(t, apikey.Live), w.NewWorkspace(t, apikey.Test)
	for i, text := range append(wrongIDs(w.Workspace.String()), w.Workspace.String()+","+w.Workspace.String()) {
		if strings.TrimSpace(text) == w.Workspace.String() || strings.ContainsAny(text, "\n") {
			continue // white space around a header's value is ignored, and a header cannot contain a line feed
		}
		workspaces = append(workspaces, w.newBadRequest(
			t, fmt.Sprintf("%02d", i),
			contract.Request{
				Method: http.MethodPost, Path: executePath, Body: createNode("x"), Workspace: contract.None,
				Header: map[string]string{"X-Workspace-Id": text},
			},
			400, "x-workspace-id",
		))
	}
	for _, workspace := range []string{
		other.String(), sandbox.String(), unknownID(), "00000000-0000-0000-0000-000000000000",
	} {
		workspaces = append(workspaces, w.newBadRequest(
			t, workspace,
			contract.Request{Method: http.MethodPost, Path: executePath, Body: createNode("x"), Workspace: workspace}, 403, "",
		))
	}
	none := w.newActorKey(t, request.ReadLiveData)
	for name := range scopesOfRoutes() {
		method, path, _ := strings.Cut(name, " ")
		opened := strings.Contains(path, "live-data") && method == http.MethodGet || path == "/mcp"
		opened = opened || method == http.MethodGet && (strings.HasPrefix(path, "/api/rules") || path == "/api/alerts")
		if opened || path == "/write" || isPrometheus(path) || strings.HasPrefix(path, "/api/v") {
			continue // the scope allows it, or the dialect checks in another order
		}
		path = strings.NewReplacer("{id}", w.node, "{sequence}", "1").Replace(path)
		q := contract.Request{Method: method, Path: path, Key: none}
		if method == http.MethodPost {
			q.Body = createNode("x")
		}
		scopes = append(scopes, w.newBadRequest(t, name, q, 403, ""))
	}
	return []requestClass{{"keys", me, keys}, {"workspaces", me, workspaces}, {"scopes", me, scopes}}
}
