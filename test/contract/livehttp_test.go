package contract_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/test/contract"
)

const sourcesPath = "/api/live-data/sources"

// liveRoutes returns requests to all routes of live data, with a valid body if one is required.
func liveRoutes(made source) []contract.Request {
	return []contract.Request{
		{Method: "GET", Path: sourcesPath}, {Method: "GET", Path: sourcesPath + "/" + made.ID},
		{Method: "GET", Path: "/api/live-data/query"}, {Method: "GET", Path: "/api/live-data/series"},
		{Method: "POST", Path: sourcesPath, Body: `{"name":"another"}`},
		{Method: "PATCH", Path: sourcesPath + "/" + made.ID, Body: `{"name":"changed"}`},
		{Method: "POST", Path: ingestPath, Body: `{"points":[{"sourceId":"` + made.ID + `","metric":"m","value":1}]}`},
		{Method: "DELETE", Path: sourcesPath + "/" + made.ID},
	}
}

// requireUnchanged checks that only the source made exists, as it was created.
func (l *live) requireUnchanged(t *testing.T, made source) {
	t.Helper()
	var list []source
	require.EqualValues(t, 1, l.Get(t, sourcesPath, &list).Meta.Total)
	require.Equal(t, made, list[0])
	require.EqualValues(t, 0, l.Get(t, "/api/live-data/series", &[]any{}).Meta.Total)
}

func TestLiveDataHasItsPathsAndNoOthers(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	made := l.createSource(t, `{"name":"boiler"}`)
	for _, path := range []string{
		"/api/live-data", "/api/live-data/", "/api/live-data/unknown", "/api/live-data/sources/", "/api/live-data//sources",
		"/api/live-data/Sources", "/api/Live-Data/sources",
		"/api/live-data/sources/" + made.ID + "/", "/api/live-data/sources/" + made.ID + "/x", "/api/live-data%2fsources",
		"/api/live-data/sources%2f" + made.ID, "/api/live-data/sources%5c" + made.ID,
		"/api/live-data/../live-data/sources", "/api/live-data/./sources", "/api/live-data/%2e/sources",
		"/api/live-data/sources/../sources", "/api/live-data/sources;x=1", "/api/live-data/sources%00",
		"/api/live-data/sources%ff", "/api/live-data/sources%20", "/api/live-data/%73ources", "/api/live-data/sources.json",
		"/api/live-data/query/", "/api/live-data/ingest/x", "/api/live-data/series/1",
		"/api/v1", "/api/v1/write/", "/api/v2",
	} {
		for _, method := range []string{"GET", "DELETE"} {
			l.Do(t, contract.Request{Method: method, Path: path}).RequireFailure(t, 404, "NOT_FOUND", "No such path", nil)
			l.Do(t, contract.Request{
				Method: method, Path: path, Key: contract.None,
			}).RequireFailure(t, 401, authentication, "Missing Authorization", nil)
		}
	}
	l.requireUnchanged(t, made)
}

func TestLiveDataReportsItsMethods(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	made := l.createSource(t, `{"name":"boiler"}`)
	for path, allow := range map[string]string{
		sourcesPath: "GET, HEAD, OPTIONS, POST", sourcesPath + "/" + made.ID: "DELETE, GET, HEAD, OPTIONS, PATCH",
		sourcesPath + "/x":     "DELETE, GET, HEAD, OPTIONS, PATCH",
		"/api/live-data/query": "GET, HEAD, OPTIONS", "/api/live-data/series": "GET, HEAD, OPTIONS",
		ingestPath: "OPTIONS, POST",
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW", "get"} {
			if strings.Contains(allow, method) {
				continue
			}
			do, body := l.Do, "{}"
			if method == "HEAD" {
				do, body = l.DoUnchecked, ""
			}
			a := do(t, contract.Request{
				Method: method, Path: path, Body: body, Header: map[string]string{"X-HTTP-Method-Override": "GET"},
			})
			require.Equal(t, http.StatusMethodNotAllowed, a.Status, "%s %s", method, path)
			require.Equal(t, allow, a.Header.Get("Allow"))
			if method != "HEAD" {
				a.RequireFailure(t, 405, validation, "", map[string]any{"field": "method"})
			}
		}
		a := l.DoUnchecked(t, contract.Request{Method: "OPTIONS", Path: path})
		require.Equal(t, http.StatusNoContent, a.Status)
		require.Empty(t, a.Body)
		require.Equal(t, allow, a.Header.Get("Allow"))
	}
	l.requireUnchanged(t, made)
	for _, q := range liveRoutes(made)[:4] {
		got, head := l.Do(t, q), l.Do(t, contract.Request{Method: "HEAD", Path: q.Path})
		require.Equal(t, http.StatusOK, head.Status, q.Path)
		require.Empty(t, head.Body)
		for _, name := range []string{"Content-Type", "Etag"} {
			require.Equal(t, got.Header.Get(name), head.Header.Get(name), name)
		}
		for query, status := range map[string]int{"?unknown=1": 400, "?%ff=1": 400} {
			require.Equal(t, status, l.Do(t, contract.Request{Method: "HEAD", Path: q.Path + query}).Status, q.Path)
		}
	}
}

func TestEachLiveDataRouteRequiresKeyAndWorkspace(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	made := l.createSource(t, `{"name":"boiler"}`)
	other, sandbox := l.NewWorkspace(t, apikey.Live), l.NewWorkspace(t, apikey.Test)
	reader := l.NewKey(t, []uuid.UUID{other}, request.Admin)
	for _, route := range liveRoutes(made) {
		try := func(change func(q *contract.Request)) *contract.Answer {
			q := route
			change(&q)
			return l.Do(t, q)
		}
		try(func(q *contract.Request) {
			q.Key = contract.None
		}).RequireFailure(t, 401, authentication, "Missing Authorization", nil)
		try(func(q *contract.Request) {
			q.Key = apikey.Generate(apikey.Live).Reveal()
		}).RequireFailure(t, 401, authentication, "Unauthorized", nil)
		for _, name := range []string{"key", "Authorization", "access_token", "x-workspace-id", "token"} {
			try(func(q *contract.Request) {
				q.Key, q.Path = contract.None, q.Path+"?"+name+"="+l.Admin
			}).RequireFailure(t, 401, authentication, "Missing Authorization", nil)
		}
		try(func(q *contract.Request) {
			q.Workspace, q.Path = contract.None, q.Path+"?x-workspace-id="+l.Workspace.String()
		}).
			RequireFailure(t, 400, validation, "", map[string]any{"field": "x-workspace-id", "reason": "is required"})
		for _, text := range []string{
			"x", "{" + l.Workspace.String() + "}", strings.ReplaceAll(l.Workspace.String(), "-", ""),
			l.Workspace.String() + " " + l.Workspace.String(), strings.Repeat("a", 10_000), "' OR 1=1 --",
		} {
			try(func(q *contract.Request) {
				q.Workspace = text
			}).RequireFailure(t, 400, validation, "", map[string]any{"field": "x-workspace-id", "reason": "must be one UUID"})
		}
		for _, workspace := range []uuid.UUID{other, sandbox, uuid.New(), {}} {
			a := try(func(q *contract.Request) { q.Workspace = workspace.String() })
			a.RequireFailure(t, 403, authorization, "Workspace access denied", nil)
			require.Empty(t, a.Error.Details)
		}
		try(func(q *contract.Request) {
			q.Key = reader
		}).RequireFailure(t, 403, authorization, "Workspace access denied", nil)
		a := try(func(q *contract.Request) { q.Path += "?unknown=1" })
		a.RequireFailure(t, 400, validation, "", map[string]any{
			"field": "unknown", "reason": "is not a parameter of this route",
		})
	}
	l.requireUnchanged(t, made)
}

// Headers that must occur once are refused if they occur twice, even with the same
// value: two readers might use different ones.
func TestHeadersOfTheCallerAreSentOnce(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	other := s.NewKey(t, []uuid.UUID{s.Workspace}, request.Admin)
	for name, c := range map[string]struct {
		headers string
		status  int
	}{
		"the same key twice":       {"Authorization: Bearer " + s.Admin + "\r\n", 401},
		"two keys":                 {"Authorization: Bearer " + other + "\r\n", 401},
		"an empty one":             {"Authorization:\r\n", 401},
		"another case of the name": {"AUTHORIZATION: Bearer " + other + "\r\n", 401},
		"the workspace twice":      {"X-Workspace-Id: " + s.Workspace.String() + "\r\n", 400},
		"two workspaces":           {"x-workspace-id: " + uuid.NewString() + "\r\n", 400},
		"a name with underscores":  {"X_Workspace_Id: " + uuid.NewString() + "\r\n", 200},
		"another header": {
			"X-Api-Key: " + other + "\r\nProxy-Authorization: Bearer x\r\nCookie: session=x\r\n", 200,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := dial(t, s)
			w.send(w.head("GET", "/api/test/items") + c.headers + "\r\n")
			status, _, _ := w.receive()
			require.Equal(t, c.status, status)
			w.send(w.head("GET", "/api/test/items") + "\r\n")
			status, _, _ = w.receive()
			require.Equal(t, 200, status)
		})
	}
	w := dial(t, s)
	for header, want := range map[string]int{
		// white space around a value is ignored
		"Bearer " + s.Admin + "\t": 200, "\tBearer " + s.Admin: 200, "bEaReR " + s.Admin: 200,
		"Bearer \t" + s.Admin: 401, "Bearer\u00a0" + s.Admin: 401, "Bearer " + s.Admin + "\x0b": 400,
		"Bearer " + s.Admin + "\x00": 400, "Bearer " + s.Admin + "%20": 401, "Bearer =" + s.Admin: 401,
	} {
		w.send("GET /api/me HTTP/1.1\r\nHost: x\r\nAuthorization: " + header + "\r\n\r\n")
		status, _, response := w.receive()
		require.Equal(t, want, status, "%q", header)
		if response.Close {
			w = dial(t, s)
		}
	}
}
