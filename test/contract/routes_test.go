package contract_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/test/contract"
)

func TestTheRoutesAndTheContractAreTheSame(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, groups()...)
	documented := s.ContractOperations()
	served := map[string]bool{}
	for _, rt := range s.API.Routes() {
		name := rt.Method + " " + rt.PathPattern()
		served[name] = true
		operation := documented[name]
		require.NotNil(t, operation, "%s is served but not in the contract", name)
		public := operation.Security != nil && len(*operation.Security) == 0
		require.Equal(t, rt.Access == route.Public, public, "%s: does it need a key?", name)
		statuses := operation.Responses.Map()
		if rt.Access != route.Public {
			for _, status := range []string{"400", "401", "413", "429", "500", "503"} {
				require.Contains(t, statuses, status, name)
			}
		}
		if rt.Access == route.Workspace {
			require.Contains(t, statuses, "403", name)
			for status, response := range statuses {
				if status[0] == '2' {
					require.Contains(t, response.Value.Headers, "X-RateLimit-Limit", "%s %s", name, status)
					require.Contains(t, response.Value.Headers, "RateLimit-Policy", "%s %s", name, status)
				}
			}
			require.True(t, slices.ContainsFunc(operation.Parameters, isWorkspaceHeader(t)), "%s: x-workspace-id", name)
		}
		if operation.RequestBody != nil && rt.Dialect == nil {
			require.Contains(t, statuses, "415", name)
			// Remote write has no 422: its specification requires 400.
			require.Equal(t, name != "POST /api/v1/write", statuses["422"] != nil, name)
		}
	}
	for name := range documented {
		require.True(t, served[name], "%s is in the contract but not served", name)
	}
}

func TestRequestsThatWriteAreHeldApartFromOthers(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, groups()...)
	of := map[route.Work][]string{}
	for _, rt := range s.API.Routes() {
		of[rt.Work] = append(of[rt.Work], rt.Method+" "+rt.Pattern)
	}
	require.ElementsMatch(t, []string{
		"POST /api/live-data/ingest", "POST /api/v1/write", "POST /api/v2/write", "POST /write",
		"POST /v1/metrics",
	}, of[route.WritesPoints])
	require.ElementsMatch(t, []string{
		"POST /api/commands/execute", "POST /api/commands/batch", "POST /api/documents", "DELETE /api/documents/{id}",
	}, of[route.ChangesGraph])
}

func TestTheContractAndItsPageNeedNoKeyAndNoInternet(t *testing.T) {
	t.Parallel()
	s := contract.Start(t)
	public := contract.Request{Key: contract.None, Workspace: contract.None}
	get := func(path string) *contract.Answer {
		q := public
		q.Path = path
		a := s.Do(t, q)
		require.Equal(t, http.StatusOK, a.Status, path)
		return a
	}
	page := get("/api/docs")
	require.Contains(t, page.Header.Get("Content-Security-Policy"), "default-src 'none'")
	require.NotContains(t, string(page.Body), "http://")
	require.NotContains(t, string(page.Body), "https://")
	for _, asset := range []string{"swagger-ui.css", "swagger-ui-bundle.js", "init.js", "favicon-32x32.png"} {
		require.Greater(t, len(get("/api/docs/"+asset).Body), 200, asset)
		require.Contains(t, string(page.Body)+"init.js", asset)
	}
	require.Contains(t, string(get("/api/openapi.yaml").Body), "openapi: 3.0.3")

	for _, path := range []string{
		"/api/docs/none.js", "/api/docs/", "/api/docs/../me", "/api/docs/%2e%2e/me", "/api/docs/embed.go",
	} {
		q := public
		q.Path = path
		require.Equal(t, http.StatusNotFound, s.DoUnchecked(t, q).Status, path)
	}
}

func TestAnUnchangedContractIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := contract.Start(t)
	first := s.Do(t, contract.Request{Path: "/api/openapi.yaml"})
	tag := first.Header.Get("ETag")
	require.NotEmpty(t, tag)
	for header, status := range map[string]int{
		tag: http.StatusNotModified, `"x", ` + tag: http.StatusNotModified, "*": http.StatusNotModified,
		`W/"x"`: http.StatusOK,
	} {
		a := s.Do(t, contract.Request{Path: "/api/openapi.yaml", Header: map[string]string{"If-None-Match": header}})
		require.Equal(t, status, a.Status, header)
	}
}

func TestProbesAreOnlyAStatus(t *testing.T) {
	t.Parallel()
	s := contract.Start(t)
	for path, body := range map[string]string{"/healthz": `{"status":"ok"}`, "/readyz": `{"status":"ready"}`} {
		a := s.Do(t, contract.Request{Path: path, Key: contract.None, Workspace: contract.None})
		require.Equal(t, http.StatusOK, a.Status)
		require.Equal(t, body, string(a.Body))
	}
}
