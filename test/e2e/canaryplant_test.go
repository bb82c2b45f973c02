package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/snappy"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/promwrite"
)

const (
	opSources = "POST /api/live-data/sources"
	opIngest  = "POST /api/live-data/ingest"
	opExecute = "POST /api/commands/execute"
	opBatch   = "POST /api/commands/batch"
	opSearch  = "POST /api/rag/search"
	opHybrid  = "POST /api/rag/hybrid-search"
	asJSON    = "application/json"
)

// plant writes everything that can be written, in every form.
func (w *tenants) plant() {
	w.t.Helper()
	w.plantGraph()
	w.plantPoints()
	w.plantShared()
	c := w.canary
	for _, op := range []string{opSearch, opHybrid} {
		body := object{"query": c("query"), "properties": object{c("filter's key"): []any{c("filter's value")}}}
		if op == opHybrid {
			body["relationTypes"], body["nodeIds"] = []any{c("searched relation")}, []any{w.pick["node"]}
		}
		w.writeJSON(op, strings.TrimPrefix(op, "POST "), body, http.StatusOK)
		body["properties"] = object{c("filter's key"): c("filter's only value")}
		w.writeJSON(op, strings.TrimPrefix(op, "POST "), body, http.StatusOK)
	}
	for _, path := range []string{
		"/api/" + c("path"), "/api/queries/nodes/" + c("path's id"), "/api/queries/nodes?" + c("parameter") + "=1",
	} {
		w.remember(
			"a bad request",
			w.say(w.theirs.Key, w.theirs.workspace, call{
				op: "GET " + path, path: path, header: map[string]string{"User-Agent": c("User-Agent")},
			}).text(),
		)
	}
	for _, path := range slices.Sorted(maps.Keys(w.doc.Paths.Map())) { // every text that is asked for by
		operation := w.doc.Paths.Value(path).Get
		if operation == nil || strings.HasSuffix(path, "/stream") || strings.HasSuffix(path, "/events") {
			continue
		}
		for _, p := range operation.Parameters {
			if p.Value.In == "query" && p.Value.Schema.Value.Type.Is("string") && len(p.Value.Schema.Value.Enum) == 0 {
				name := strings.Replace(p.Value.Name, "<key>", c("parameter's key"), 1)
				at := strings.NewReplacer("{id}", w.pick["node"], "{sequence}", "1").Replace(path) + "?" + name + "=" +
					c(path+"?"+p.Value.Name)
				w.remember("GET "+at, w.say(w.theirs.Key, w.theirs.workspace, call{op: "GET " + path, path: at}).text())
			}
		}
	}
}

func (w *tenants) plantGraph() {
	w.t.Helper()
	c := w.canary
	run := func(kind string, payload object, status int) json.RawMessage {
		w.t.Helper()
		return w.writeJSON(opExecute, "/api/commands/execute", object{"type": kind, "payload": payload}, status)
	}
	key, value := c("property's key"), c("property's value")
	w.pick["propertyKey"], w.pick["propertyValue"], w.pick["name"], w.pick["relation"] = key, value, c("node's name"),
		c("relation")
	w.pick["description"] = c("description")
	made := run(
		"CREATE_NODE",
		object{"name": w.pick["name"], "entityType": "object", "description": w.pick["description"] + " pumps water",
			"properties": object{key: value, "deep": object{c("deep key"): []any{c("deep value")}}}}, http.StatusCreated,
	)
	node, first := w.id(made, "node.id"), w.id(made, "commandId")
	w.pick["node"], w.pick["command"] = node, first
	chosen := uuid.NewString()
	w.ids[chosen] = "a chosen id"
	run("CREATE_NODE", object{"id": chosen, "name": c("other node's name"), "entityType": "concept"}, http.StatusCreated)
	run(
		"UPDATE_NODE",
		object{
			"id": node, "name": w.pick["name"], "description": w.pick["description"] + c("new description"),
			"properties": object{c("new key"): c("new value")},
		},
		http.StatusOK,
	)
	edgeID := uuid.NewString()
	w.ids[edgeID] = "a chosen id"
	run(
		"CREATE_EDGE",
		object{
			"id": edgeID, "sourceId": node, "targetId": chosen, "relationType": w.pick["relation"],
			"properties": object{key: value},
		},
		http.StatusCreated,
	)
	run(
		"UPDATE_EDGE",
		object{"id": edgeID, "relationType": w.pick["relation"], "properties": object{c("edge's key"): c("edge's value")}},
		http.StatusOK,
	)
	w.pick["edge"] = edgeID
	gone := w.id(
		run("CREATE_NODE", object{"name": c("deleted node"), "entityType": "actor"}, http.StatusCreated), "node.id",
	)
	run("CREATE_EDGE", object{"sourceId": gone, "targetId": node, "relationType": c("deleted edge")}, http.StatusCreated)
	run("DELETE_NODE", object{"id": gone}, http.StatusOK)
	w.pick["gone"] = gone
	undone := w.id(
		run("CREATE_NODE", object{"name": c("undone node"), "entityType": "actor"}, http.StatusCreated), "commandId",
	)
	run("UNDO", object{"commandId": undone}, http.StatusOK)

	a, b := uuid.NewString(), uuid.NewString()
	w.ids[a], w.ids[b] = "a chosen id", "a chosen id"
	batch := func(status int, commands ...any) json.RawMessage {
		w.t.Helper()
		return w.writeJSON(opBatch, "/api/commands/batch", object{"commands": commands, "atomic": false}, status)
	}
	command := func(kind string, payload object) object { return object{"type": kind, "payload": payload} }
	w.pick["batch"] = w.id(batch(http.StatusOK,
		command("CREATE_NODE", object{
			"id": a, "name": c("batch's node"), "entityType": "process", "description": c("batch's description"),
			"properties": object{c("batch's key"): c("batch's value")},
		}),
		command("CREATE_EDGE", object{
			"id": b, "sourceId": a, "targetId": node, "relationType": c("batch's relation"),
			"properties": object{c("key"): c("value")},
		}),
	), "batchId")
	batch(http.StatusUnprocessableEntity, command("UNDO", object{"commandId": first})) // which is not for batches
}

func (w *tenants) plantPoints() {
	w.t.Helper()
	c := w.canary
	source := func(name string) object {
		return object{"name": name, "description": c("source's description"),
			"nodeId": w.pick["node"], "unit": c("unit"), "tags": object{c("tag's key"): c("tag's value")},
			"metrics": []any{object{
				"name": c("metric's name"), "unit": c("metric's unit"), "description": c("metric's description"),
			}}}
	}
	w.pick["sourceName"], w.pick["metric"] = c("source's name"), c("metric")
	w.pick["tagKey"], w.pick["tagValue"] = c("point's tag key"), c("point's tag value")
	chosen := source(w.pick["sourceName"])
	chosen["id"] = uuid.NewString()
	w.pick["source"] = chosen["id"].(string)
	w.ids[w.pick["source"]] = "a source"
	w.writeJSON(opSources, "/api/live-data/sources", chosen, http.StatusCreated)
	patch := source(w.pick["sourceName"])
	patch["unit"] = c("new unit")
	op := "PATCH /api/live-data/sources/{id}"
	w.writeJSON(op, "/api/live-data/sources/"+w.pick["source"], patch, http.StatusOK)
	w.write(
		op, "/api/live-data/sources/"+w.pick["source"], "application/merge-patch+json",
		`{"tags":{"`+c("patched tag")+`":"`+c("patched value")+`"}}`, nil, http.StatusOK,
	)
	w.pick["goneSource"] = w.id(
		w.writeJSON(opSources, "/api/live-data/sources", source(c("deleted source")), http.StatusCreated), "id",
	)
	w.write(
		"DELETE /api/live-data/sources/{id}", "/api/live-data/sources/"+w.pick["goneSource"], "", "", nil,
		http.StatusNoContent,
	)

	ingest := func(body object) json.RawMessage {
		w.t.Helper()
		return w.writeJSON(opIngest, "/api/live-data/ingest", body, http.StatusCreated)
	}
	id, name, tags := w.pick["source"], w.pick["sourceName"], object{w.pick["tagKey"]: w.pick["tagValue"]}
	ingest(object{"points": []any{
		object{"sourceId": id, "metric": w.pick["metric"], "value": 1, "tags": tags},
		object{"source": name, "metric": c("row's metric"), "value": c("text value"), "tags": object{c("k"): c("v")}},
		object{"source": c("unknown source"), "metric": "m", "value": 1},
	}})
	now := []any{time.Now().UnixMilli()}
	ingest(object{"series": []any{
		object{
			"sourceId": id, "metric": c("column's metric"), "timestamps": now, "values": []any{c("column's text")},
			"tags": object{c("k"): c("v")},
		}, object{"source": name, "metric": "m", "timestamps": now, "values": []any{1}},
	}})
	ingest(object{
		"sourceId": id, "metric": c("default metric"), "tags": object{c("default key"): c("default value")},
		"points": []any{object{"value": 1}},
	})
	ingest(object{"source": name, "metric": c("default metric"), "points": []any{object{"value": 2}}})
	w.write(
		opIngest, "/api/live-data/ingest", "application/x-ndjson",
		fmt.Sprintf(`{"source":%q,"metric":%q,"value":%q}`, name, c("line's metric"), c("line's text")), nil,
		http.StatusCreated,
	)
	w.write(
		opIngest, "/api/live-data/ingest", "text/plain",
		fmt.Sprintf(`%s,%s=%s %s=1,%s="%s"`, c("measurement"), c("k"), c("v"), c("field"), c("text field"), c("text")), nil,
		http.StatusCreated,
	)
	influx := fmt.Sprintf(`%s,%s=%s %s=1`, c("measurement"), c("k"), c("v"), c("field"))
	w.write(
		"POST /api/v2/write", "/api/v2/write?org="+c("org")+"&bucket="+w.theirs.workspace, "text/plain", influx, nil,
		http.StatusNoContent,
	)
	w.write("POST /write", "/write?db="+w.theirs.workspace, "text/plain", influx, nil, http.StatusNoContent)
	for _, op := range []string{"POST /api/v1/write", opIngest} {
		series := promwrite.Labels(
			"__name__", c("name"), "instance", c("instance"), "job", c("job"), c("label"), c("label's value"),
		).Sample(time.Now().UnixMilli(), 1)
		w.write(
			op, strings.TrimPrefix(op, "POST "), "application/x-protobuf", string(snappy.Encode(nil, promwrite.Request(series))),
			map[string]string{"Content-Encoding": "snappy"}, http.StatusNoContent,
		)
	}
	w.write(
		"DELETE /api/live-data/points", "/api/live-data/points?sourceId="+id+"&metric="+c("deleted metric"), "", "", nil,
		http.StatusAccepted,
	)
	w.checkpoint = w.id(
		ingest(object{"points": []any{object{"sourceId": id, "metric": w.pick["metric"], "value": 3, "tags": tags}}}),
		"checkpoint",
	)
}

// awaitPlanted waits until all of it can be found, were it not for its workspace.
func (w *tenants) awaitPlanted() {
	t := w.t
	t.Helper()
	owner := func(path string) heard {
		return w.say(w.theirs.Key, w.theirs.workspace, call{op: "GET " + path, path: path})
	}
	require.Equal(t, http.StatusOK, owner("/api/live-data/query?checkpoint="+url.QueryEscape(w.checkpoint)).status)
	require.Eventually(t, func() bool {
		series := owner("/api/live-data/series?limit=100").body
		return strings.Contains(series, w.mark) && !strings.Contains(series, `"count":0`)
	}, time.Minute, 20*time.Millisecond, "every series has its points")
	w.awaitIndexed(w.theirs, w.pick["name"], w.pick["node"])
	page := owner("/api/queries/nodes?limit=1")
	w.pick["request"] = page.header.Get("X-Request-Id")
	w.place = w.placeInStream()
	w.cursor = regexp.MustCompile(`"nextCursor":"([^"]+)"`).FindStringSubmatch(page.body)[1]
	require.Eventually(t, func() bool {
		return strings.Contains(owner("/api/admin/audit?limit=100&route=/api/commands/execute").body, w.mark)
	}, time.Minute, 20*time.Millisecond, "its uses are recorded")
}

// awaitIndexed waits until a search has all of a tenant's nodes.
func (w *tenants) awaitIndexed(as made, query, found string) {
	t := w.t
	t.Helper()
	require.Eventually(t, func() bool {
		status := w.say(as.Key, as.workspace, call{op: "GET ", path: "/api/rag/index/status"}).body
		return strings.Contains(status, `"status":"ready"`) && strings.Contains(status, `"events":0`) &&
			strings.Contains(status, `"running":false`)
	}, time.Minute, 20*time.Millisecond, "the index of meanings has the nodes")
	require.Eventually(t, func() bool {
		hits := w.say(as.Key, as.workspace, call{
			op: opSearch, path: "/api/rag/search", kind: asJSON, body: fmt.Sprintf(`{"query":%q}`, query),
		})
		return strings.Contains(hits.body, found)
	}, time.Minute, 20*time.Millisecond, "and that of words")
}

// plantShared has the key that opens both write in the first tenant's workspace, with
// idempotency keys; to undo it is not the second's.
func (w *tenants) plantShared() {
	t := w.t
	t.Helper()
	for op, body := range map[string]string{
		opSources: `{"name":%q}`, opIngest: `{"points":[{"sourceId":"` + w.pick["source"] + `","metric":%q,"value":1}]}`,
		opExecute: `{"type":"CREATE_NODE","payload":{"name":%q,"entityType":"object"}}`,
		opBatch:   `{"commands":[{"type":"CREATE_NODE","payload":{"name":%q,"entityType":"object"}}]}`,
	} {
		status := http.StatusCreated
		if op == opBatch {
			status = http.StatusOK
		}
		w.pick["shared "+op] = w.canary(op + ": the other key's Idempotency-Key")
		w.writeBy(
			w.both, op, strings.TrimPrefix(op, "POST "), asJSON, fmt.Sprintf(body, w.canary(op+": by the key for both")),
			map[string]string{"Idempotency-Key": w.pick["shared "+op]}, status,
		)
	}
	for _, payload := range []string{`{}`, `{"scope":"workspace"}`} {
		for _, kind := range []string{"UNDO", "REDO"} {
			answer := w.say(w.both.Key, w.both.workspace, call{
				op: opExecute, path: "/api/commands/execute", kind: asJSON,
				body: `{"type":"` + kind + `","payload":` + payload + `}`,
			})
			require.Equal(t, http.StatusConflict, answer.status, "%s", answer.body)
			require.Contains(t, answer.body, "nothing_to_")
		}
	}
}
