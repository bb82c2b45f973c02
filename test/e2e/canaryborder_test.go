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

// requireOutsideRefused: the second tenant's key opens nothing of the first, and is told
// what it is told of a workspace that there is not.
func (w *tenants) requireOutsideRefused(calls []call) {
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
		answer := w.say(w.mine.Key, w.theirs.workspace, c)
		require.Equal(t, http.StatusForbidden, answer.status, "%s: %s", c.op, answer.body)
		require.Contains(t, answer.body, "Workspace access denied", c.op)
		require.Equal(t, plain(w.say(w.mine.Key, "01994d8a-0000-7000-8000-0000000000ff", c)), plain(answer), c.op)
	}
	require.Greater(t, len(seen), 25)
}

// requireOperatorsOnly: below /admin there is nothing for a key.
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
	for path, item := range w.doc.Paths.Map() { // each route of a workspace is there once more
		for method := range item.Operations() {
			paths["/admin"+path] = append(paths["/admin"+path], method)
		}
	}
	for path, methods := range paths {
		for _, method := range methods {
			at := strings.NewReplacer(
				"{id}", w.pick["workspace"], "{topic}", "points", "{partition}", "0", "{offset}", "0", "{sequence}", "1", "{asset}",
				"none",
			).Replace(path)
			c := call{op: method + " " + at, path: at, kind: asJSON, body: `{}`}
			answer := w.say(w.mine.Key, w.theirs.workspace, c)
			require.Empty(t, w.foreign(answer.text(), c.asked()), "%s", c.op)
			if strings.HasPrefix(path, "/admin/api/") && c.op != "POST /admin/api/session" {
				require.Equal(t, http.StatusUnauthorized, answer.status, "%s: %s", c.op, answer.body)
			}
		}
	}
	require.Greater(t, len(paths), 40)
}

// requireFreeNames: what the first tenant has called something is free for the second.
func (w *tenants) requireFreeNames() {
	t := w.t
	t.Helper()
	for _, c := range []call{
		{op: opSources, body: fmt.Sprintf(`{"id":%q,"name":"own"}`, w.pick["source"])},
		{op: opSources, body: fmt.Sprintf(`{"name":%q}`, w.pick["sourceName"])},
		{op: opSources, body: fmt.Sprintf(`{"id":%q,"name":"own deleted"}`, w.pick["goneSource"])},
		{op: opExecute, body: fmt.Sprintf(
			`{"type":"CREATE_NODE","payload":{"id":%q,"name":"own","entityType":"object"}}`, w.pick["node"],
		)},
		{op: opExecute, body: fmt.Sprintf(
			`{"type":"CREATE_NODE","payload":{"id":%q,"name":"own","entityType":"object"}}`, w.pick["gone"],
		)},
		{op: opExecute, body: fmt.Sprintf(
			`{"type":"CREATE_EDGE","payload":{"id":%q,"sourceId":%q,"targetId":%q,"relationType":"r"}}`, w.pick["edge"],
			w.pick["node"], w.pick["gone"],
		)},
	} {
		c.kind, c.path = asJSON, strings.TrimPrefix(c.op, "POST ")
		answer := w.say(w.mine.Key, w.mine.workspace, c)
		require.Equal(t, http.StatusCreated, answer.status, "%s %s", c.body, answer.body)
		require.Empty(t, w.foreign(answer.text(), c.body), "%s", c.body)
	}
	for _, kind := range []string{"node", "gone", "edge", "source", "goneSource"} {
		delete(w.ids, w.pick[kind]) // it is the second's as well by now
	}
	// The second tenant is shown its own.
	for _, path := range []string{"queries/nodes/" + w.pick["node"], "queries/nodes/" + w.pick["node"] + "/neighbors",
		"queries/edges/" + w.pick["edge"], "queries/history?nodeId=" + w.pick["node"],
		"live-data/sources/" + w.pick["source"], "live-data/query?from=-2h&sourceId=" + w.pick["source"],
		"live-data/series?sourceId=" + w.pick["source"]} {
		c := call{op: "GET /api/" + path, path: "/api/" + path}
		answer := w.say(w.mine.Key, w.mine.workspace, c)
		require.Equal(t, http.StatusOK, answer.status, "%s %s", path, answer.body)
		require.Empty(t, w.foreign(answer.text(), c.path), "%s", path)
	}
}

// requireOwnIdempotency: the first tenant's idempotency keys are nobody's in the
// second's workspace, also to the key that opens both.
func (w *tenants) requireOwnIdempotency() {
	t := w.t
	t.Helper()
	for op, body := range map[string]string{
		opSources: `{"name":"own-repeated-%s"}`, opIngest: `{"points":[{"source":"own-lines","metric":"m-%s","value":1}]}`,
		opExecute: `{"type":"CREATE_NODE","payload":{"name":"own-repeated-%s","entityType":"object"}}`,
		opBatch:   `{"commands":[{"type":"CREATE_NODE","payload":{"name":"own-repeated-%s","entityType":"object"}}]}`,
	} {
		for key, as := range map[string]made{w.pick["idempotency "+op]: w.mine, w.pick["shared "+op]: w.both} {
			require.NotEmpty(t, key, op)
			c := call{
				op: op, path: strings.TrimPrefix(op, "POST "), kind: asJSON, body: fmt.Sprintf(body, as.ID),
				header: map[string]string{"Idempotency-Key": key},
			}
			answer := w.say(as.Key, as.workspace, c)
			require.Contains(t, []int{http.StatusOK, http.StatusCreated}, answer.status, "%s: %s", op, answer.body)
			require.Empty(t, answer.header.Get("Idempotent-Replayed"), op)
			require.Empty(t, w.foreign(answer.text(), c.asked()), "%s", op)
		}
	}
}
