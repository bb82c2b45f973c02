package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/schemas"
)

// requireOtherWorkspaceRefused requires that the first tenant's workspace refuses the second tenant's
// key with the same answer as an unknown workspace.
func (w *tenants) requireOtherWorkspaceRefused(calls []call) {
	t := w.t
	t.Helper()
	seen := map[string]bool{}
	for _, c := range calls {
		security := w.operation(c.op).Security
		public := security != nil && len(*security) == 0
		if public || c.op == "GET /api/me" || seen[c.op] || strings.Contains(c.path, "?") {
			continue
		}
		seen[c.op] = true
		answer := w.send(w.secondKey.Key, w.firstKey.workspace, c)
		require.Equal(t, http.StatusForbidden, answer.status, "%s: %s", c.op, answer.body)
		require.Contains(t, answer.body, "Workspace access denied", c.op)
		require.Equal(
			t, normalize(w.send(w.secondKey.Key, "01994d8a-0000-7000-8000-0000000000ff", c)), normalize(answer), c.op,
		)
	}
	require.Greater(t, len(seen), 25)
}

// requireOperatorsOnly requires that routes below /admin/api refuse a key.
func (w *tenants) requireOperatorsOnly() {
	t := w.t
	t.Helper()
	loader := openapi3.NewLoader()
	loader.IsExternalRefsAllowed = true
	loader.ReadFromURIFunc = func(*openapi3.Loader, *url.URL) ([]byte, error) { return bytes.Clone(schemas.OpenAPI), nil }
	doc, err := loader.LoadFromDataWithPath(bytes.Clone(schemas.Admin), &url.URL{Path: "admin.yaml"})
	require.NoError(t, err)
	paths := map[string][]string{}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			paths[path] = append(paths[path], method)
		}
	}
	for path, item := range w.doc.Paths.Map() { // the admin API repeats each route of a workspace
		for method := range item.Operations() {
			paths["/admin"+path] = append(paths["/admin"+path], method)
		}
	}
	for path, methods := range paths {
		for _, method := range methods {
			target := strings.NewReplacer(
				"{id}", w.values["workspace"], "{topic}", "points", "{partition}", "0", "{offset}", "0", "{sequence}", "1",
				"{asset}", "none",
			).Replace(path)
			c := call{op: method + " " + target, path: target, contentType: asJSON, body: `{}`}
			answer := w.send(w.secondKey.Key, w.firstKey.workspace, c)
			require.Empty(t, w.leaked(answer.text(), c.content()), "%s", c.op)
			if strings.HasPrefix(path, "/admin/api/") && c.op != "POST /admin/api/session" {
				require.Equal(t, http.StatusUnauthorized, answer.status, "%s: %s", c.op, answer.body)
			}
		}
	}
	require.Greater(t, len(paths), 40)
}

// requireNamesReusable requires that the second tenant can use the ids and names of the first.
func (w *tenants) requireNamesReusable() {
	t := w.t
	t.Helper()
	for _, c := range []call{
		{op: opSources, body: fmt.Sprintf(`{"id":%q,"name":"own"}`, w.values["source"])},
		{op: opSources, body: fmt.Sprintf(`{"name":%q}`, w.values["sourceName"])},
		{op: opSources, body: fmt.Sprintf(`{"id":%q,"name":"own deleted"}`, w.values["goneSource"])},
		{op: opSaveQuery, body: fmt.Sprintf(
			`{"id":%q,"name":"own","kind":"search","request":{"query":"own"}}`, w.values["savedQuery"],
		)},
		{op: opSaveQuery, body: fmt.Sprintf(
			`{"name":%q,"kind":"search","request":{"query":"own"}}`, w.values["savedName"],
		)},
		{op: opSaveQuery, body: fmt.Sprintf(
			`{"id":%q,"name":"own deleted","kind":"search","request":{"query":"own"}}`, w.values["goneQuery"],
		)},
		{op: opExecute, body: fmt.Sprintf(
			`{"type":"CREATE_NODE","payload":{"id":%q,"name":"own","entityType":"object"}}`, w.values["node"],
		)},
		{op: opExecute, body: fmt.Sprintf(
			`{"type":"CREATE_NODE","payload":{"id":%q,"name":"own","entityType":"object"}}`, w.values["gone"],
		)},
		{op: opExecute, body: fmt.Sprintf(
			`{"type":"CREATE_EDGE","payload":{"id":%q,"sourceId":%q,"targetId":%q,"relationType":"r"}}`, w.values["edge"],
			w.values["node"], w.values["gone"],
		)},
	} {
		c.contentType, c.path = asJSON, strings.TrimPrefix(c.op, "POST ")
		answer := w.send(w.secondKey.Key, w.secondKey.workspace, c)
		require.Equal(t, http.StatusCreated, answer.status, "%s %s", c.body, answer.body)
		require.Empty(t, w.leaked(answer.text(), c.body), "%s", c.body)
	}
	for _, kind := range []string{"node", "gone", "edge", "source", "goneSource", "savedQuery", "goneQuery"} {
		delete(w.ids, w.values[kind]) // the second tenant now has this id, too
	}
	// The second tenant reads its own resources.
	for _, path := range []string{"queries/nodes/" + w.values["node"], "queries/nodes/" + w.values["node"] + "/neighbors",
		"queries/counts", "queries/subgraph?depth=3&nodeId=" + w.values["node"],
		"queries/paths?from=" + w.values["node"] + "&to=" + w.values["gone"],
		"queries/edges/" + w.values["edge"], "queries/history?nodeId=" + w.values["node"],
		"live-data/sources/" + w.values["source"], "live-data/query?from=-2h&sourceId=" + w.values["source"],
		"live-data/series?sourceId=" + w.values["source"], "rag/queries/" + w.values["savedQuery"]} {
		c := call{op: "GET /api/" + path, path: "/api/" + path}
		answer := w.send(w.secondKey.Key, w.secondKey.workspace, c)
		require.Equal(t, http.StatusOK, answer.status, "%s %s", path, answer.body)
		require.Empty(t, w.leaked(answer.text(), c.path), "%s", path)
	}
}

// requireIdempotencyIsolated requires that the first tenant's idempotency keys have no effect in the
// second's workspace, for the shared key too.
func (w *tenants) requireIdempotencyIsolated() {
	t := w.t
	t.Helper()
	for op, body := range map[string]string{
		opSources: `{"name":"own-repeated-%s"}`, opIngest: `{"points":[{"source":"own-lines","metric":"m-%s","value":1}]}`,
		opExecute: `{"type":"CREATE_NODE","payload":{"name":"own-repeated-%s","entityType":"object"}}`,
		opBatch:   `{"commands":[{"type":"CREATE_NODE","payload":{"name":"own-repeated-%s","entityType":"object"}}]}`,
	} {
		for key, as := range map[string]createdKey{
			w.values["idempotency "+op]: w.secondKey, w.values["shared "+op]: w.sharedKey,
		} {
			require.NotEmpty(t, key, op)
			c := call{
				op: op, path: strings.TrimPrefix(op, "POST "), contentType: asJSON, body: fmt.Sprintf(body, as.ID),
				header: map[string]string{"Idempotency-Key": key},
			}
			answer := w.send(as.Key, as.workspace, c)
			require.Contains(t, []int{http.StatusOK, http.StatusCreated}, answer.status, "%s: %s", op, answer.body)
			require.Empty(t, answer.header.Get("Idempotent-Replayed"), op)
			require.Empty(t, w.leaked(answer.text(), c.content()), "%s", op)
		}
	}
}
