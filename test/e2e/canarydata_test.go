package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/snappy"
	"github.com/stretchr/testify/require"
	colmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/livegraph/livegraph/test/promwrite"
)

const (
	opSources = "POST /api/live-data/sources"
	opIngest  = "POST /api/live-data/ingest"
	opExecute = "POST /api/commands/execute"
	opBatch   = "POST /api/commands/batch"
	opSearch  = "POST /api/rag/search"
	opHybrid  = "POST /api/rag/hybrid-search"
	opAnswer  = "POST /api/rag/answer"
	asJSON    = "application/json"
)

// writeCanaries writes canaries into every field of every operation and body format.
func (w *tenants) writeCanaries() {
	w.t.Helper()
	w.writeGraphCanaries()
	w.writePointCanaries()
	w.writeDocumentCanaries()
	w.writeRuleCanaries()
	w.writeWebhookCanaries()
	w.writeAnalysisCanaries()
	w.writePatternCanaries()
	w.writeSavedQueryCanaries()
	w.writePromCanaries()
	w.writeWithSharedKey()
	c := w.canary
	for _, op := range []string{opSearch, opHybrid, opAnswer} {
		body := object{
			"query": c("query"), "properties": object{c("filter's key"): []any{c("filter's value")}},
			"documents": []any{w.values["document"]},
			"tags":      []any{c("searched tag")}, "allTags": []any{c("second searched tag")},
			"propertyMin":    object{c("lower bound's key"): c("lower bound")},
			"propertyMax":    object{c("upper bound's key"): c("upper bound")},
			"propertyPrefix": object{c("prefix's key"): c("prefix")},
		}
		if op != opSearch {
			body["relationTypes"], body["nodeIds"] = []any{c("searched relation")}, []any{w.values["node"]}
		}
		w.writeJSON(op, strings.TrimPrefix(op, "POST "), body, http.StatusOK)
		body["rerank"] = object{"candidates": 50}
		w.writeJSON(op, strings.TrimPrefix(op, "POST "), body, http.StatusOK)
		if op == opAnswer {
			body["mode"] = "generate"
			w.writeJSON(op, strings.TrimPrefix(op, "POST "), body, http.StatusOK)
		}
		body["properties"] = object{c("filter's key"): c("filter's only value")}
		w.writeJSON(op, strings.TrimPrefix(op, "POST "), body, http.StatusOK)
	}
	for _, path := range []string{
		"/api/" + c("path"), "/api/queries/nodes/" + c("path's id"), "/api/queries/nodes?" + c("parameter") + "=1",
	} {
		w.recordIDs(
			"a bad request",
			w.send(w.firstKey.Key, w.firstKey.workspace, call{
				op: "GET " + path, path: path, header: map[string]string{"User-Agent": c("User-Agent")},
			}).text(),
		)
	}
	for _, path := range slices.Sorted(maps.Keys(w.doc.Paths.Map())) { // every string parameter of a query
		operation := w.doc.Paths.Value(path).Get
		if operation == nil || strings.HasSuffix(path, "/stream") || strings.HasSuffix(path, "/events") {
			continue
		}
		for _, p := range operation.Parameters {
			if p.Value.In == "query" && p.Value.Schema.Value.Type.Is("string") && len(p.Value.Schema.Value.Enum) == 0 {
				name := strings.Replace(p.Value.Name, "<key>", c("parameter's key"), 1)
				target := strings.NewReplacer(
					"{id}", w.values["node"], "{sequence}", "1", "{name}", "job",
				).Replace(path) + "?" + name + "=" +
					c(path+"?"+p.Value.Name)
				answer := w.send(w.firstKey.Key, w.firstKey.workspace, call{op: "GET " + path, path: target})
				w.recordIDs("GET "+target, answer.text())
			}
		}
	}
}

func (w *tenants) writeGraphCanaries() {
	w.t.Helper()
	c := w.canary
	run := func(kind string, payload object, status int) json.RawMessage {
		w.t.Helper()
		return w.writeJSON(opExecute, "/api/commands/execute", object{"type": kind, "payload": payload}, status)
	}
	key, value := c("property's key"), c("property's value")
	w.values["propertyKey"], w.values["propertyValue"] = key, value
	w.values["name"], w.values["relation"] = c("node's name"), c("relation")
	w.values["description"] = c("description")
	created := run(
		"CREATE_NODE",
		object{"name": w.values["name"], "entityType": "object", "description": w.values["description"] + " pumps water",
			"properties": object{key: value, "deep": object{c("deep key"): []any{c("deep value")}}}}, http.StatusCreated,
	)
	node, first := w.id(created, "node.id"), w.id(created, "commandId")
	w.values["node"], w.values["command"] = node, first
	chosen := uuid.NewString()
	w.ids[chosen] = "a chosen id"
	run("CREATE_NODE", object{"id": chosen, "name": c("other node's name"), "entityType": "concept"}, http.StatusCreated)
	run(
		"UPDATE_NODE",
		object{
			"id": node, "name": w.values["name"],
			"description": w.values["description"] + c("new description") + " pumps water.",
			"properties":  object{c("new key"): c("new value")},
		},
		http.StatusOK,
	)
	edgeID := uuid.NewString()
	w.ids[edgeID] = "a chosen id"
	run(
		"CREATE_EDGE",
		object{
			"id": edgeID, "sourceId": node, "targetId": chosen, "relationType": w.values["relation"],
			"properties": object{key: value},
		},
		http.StatusCreated,
	)
	run(
		"UPDATE_EDGE",
		object{"id": edgeID, "relationType": w.values["relation"], "properties": object{c("edge's key"): c("edge's value")}},
		http.StatusOK,
	)
	w.values["edge"], w.values["edgeTarget"] = edgeID, chosen
	upserted := object{"key": object{c("key of an upsert"): c("its value")}, "entityType": "process"}
	run("UPSERT_NODE", object{
		"key": upserted["key"], "entityType": "process", "name": c("upserted node"), "description": c("its description"),
		"properties": object{c("upserted key"): c("upserted value")},
	}, http.StatusCreated)
	run("UPSERT_EDGE", object{
		"source": upserted, "targetId": node, "relationType": c("upserted relation"),
		"properties": object{c("upserted edge's key"): c("upserted edge's value")},
	}, http.StatusCreated)
	run("UPSERT_EDGE", object{
		"sourceId": node, "target": upserted, "relationType": c("upserted relation"),
	}, http.StatusCreated)
	gone := w.id(
		run("CREATE_NODE", object{"name": c("deleted node"), "entityType": "actor"}, http.StatusCreated), "node.id",
	)
	run("CREATE_EDGE", object{"sourceId": gone, "targetId": node, "relationType": c("deleted edge")}, http.StatusCreated)
	run("DELETE_NODE", object{"id": gone}, http.StatusOK)
	w.values["gone"] = gone
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
	w.values["batch"] = w.id(batch(http.StatusOK,
		command("CREATE_NODE", object{
			"id": a, "name": c("batch's node"), "entityType": "process", "description": c("batch's description"),
			"properties": object{c("batch's key"): c("batch's value")},
		}),
		command("CREATE_EDGE", object{
			"id": b, "sourceId": a, "targetId": node, "relationType": c("batch's relation"),
			"properties": object{c("key"): c("value")},
		}),
		command("UPSERT_NODE", object{
			"key": upserted["key"], "entityType": "process", "name": c("upserted node"), "description": c("its description"),
		}),
		command("UPSERT_EDGE", object{"source": upserted, "target": upserted, "relationType": c("upserted relation")}),
	), "batchId")
	batch(http.StatusUnprocessableEntity, command("UNDO", object{"commandId": first})) // not allowed in batches
}

func (w *tenants) writePointCanaries() {
	w.t.Helper()
	c := w.canary
	source := func(name string) object {
		return object{"name": name, "description": c("source's description"),
			"nodeId": w.values["node"], "unit": c("unit"), "tags": object{c("tag's key"): c("tag's value")},
			"metrics": []any{object{
				"name": c("metric's name"), "unit": c("metric's unit"), "description": c("metric's description"),
			}}}
	}
	w.values["sourceName"], w.values["metric"] = c("source's name"), c("metric")
	w.values["tagKey"], w.values["tagValue"] = c("point's tag key"), c("point's tag value")
	chosen := source(w.values["sourceName"])
	chosen["id"] = uuid.NewString()
	w.values["source"] = chosen["id"].(string)
	w.ids[w.values["source"]] = "a source"
	w.writeJSON(opSources, "/api/live-data/sources", chosen, http.StatusCreated)
	patch := source(w.values["sourceName"])
	patch["unit"] = c("new unit")
	op := "PATCH /api/live-data/sources/{id}"
	w.writeJSON(op, "/api/live-data/sources/"+w.values["source"], patch, http.StatusOK)
	w.write(
		op, "/api/live-data/sources/"+w.values["source"], "application/merge-patch+json",
		`{"tags":{"`+c("patched tag")+`":"`+c("patched value")+`"}}`, nil, http.StatusOK,
	)
	w.values["goneSource"] = w.id(
		w.writeJSON(opSources, "/api/live-data/sources", source(c("deleted source")), http.StatusCreated), "id",
	)
	w.write(
		"DELETE /api/live-data/sources/{id}", "/api/live-data/sources/"+w.values["goneSource"], "", "", nil,
		http.StatusNoContent,
	)

	ingest := func(body object) json.RawMessage {
		w.t.Helper()
		return w.writeJSON(opIngest, "/api/live-data/ingest", body, http.StatusCreated)
	}
	id, name, tags := w.values["source"], w.values["sourceName"], object{w.values["tagKey"]: w.values["tagValue"]}
	ingest(object{"points": []any{
		object{"sourceId": id, "metric": w.values["metric"], "value": 1, "tags": tags},
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
		"POST /api/v2/write", "/api/v2/write?org="+c("org")+"&bucket="+w.firstKey.workspace, "text/plain", influx, nil,
		http.StatusNoContent,
	)
	w.write("POST /write", "/write?db="+w.firstKey.workspace, "text/plain", influx, nil, http.StatusNoContent)
	for _, op := range []string{"POST /api/v1/write", opIngest} {
		series := promwrite.Labels(
			"__name__", c("name"), "instance", c("instance"), "job", c("job"), c("label"), c("label's value"),
		).Sample(time.Now().UnixMilli(), 1).Exemplar(time.Now().UnixMilli(), 1, c("exemplar"), c("exemplar's value"))
		metadata := promwrite.Message{}.Varint(1, 1).Text(2, c("described")).Text(4, c("help")).Text(5, c("unit"))
		for contentType, body := range map[string]promwrite.Message{
			"application/x-protobuf": promwrite.Request(series).Bytes(3, metadata),
			"application/x-protobuf;proto=io.prometheus.write.v2.Request": promwrite.Request2(series),
		} {
			w.write(
				op, strings.TrimPrefix(op, "POST "), contentType, string(snappy.Encode(nil, body)),
				map[string]string{"Content-Encoding": "snappy"}, http.StatusNoContent,
			)
		}
	}
	metrics := otlpGauge(
		c("service"), c("OTLP metric"), c("OTLP attribute"), c("OTLP value"), c("OTLP description"), c("OTLP unit"),
	)
	w.write("POST /v1/metrics", "/v1/metrics", asJSON, metrics, nil, http.StatusOK)
	var export colmetrics.ExportMetricsServiceRequest
	require.NoError(w.t, protojson.Unmarshal([]byte(metrics), &export))
	encoded, err := proto.Marshal(&export)
	require.NoError(w.t, err)
	w.write("POST /v1/metrics", "/v1/metrics", "application/x-protobuf", string(encoded), nil, http.StatusOK)
	w.write(
		"DELETE /api/live-data/points", "/api/live-data/points?sourceId="+id+"&metric="+c("deleted metric"), "", "", nil,
		http.StatusAccepted,
	)
	w.checkpoint = w.id(
		ingest(object{"points": []any{object{"sourceId": id, "metric": w.values["metric"], "value": 3, "tags": tags}}}),
		"checkpoint",
	)
}

// waitForCanaries waits until the first tenant can find everything that it wrote.
func (w *tenants) waitForCanaries() {
	t := w.t
	t.Helper()
	owner := func(path string) response {
		return w.send(w.firstKey.Key, w.firstKey.workspace, call{op: "GET " + path, path: path})
	}
	require.Equal(t, http.StatusOK, owner("/api/live-data/query?checkpoint="+url.QueryEscape(w.checkpoint)).status)
	require.Eventually(t, func() bool {
		series := owner("/api/live-data/series?limit=100").body
		return strings.Contains(series, w.canaryPrefix) && !strings.Contains(series, `"count":0`)
	}, time.Minute, 20*time.Millisecond, "every series has its points")
	require.Eventually(t, func() bool {
		query := url.QueryEscape(`{__name__=~".+"}`)
		return strings.Contains(owner("/prometheus/api/v1/query_exemplars?query="+query).body, `"exemplars":[{"labels":{"`)
	}, time.Minute, 20*time.Millisecond, "its exemplars are listed")
	w.waitForIndex(w.firstKey, w.values["name"], w.values["node"])
	page := owner("/api/queries/nodes?limit=1")
	w.values["request"] = page.header.Get("X-Request-Id")
	w.streamID = w.currentStreamID()
	w.cursor = regexp.MustCompile(`"nextCursor":"([^"]+)"`).FindStringSubmatch(page.body)[1]
	require.Eventually(t, func() bool {
		return strings.Contains(owner("/api/admin/audit?limit=100&route=/api/commands/execute").body, w.canaryPrefix)
	}, time.Minute, 20*time.Millisecond, "its uses are recorded")
}

// waitForIndex waits until the search indexes contain all nodes of a workspace.
func (w *tenants) waitForIndex(as createdKey, query, found string) {
	t := w.t
	t.Helper()
	require.Eventually(t, func() bool {
		status := w.send(as.Key, as.workspace, call{op: "GET ", path: "/api/rag/index/status"}).body
		return strings.Contains(status, `"status":"ready"`) && strings.Contains(status, `"events":0`) &&
			strings.Contains(status, `"running":false`)
	}, time.Minute, 20*time.Millisecond, "the index of meanings has the nodes")
	require.Eventually(t, func() bool {
		hits := w.send(as.Key, as.workspace, call{
			op: opSearch, path: "/api/rag/search", contentType: asJSON, body: fmt.Sprintf(`{"query":%q}`, query),
		})
		return strings.Contains(hits.body, found)
	}, time.Minute, 20*time.Millisecond, "and that of words")
}

// writeWithSharedKey writes to the first tenant's workspace with the shared key and with idempotency
// keys. The second tenant cannot undo these commands.
func (w *tenants) writeWithSharedKey() {
	t := w.t
	t.Helper()
	for op, body := range map[string]string{
		opSources: `{"name":%q}`, opIngest: `{"points":[{"sourceId":"` + w.values["source"] + `","metric":%q,"value":1}]}`,
		opExecute: `{"type":"CREATE_NODE","payload":{"name":%q,"entityType":"object"}}`,
		opBatch:   `{"commands":[{"type":"CREATE_NODE","payload":{"name":%q,"entityType":"object"}}]}`,
	} {
		status := http.StatusCreated
		if op == opBatch {
			status = http.StatusOK
		}
		w.values["shared "+op] = w.canary(op + ": the other key's Idempotency-Key")
		w.writeAs(
			w.sharedKey, op, strings.TrimPrefix(op, "POST "), asJSON, fmt.Sprintf(body, w.canary(op+": by the key for both")),
			map[string]string{"Idempotency-Key": w.values["shared "+op]}, status,
		)
	}
	for _, payload := range []string{`{}`, `{"scope":"workspace"}`} {
		for _, kind := range []string{"UNDO", "REDO"} {
			answer := w.send(w.sharedKey.Key, w.sharedKey.workspace, call{
				op: opExecute, path: "/api/commands/execute", contentType: asJSON,
				body: `{"type":"` + kind + `","payload":` + payload + `}`,
			})
			require.Equal(t, http.StatusConflict, answer.status, "%s", answer.body)
			require.Contains(t, answer.body, "nothing_to_")
		}
	}
}

// otlpGauge returns metrics of OpenTelemetry with a gauge that has one attribute.
func otlpGauge(service, metric, key, value, description, unit string) string {
	pair := func(key, value string) object { return object{"key": key, "value": object{"stringValue": value}} }
	body, err := json.Marshal(object{"resourceMetrics": []any{object{
		"resource": object{"attributes": []any{pair("service.name", service), pair("host.name", value)}},
		"scopeMetrics": []any{object{"metrics": []any{object{
			"name": metric, "description": description, "unit": unit, "gauge": object{"dataPoints": []any{object{
				"timeUnixNano": strconv.FormatInt(time.Now().UnixNano(), 10), "asInt": 1, "attributes": []any{pair(key, value)},
			}}},
		}}}},
	}}})
	if err != nil {
		panic(err)
	}
	return string(body)
}
