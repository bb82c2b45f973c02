package contract_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

// badCommands returns bad commands about a node and an edge that exist.
func badCommands(id, edge string) []refusal {
	return []refusal{
		{`{"type":"FLY","payload":{}}`, 422, "type"},
		{`{"type":"update_node","payload":{"id":"` + id + `","name":"x"}}`, 422, "type"},
		{`{"payload":{"id":"` + id + `"}}`, 400, "type"},
		{`{"type":"UPDATE_NODE"}`, 400, "payload"}, {`{"type":"UPDATE_NODE","payload":[]}`, 400, "payload"},
		{`{"type":"UPDATE_NODE","payload":null}`, 400, "payload"},
		{
			`{"type":"UPDATE_NODE","payload":{"sourceId":"` + id + `","targetId":"` + id + `","relationType":"x"}}`, 400,
			"payload.sourceId",
		}, {`{"type":"DELETE_NODE","payload":{"id":"` + id + `","name":"x"}}`, 400, "payload.name"},
		{updateNode(id, `"version":7`), 400, "payload.version"}, {updateNode(id, `"Name":"x"`), 400, "payload.Name"},
		{updateNode(id, `"name":"x","name":"y"`), 400, "payload.name"},
		{updateNode(id, `"name":"\ud800"`), 400, "payload.name"},
		{updateNode(id, `"name":"a\u0000b"`), 422, "payload.name"},
		{updateNode(id, `"name":"a\u0007b"`), 422, "payload.name"},
		{updateNode(id, `"entityType":"robot"`), 422, "payload.entityType"},
		{updateNode(id, `"properties":{"a":1e400}`), 422, "payload.properties"},
		{updateNode(id, `"properties":{"a":"\u0000"}`), 422, "payload.properties.a"},
		{updateNode(id, `"properties":`+strings.Repeat(`{"a":`, 8)+`{}`+strings.Repeat("}", 8)), 422, "payload.properties"},
		{`{"type":"UPDATE_NODE","payload":{"id":"` + id + `"}}`, 422, "payload"},
		{`{"type":"UPDATE_NODE","payload":{"id":"` + id + `","name":"x"},"expectedVersion":0}`, 422, "expectedVersion"},
		{
			`{"type":"UPDATE_NODE","payload":{"id":"` + id + `","name":"x"},"expectedVersion":9223372036854775808}`, 422,
			"expectedVersion",
		}, {`{"type":"UPDATE_NODE","payload":{"id":"` + id + `","name":"x"},"expectedVersion":"1"}`, 400, "expectedVersion"},
		{`{"type":"UPDATE_NODE","payload":{"id":"` + id + `","name":"x"},"expectedVersion":-1}`, 422, "expectedVersion"},
		{`{"type":"UNDO","expectedVersion":1}`, 422, "expectedVersion"},
		{`{"type":"UNDO","payload":{"scope":"all"}}`, 422, "payload.scope"},
		{`{"type":"CREATE_NODE","payload":{"id":"","name":"x","entityType":"object"}}`, 422, "payload.id"},
		{`{"type":"CREATE_NODE","payload":{"id":"` + id + `x","name":"x","entityType":"object"}}`, 422, "payload.id"},
		{
			`{"type":"CREATE_EDGE","payload":{"id":"{` +
				id + `}","sourceId":"` + id + `","targetId":"` + id + `","relationType":"x"}}`,
			422, "payload.id",
		}, {`{"type":"CREATE_EDGE","payload":{"sourceId":"` + id + `","relationType":"x"}}`, 400, "payload.targetId"},
		{`{"type":"UPDATE_EDGE","payload":{"id":"` + edge + `","relationType":""}}`, 422, "payload.relationType"},
		{`{"type":"UPDATE_EDGE","payload":{"id":"` + edge + `","sourceId":"` + id + `"}}`, 400, "payload.sourceId"},
		{`{"type":"UPSERT_NODE","payload":{"entityType":"object"}}`, 400, "payload.key"},
		{upsertNode(`{"a":"x"}`, `"id":"`+id+`"`), 400, "payload.id"}, {upsertNode(`[]`, ""), 400, "payload.key"},
		{upsertNode(`{}`, ""), 422, "payload.key"}, {upsertNode(`{"a":1,"b":2}`, ""), 422, "payload.key"},
		{upsertNode(`{"a":true}`, ""), 422, "payload.key"}, {upsertNode(`{"a":""}`, ""), 422, "payload.key"},
		{upsertNode(`{"a":"x"}`, `"properties":{"a":"y"}`), 422, "payload.properties"},
		{upsertNode(`{"a":"x"}`, `"properties":{"a":null}`), 422, "payload.properties"},
		{upsertEdge(`"sourceId":"`+id+`","source":{"key":{"a":"x"},"entityType":"object"}`, id), 422, "payload.source"},
		{upsertEdge(`"source":{"key":{"a":"x"}}`, id), 400, "payload.source.entityType"},
		{upsertEdge(`"source":{"key":{"a":"x"},"entityType":"robot"}`, id), 422, "payload.source.entityType"},
		{upsertEdge(`"source":{"key":{"a":[]},"entityType":"object"}`, id), 422, "payload.source.key"},
		{`{"type":"UPSERT_EDGE","payload":{"sourceId":"` + id + `","relationType":"x"}}`, 400, "payload.targetId"},
		{strings.TrimSuffix(upsertNode(`{"a":"x"}`, ""), "}") + `,"expectedVersion":1}`, 422, "expectedVersion"},
		{`{"type":"UNDO"} {}`, 400, "body"}, {"\ufeff" + undo, 400, "body"}, {`{"type":"UNDO",}`, 400, "body"},
		{strings.Repeat(`{"type":`, 10_000), 400, "body"},
	}
}

// The valid bodies of commands are tested with their parser, in api/commands. This test
// checks that the routes use it, and that bad commands change nothing.
func TestBadCommandsAreRefusedAndChangeNothing(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	id := w.newNode(t, "a")
	edge := w.newEdge(t, id, id)
	before := []any{w.readNode(t, id), w.readEdge(t, edge)}
	for _, c := range badCommands(id, edge) {
		a := w.execute(t, c.body)
		require.Equal(t, c.status, a.Status, "%s: %s", c.body, a.Body)
		a.RequireFailure(t, c.status, validation, "", map[string]any{"field": c.field})
		require.NotEmpty(t, a.Error.Details["reason"])
	}
	require.Equal(t, before, []any{w.readNode(t, id), w.readEdge(t, edge)})
	require.Equal(t, 3, *w.mustExecute(t, updateNode(id, `"name":"b"`)).Sequence, "no sequence is used up")
}

func TestTheRoutesOfCommandsFollowHTTP(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	for _, path := range []string{executePath, batchPath} {
		for _, c := range []struct {
			q      contract.Request
			status int
			field  any
		}{
			{contract.Request{Method: http.MethodPost, Path: path}, 400, "body"},
			{contract.Request{Method: http.MethodPost, Path: path + "?wait=1", Body: undo}, 400, "wait"},
			{
				contract.Request{Method: http.MethodPost, Path: path, Body: undo, Header: map[string]string{"Content-Type": ""}},
				415, "Content-Type",
			},
			{
				contract.Request{
					Method: http.MethodPost, Path: path, Body: undo, Header: map[string]string{"Content-Type": "text/plain"},
				},
				415, "Content-Type",
			},
			{
				contract.Request{
					Method: http.MethodPost, Path: path, Body: undo, Header: map[string]string{"Content-Encoding": "br"},
				},
				415, "Content-Encoding",
			},
			{
				contract.Request{
					Method: http.MethodPost, Path: path, Body: undo, Header: map[string]string{"Content-Encoding": "gzip"},
				},
				400, "body",
			},
			{contract.Request{Method: http.MethodPost, Path: path, Body: undo, Workspace: "x"}, 400, "x-workspace-id"},
			{contract.Request{Method: http.MethodPut, Path: path, Body: undo}, 405, "method"},
		} {
			a := w.Do(t, c.q)
			a.RequireFailure(t, c.status, validation, "", map[string]any{"field": c.field})
		}
		w.Do(t, contract.Request{
			Method: http.MethodPost, Path: path, Key: contract.None, Body: undo,
		}).RequireFailure(t, 401, authentication, "Missing Authorization", nil)
	}
	requireConflict(t, w.execute(t, undo), "nothing_to_undo")
}
