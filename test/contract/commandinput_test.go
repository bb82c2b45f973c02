package contract_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

// What the bodies of commands may be is tested beside their reader, in api/commands.
// Here: that the routes read by it, and that what is bad changes nothing.
func TestBadCommandsAreRefusedAndChangeNothing(t *testing.T) {
	w := startCommands(t)
	id := w.node(t, "a")
	edge := w.edge(t, id, id)
	before := []any{w.readNode(t, id), w.readEdge(t, edge)}
	for _, c := range []struct {
		body, field string
		status      int
	}{
		{`{"type":"FLY","payload":{}}`, "type", 422}, {`{"type":"update_node","payload":{"id":"` + id + `","name":"x"}}`, "type", 422}, {`{"payload":{"id":"` + id + `"}}`, "type", 400},
		{`{"type":"UPDATE_NODE"}`, "payload", 400}, {`{"type":"UPDATE_NODE","payload":[]}`, "payload", 400}, {`{"type":"UPDATE_NODE","payload":null}`, "payload", 400},
		{`{"type":"UPDATE_NODE","payload":{"sourceId":"` + id + `","targetId":"` + id + `","relationType":"x"}}`, "payload.sourceId", 400}, {`{"type":"DELETE_NODE","payload":{"id":"` + id + `","name":"x"}}`, "payload.name", 400},
		{updateNode(id, `"version":7`), "payload.version", 400}, {updateNode(id, `"Name":"x"`), "payload.Name", 400}, {updateNode(id, `"name":"x","name":"y"`), "payload.name", 400}, {updateNode(id, `"name":"\ud800"`), "payload.name", 400},
		{updateNode(id, `"name":"a\u0000b"`), "payload.name", 422}, {updateNode(id, `"name":"a\u0007b"`), "payload.name", 422}, {updateNode(id, `"entityType":"robot"`), "payload.entityType", 422},
		{updateNode(id, `"properties":{"a":1e400}`), "payload.properties", 422}, {updateNode(id, `"properties":{"a":"\u0000"}`), "payload.properties.a", 422}, {updateNode(id, `"properties":`+strings.Repeat(`{"a":`, 8)+`{}`+strings.Repeat("}", 8)), "payload.properties", 422},
		{`{"type":"UPDATE_NODE","payload":{"id":"` + id + `"}}`, "payload", 422}, {`{"type":"UPDATE_NODE","payload":{"id":"` + id + `","name":"x"},"expectedVersion":0}`, "expectedVersion", 422},
		{`{"type":"UPDATE_NODE","payload":{"id":"` + id + `","name":"x"},"expectedVersion":9223372036854775808}`, "expectedVersion", 422}, {`{"type":"UPDATE_NODE","payload":{"id":"` + id + `","name":"x"},"expectedVersion":"1"}`, "expectedVersion", 400},
		{`{"type":"UPDATE_NODE","payload":{"id":"` + id + `","name":"x"},"expectedVersion":-1}`, "expectedVersion", 422}, {`{"type":"UNDO","expectedVersion":1}`, "expectedVersion", 422}, {`{"type":"UNDO","payload":{"scope":"all"}}`, "payload.scope", 422},
		{`{"type":"CREATE_NODE","payload":{"id":"","name":"x","entityType":"object"}}`, "payload.id", 422}, {`{"type":"CREATE_NODE","payload":{"id":"` + id + `x","name":"x","entityType":"object"}}`, "payload.id", 422},
		{`{"type":"CREATE_EDGE","payload":{"id":"{` + id + `}","sourceId":"` + id + `","targetId":"` + id + `","relationType":"x"}}`, "payload.id", 422}, {`{"type":"CREATE_EDGE","payload":{"sourceId":"` + id + `","relationType":"x"}}`, "payload.targetId", 400},
		{`{"type":"UPDATE_EDGE","payload":{"id":"` + edge + `","relationType":""}}`, "payload.relationType", 422}, {`{"type":"UPDATE_EDGE","payload":{"id":"` + edge + `","sourceId":"` + id + `"}}`, "payload.sourceId", 400},
		{`{"type":"UNDO"} {}`, "body", 400}, {"\ufeff" + undo, "body", 400}, {`{"type":"UNDO",}`, "body", 400}, {strings.Repeat(`{"type":`, 10_000), "body", 400},
	} {
		a := w.execute(t, c.body)
		require.Equal(t, c.status, a.Status, "%s: %s", c.body, a.Body)
		a.RequireFailure(t, c.status, validation, "", map[string]any{"field": c.field})
		require.NotEmpty(t, a.Error.Details["reason"])
	}
	require.Equal(t, before, []any{w.readNode(t, id), w.readEdge(t, edge)})
	require.Equal(t, 3, *w.applied(t, updateNode(id, `"name":"b"`)).Sequence, "no sequence is used up")
}

func TestTheRoutesOfCommandsWantWhatHTTPWants(t *testing.T) {
	w := startCommands(t)
	for _, path := range []string{executePath, batchPath} {
		for _, c := range []struct {
			q      contract.Request
			status int
			field  any
		}{
			{contract.Request{Method: http.MethodPost, Path: path}, 400, "body"}, {contract.Request{Method: http.MethodPost, Path: path + "?wait=1", Body: undo}, 400, "wait"},
			{contract.Request{Method: http.MethodPost, Path: path, Body: undo, Header: map[string]string{"Content-Type": ""}}, 415, "Content-Type"},
			{contract.Request{Method: http.MethodPost, Path: path, Body: undo, Header: map[string]string{"Content-Type": "text/plain"}}, 415, "Content-Type"},
			{contract.Request{Method: http.MethodPost, Path: path, Body: undo, Header: map[string]string{"Content-Encoding": "br"}}, 415, "Content-Encoding"},
			{contract.Request{Method: http.MethodPost, Path: path, Body: undo, Header: map[string]string{"Content-Encoding": "gzip"}}, 400, "body"},
			{contract.Request{Method: http.MethodPost, Path: path, Body: undo, Workspace: "x"}, 400, "x-workspace-id"}, {contract.Request{Method: http.MethodPut, Path: path, Body: undo}, 405, "method"},
		} {
			a := w.Do(t, c.q)
			a.RequireFailure(t, c.status, validation, "", map[string]any{"field": c.field})
		}
		w.Do(t, contract.Request{Method: http.MethodPost, Path: path, Key: contract.None, Body: undo}).RequireFailure(t, 401, authentication, "Missing Authorization", nil)
	}
	requireConflict(t, w.execute(t, undo), "nothing_to_undo")
}
