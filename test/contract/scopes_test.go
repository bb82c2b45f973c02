package contract_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/test/contract"
)

// needs are the scopes that a route requires: one of any, and each of all.
type needs struct{ any, all []request.Scope }

// met reports whether scopes are sufficient. Admin always is.
func (n needs) met(scopes ...request.Scope) bool {
	has := func(s request.Scope) bool {
		return slices.Contains(scopes, s) || slices.Contains(scopes, request.Admin)
	}
	return (len(n.any) == 0 || slices.ContainsFunc(n.any, has)) && !slices.ContainsFunc(n.all, func(s request.Scope) bool {
		return !has(s)
	})
}

// required returns the scopes that a refusal names.
func (n needs) required() (list []any) {
	for _, s := range slices.Concat(n.any, n.all) {
		list = append(list, string(s))
	}
	return list
}

// scopesOfRoutes returns the scopes that the published contract promises, not those that
// routes declare: a route that declares other scopes, or is missing here, fails the test.
func scopesOfRoutes() map[string]needs {
	one := func(scope request.Scope) needs { return needs{all: []request.Scope{scope}} }
	both := needs{all: []request.Scope{request.ReadNodes, request.ReadEdges}}
	writes := needs{any: []request.Scope{request.WriteNodes, request.WriteEdges}}
	writeBoth := needs{all: []request.Scope{request.WriteNodes, request.WriteEdges}}
	readNodes, readEdges, admin := one(request.ReadNodes), one(request.ReadEdges), one(request.Admin)
	writeNodes := one(request.WriteNodes)
	readLive, writeLive := one(request.ReadLiveData), one(request.WriteLiveData)
	liveBoth := needs{all: []request.Scope{request.ReadLiveData, request.WriteLiveData}}
	return map[string]needs{
		"GET /api/queries/nodes":                     readNodes,
		"GET /api/queries/nodes/{id}":                readNodes,
		"GET /api/queries/edges":                     readEdges,
		"GET /api/queries/edges/{id}":                readEdges,
		"GET /api/queries/nodes/{id}/neighbors":      both,
		"GET /api/queries/paths":                     both,
		"GET /api/queries/subgraph":                  both,
		"POST /api/queries/patterns":                 both,
		"GET /api/queries/counts":                    {any: []request.Scope{request.ReadNodes, request.ReadEdges}},
		"GET /api/queries/history":                   both,
		"GET /api/queries/history/{sequence}/edges":  both,
		"GET /api/queries/events":                    both,
		"POST /api/commands/execute":                 writes, // and then the scope of the command
		"POST /api/commands/batch":                   writes,
		"GET /api/commands/{id}":                     writes,
		"GET /api/live-data/sources":                 readLive,
		"GET /api/live-data/sources/{id}":            readLive,
		"GET /api/live-data/query":                   readLive,
		"GET /api/live-data/series":                  readLive,
		"GET /api/live-data/stream":                  readLive,
		"POST /api/live-data/sources":                writeLive,
		"PATCH /api/live-data/sources/{id}":          writeLive,
		"POST /api/live-data/ingest":                 writeLive,
		"POST /api/v1/write":                         writeLive,
		"POST /api/v2/write":                         writeLive,
		"POST /write":                                writeLive,
		"DELETE /api/live-data/sources/{id}":         admin,
		"DELETE /api/live-data/points":               admin,
		"POST /api/rag/search":                       readNodes,
		"POST /api/rag/hybrid-search":                both, // and read:livedata for live values
		"POST /api/rag/answer":                       both, // and read:livedata for live values
		"GET /api/rag/queries":                       readNodes,
		"POST /api/rag/queries":                      writeNodes,
		"GET /api/rag/queries/{id}":                  readNodes,
		"PATCH /api/rag/queries/{id}":                writeNodes,
		"DELETE /api/rag/queries/{id}":               writeNodes,
		"POST /api/rag/queries/{id}/run":             readNodes, // and those of the kind's route
		"GET /api/rag/index/status":                  readNodes,
		"GET /prometheus/api/v1/query":               readLive,
		"POST /prometheus/api/v1/query":              readLive,
		"GET /prometheus/api/v1/query_range":         readLive,
		"POST /prometheus/api/v1/query_range":        readLive,
		"GET /prometheus/api/v1/series":              readLive,
		"POST /prometheus/api/v1/series":             readLive,
		"GET /prometheus/api/v1/labels":              readLive,
		"POST /prometheus/api/v1/labels":             readLive,
		"GET /prometheus/api/v1/query_exemplars":     readLive,
		"POST /prometheus/api/v1/query_exemplars":    readLive,
		"GET /prometheus/api/v1/format_query":        readLive,
		"POST /prometheus/api/v1/format_query":       readLive,
		"GET /prometheus/api/v1/metadata":            readLive,
		"GET /prometheus/api/v1/status/buildinfo":    readLive,
		"GET /prometheus/api/v1/label/{name}/values": readLive,
		"POST /prometheus/api/v1/read":               readLive,
		"GET /prometheus/api/v1/rules":               readLive,
		"GET /prometheus/api/v1/alerts":              readLive,
		"GET /api/rules":                             readLive,
		"GET /api/rules/{name}":                      readLive,
		"PUT /api/rules/{name}":                      liveBoth,
		"DELETE /api/rules/{name}":                   liveBoth,
		"GET /api/alerts":                            readLive,
		"GET /api/alertmanagers":                     admin,
		"PUT /api/alertmanagers":                     admin,
		"GET /api/admin/audit":                       admin,
		"GET /api/admin/usage":                       admin,
		"POST /api/admin/nodes/{id}/purge":           admin,
		"POST /api/admin/reindex":                    admin,
		"POST /v1/metrics":                           writeLive,
		"POST /mcp":                                  {any: request.Scopes}, // and then those of the tools' routes
		"GET /api/documents":                         readNodes,
		"GET /api/documents/{id}":                    readNodes,
		"POST /api/documents":                        writeBoth,
		"DELETE /api/documents/{id}":                 writeBoth,

		"GET /api/analyses":                                         both,
		"POST /api/analyses":                                        both, // and write:nodes to write the results
		"GET /api/analyses/{id}":                                    both,
		"POST /api/analyses/{id}/cancel":                            both, // and write:nodes to write the results
		"GET /api/webhooks":                                         admin,
		"POST /api/webhooks":                                        admin,
		"GET /api/webhooks/{id}":                                    admin,
		"PATCH /api/webhooks/{id}":                                  admin,
		"DELETE /api/webhooks/{id}":                                 admin,
		"POST /api/webhooks/{id}/roll-secret":                       admin,
		"POST /api/webhooks/{id}/test":                              admin,
		"GET /api/webhooks/{id}/deliveries":                         admin,
		"POST /api/webhooks/{id}/deliveries/{deliveryId}/redeliver": admin,
	}
}

// sameScopes checks that a route declares the promised scopes.
func sameScopes(t *testing.T, rt route.Route, want needs) {
	t.Helper()
	declared := needs{any: rt.Scopes}
	if rt.RequireAllScopes || len(rt.Scopes) == 1 {
		declared = needs{all: rt.Scopes}
	}
	require.Equal(t, want, declared, "%s %s", rt.Method, rt.Pattern)
}

// Every route of the API with every scope: a sufficient scope passes; any other scope, and
// none at all, is refused with the sufficient ones.
func TestEachRouteRequiresItsScope(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, groups()...)
	keys := map[request.Scope]string{}
	for _, scope := range request.Scopes {
		keys[scope] = s.NewKey(t, []uuid.UUID{s.Workspace}, scope)
	}
	none, other := s.NewKey(t, []uuid.UUID{s.Workspace}), s.NewWorkspace(t, "live")
	promised := scopesOfRoutes()
	tried := 0
	for _, rt := range s.API.Routes() {
		if rt.Access != route.Workspace {
			continue
		}
		name := rt.Method + " " + rt.Pattern
		want, known := promised[name]
		require.True(t, known, "%s: no scopes are promised", name)
		sameScopes(t, rt, want)
		tried++
		path := strings.NewReplacer("{id}", uuid.NewString(), "{sequence}", "1", "{name}", "job").Replace(rt.Pattern)
		for scope, key := range keys {
			if !want.met(scope) {
				requireForbidden(t, s, rt.Method, path, key, want)
				continue
			}
			status := requestStatus(t, s, rt, path, key)
			require.NotContains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, status, "%s with %s", name, scope)
		}
		requireForbidden(t, s, rt.Method, path, none, want)
		if enough := slices.Concat(want.any, want.all); len(enough) > 1 {
			status := requestStatus(t, s, rt, path, s.NewKey(t, []uuid.UUID{s.Workspace}, enough...))
			require.NotEqual(t, http.StatusForbidden, status, name)
		}
		// A scope does not apply in a workspace that the key has no access to.
		code := authorization
		if isPrometheus(path) {
			code = "forbidden"
		}
		s.Do(t, contract.Request{Method: rt.Method, Path: path, Key: keys[request.Admin], Workspace: other.String()}).
			RequireFailure(t, 403, code, "Workspace access denied", nil)
	}
	require.Len(t, promised, tried, "a promised route is not served")
}

// isPrometheus reports whether a path is of the API of Prometheus, which has other errors.
func isPrometheus(path string) bool { return strings.HasPrefix(path, "/prometheus/") }

func requireForbidden(t *testing.T, s *contract.Server, method, path, key string, want needs) {
	t.Helper()
	a := s.Do(t, contract.Request{Method: method, Path: path, Key: key})
	if isPrometheus(path) {
		a.RequireFailure(t, 403, "forbidden", "Forbidden", nil)
		return
	}
	a.RequireFailure(t, 403, authorization, "Forbidden", map[string]any{"required": want.required()})
}

// requestStatus returns the status of a request whose scopes are sufficient, whatever else is
// wrong with it. Streams are closed after their header.
func requestStatus(t *testing.T, s *contract.Server, rt route.Route, path, key string) int {
	t.Helper()
	if !rt.Streaming {
		return s.Do(t, contract.Request{Method: rt.Method, Path: path, Key: key}).Status
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, rt.Method, s.URL+path, nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("x-workspace-id", s.Workspace.String())
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(answer.Body)
		require.Equal(t, http.StatusOK, answer.StatusCode, "%s", body)
	}
	return answer.StatusCode
}

// Every key, with or without scopes, may read its own description.
func TestWhoAmIRequiresNoScope(t *testing.T) {
	t.Parallel()
	s := contract.Start(t)
	for _, scopes := range append([][]request.Scope{nil}, [][]request.Scope{request.Scopes[:1], request.Scopes}...) {
		key := s.NewKey(t, []uuid.UUID{s.Workspace}, scopes...)
		require.Equal(t, http.StatusOK, s.Do(t, contract.Request{Path: "/api/me", Key: key, Workspace: contract.None}).Status)
	}
}

// Every command with every scope: the required scope depends on what the command does.
func TestEachCommandRequiresItsScope(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, (&contract.Commands{}).Group)
	keys := map[request.Scope]string{}
	for _, scope := range request.Scopes {
		keys[scope] = s.NewKey(t, []uuid.UUID{s.Workspace}, scope)
	}
	id := uuid.NewString()
	nodes, edges := []request.Scope{request.WriteNodes}, []request.Scope{request.WriteEdges}
	either := slices.Concat(nodes, edges)
	for _, c := range []struct {
		kind, payload string
		enough        []request.Scope
	}{
		{"CREATE_NODE", `{"name":"n","entityType":"object"}`, nodes},
		{"UPDATE_NODE", `{"id":"` + id + `","name":"n"}`, nodes},
		{"DELETE_NODE", `{"id":"` + id + `"}`, nodes},
		{"CREATE_EDGE", `{"sourceId":"` + id + `","targetId":"` + id + `","relationType":"r"}`, edges},
		{"UPDATE_EDGE", `{"id":"` + id + `","relationType":"r"}`, edges},
		{"DELETE_EDGE", `{"id":"` + id + `"}`, edges},
		{"UPSERT_NODE", `{"key":{"serial":"a"},"entityType":"object"}`, nodes},
		{"UPSERT_EDGE", `{"sourceId":"` + id + `","targetId":"` + id + `","relationType":"r"}`, edges},
		{"REDO", `{}`, either},
		{"UNDO", `{"commandId":"` + id + `"}`, either},
	} {
		command := fmt.Sprintf(`{"type":%q,"payload":%s}`, c.kind, c.payload)
		for scope, key := range keys {
			bodies := map[string]string{"/api/commands/execute": command}
			if len(c.enough) == 1 { // UNDO and REDO are not allowed in batches
				bodies["/api/commands/batch"] = `{"commands":[` + command + `]}`
			}
			for path, body := range bodies {
				a := s.Do(t, contract.Request{Method: http.MethodPost, Path: path, Key: key, Body: body})
				if scope == request.Admin || slices.Contains(c.enough, scope) {
					require.Contains(t, []int{200, 201, 404, 409}, a.Status, "%s with %s: %s", c.kind, scope, a.Body)
					continue
				}
				required := needs{any: c.enough}.required()
				if !slices.Contains(either, scope) { // refused before the body is read
					required = needs{any: either}.required()
				}
				a.RequireFailure(t, 403, authorization, "Forbidden", map[string]any{"required": required})
			}
		}
	}
}
