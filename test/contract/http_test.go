package contract_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

func TestUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	for _, path := range []string{
		"/api", "/api/", "/api/unknown", "/api/me/", "/api/me/x", "/api//me", "/api/ME", "/api/test/items/", "/api/../me",
		"/api/test/%2e%2e/me", "/api/me%00", "/api/me%ff", "/api/me%2f", "/api%2fme", "/%61pi/me", "/api/me;x=1", "/unknown",
		"/", "/api\\me",
	} {
		a := s.Do(t, contract.Request{Path: path})
		a.RequireFailure(t, 404, "NOT_FOUND", "No such path", nil)
	}
	for path, allow := range map[string]string{
		"/api/me": "GET, HEAD, OPTIONS", "/api/test/echo": "OPTIONS, POST", "/healthz": "GET, HEAD, OPTIONS",
	} {
		for _, method := range []string{"DELETE", "PUT", "PATCH", "TRACE", "BREW", "get"} {
			a := s.DoUnchecked(t, contract.Request{Method: method, Path: path})
			a.RequireFailure(t, 405, validation, "", map[string]any{"field": "method"})
			require.Equal(t, allow, a.Header.Get("Allow"))
		}
		a := s.DoUnchecked(t, contract.Request{Method: "OPTIONS", Path: path})
		require.Equal(t, http.StatusNoContent, a.Status)
		require.Equal(t, allow, a.Header.Get("Allow"))
		require.NotEmpty(t, a.Header.Get("X-Request-Id"))
	}
}

func TestIdsThatAreNoUUIDsAreNotFound(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	id := uuid.NewString()
	for _, bad := range []string{"x", "0", "{" + id + "}", "urn:uuid:" + id, strings.ReplaceAll(id, "-", ""), id + "0",
		"%20" + id, id + "%00", "..%2f" + id, "%ff", strings.Repeat("a", 10_000), "%E2%80%AE" + id, "'%20OR%201=1",
		"%3Cscript%3E"} {
		s.DoUnchecked(t, contract.Request{
			Path: "/api/test/items/" + bad,
		}).RequireFailure(t, 404, "NOT_FOUND", "No such item", nil)
	}
	a := s.DoUnchecked(t, contract.Request{Path: "/api/test/items/" + strings.ToUpper(id)})
	require.Equal(t, `"`+id+`"`, string(a.Data))
}

func TestParametersThatAreWrongNameWhatIsAllowed(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	for query, field := range map[string]string{
		"limit=0": "limit", "limit=-1": "limit", "limit=x": "limit", "limit=": "limit", "limit=1.5": "limit",
		"limit=%205": "limit", "limit=%2B5": "limit",
		"limit=0x10": "limit", "limit=1&limit=2": "limit", "offset=-1": "offset", "offset=9223372036854775808": "offset",
		"unknown=1": "unknown", "name=%ff": "name", "name=%00": "name", "name=%zz": "name", "name=a&name=b": "name",
		"Limit=1": "Limit", "%ff=1": "query",
	} {
		a := s.DoUnchecked(t, contract.Request{Path: "/api/test/items?" + query})
		a.RequireFailure(t, 400, validation, "", map[string]any{"field": field})
		require.NotEmpty(t, a.Error.Details["reason"], query)
	}
	a := s.DoUnchecked(t, contract.Request{Path: "/api/test/items?nmae=x"})
	require.Equal(t, []any{"limit", "name", "offset"}, a.Error.Details["allowed"])
	for query, limit := range map[string]int64{
		"": 50, "limit=100": 100, "limit=101": 100, "limit=2147483648": 100, "limit=9223372036854775808": 100, "limit=1": 1,
	} {
		a := s.DoUnchecked(t, contract.Request{Path: "/api/test/items?" + query})
		require.Equal(t, http.StatusOK, a.Status)
		require.Equal(t, limit, a.Meta.Limit)
		require.Equal(t, "[]", string(a.Data))
	}
}

func TestFailuresOfTheServerShowNoInternals(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	a := s.DoUnchecked(t, contract.Request{Path: "/api/test/panic"})
	a.RequireFailure(t, 500, "INTERNAL_ERROR", "Internal server error", nil)
	require.NotContains(t, string(a.Body), "boom")
	a = s.DoUnchecked(t, contract.Request{Path: "/api/test/down"})
	a.RequireFailure(t, 503, "INTERNAL_ERROR", "The store is down", nil)
	require.Equal(t, "2", a.Header.Get("Retry-After"), "whole seconds, rounded up")

	response, err := http.DefaultClient.Do(authorized(t, s, "GET", "/api/test/latepanic", nil))
	if err == nil {
		_, err = io.ReadAll(response.Body)
		_ = response.Body.Close()
	}
	require.Error(t, err, "half an answer must not look whole")
}

func TestHeadIsGetWithoutABody(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	for _, path := range []string{"/api/me", "/healthz", "/api/openapi.yaml", "/api/docs"} {
		a := s.Do(t, contract.Request{Method: "HEAD", Path: path})
		require.Equal(t, http.StatusOK, a.Status, path)
		require.Empty(t, a.Body)
	}
	require.Equal(t, http.StatusNotFound, s.DoUnchecked(t, contract.Request{Method: "HEAD", Path: "/api/x"}).Status)
	require.Equal(
		t, http.StatusMethodNotAllowed, s.DoUnchecked(t, contract.Request{Method: "HEAD", Path: "/api/test/echo"}).Status,
	)
}

func TestAnswersAreCompressedOnRequest(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	plain := s.DoUnchecked(t, contract.Request{Path: "/api/test/large"})
	require.Empty(t, plain.Header.Get("Content-Encoding"))
	require.Contains(t, plain.Header.Values("Vary"), "Accept-Encoding")
	for accept, want := range map[string]string{
		"gzip": "gzip", "zstd": "zstd", "gzip, zstd": "zstd", "br": "", "gzip;q=0": "", "identity": "",
	} {
		a := s.DoUnchecked(t, contract.Request{Path: "/api/test/large", Header: map[string]string{"Accept-Encoding": accept}})
		require.Equal(t, want, a.Header.Get("Content-Encoding"), accept)
		body := a.Body
		switch want {
		case "gzip":
			reader, err := gzip.NewReader(bytes.NewReader(body))
			require.NoError(t, err)
			body, err = io.ReadAll(reader)
			require.NoError(t, err)
		case "zstd":
			reader, err := zstd.NewReader(bytes.NewReader(body))
			require.NoError(t, err)
			body, err = io.ReadAll(reader)
			require.NoError(t, err)
		}
		require.Len(t, body, len(plain.Body), accept)
	}
	small := s.DoUnchecked(t, contract.Request{
		Path: "/api/test/items", Header: map[string]string{"Accept-Encoding": "gzip"},
	})
	require.Empty(t, small.Header.Get("Content-Encoding"))
}

func TestBrowsersOfListedOriginsMayCall(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	preflight := func(origin, method, headers string) *contract.Answer {
		return s.DoUnchecked(
			t,
			contract.Request{Method: "OPTIONS", Path: "/api/test/echo", Key: contract.None, Workspace: contract.None,
				Header: map[string]string{
					"Origin": origin, "Access-Control-Request-Method": method, "Access-Control-Request-Headers": headers,
				}},
		)
	}
	a := preflight("https://app.example", "POST", "authorization,content-type,x-workspace-id")
	require.Equal(t, http.StatusOK, a.Status)
	require.Equal(t, "https://app.example", a.Header.Get("Access-Control-Allow-Origin"))
	require.Empty(t, a.Header.Get("Access-Control-Allow-Credentials"))
	for _, origin := range []string{
		"https://evil.example", "null", "https://app.example.evil.example", "http://app.example",
	} {
		require.Empty(t, preflight(origin, "POST", "authorization").Header.Get("Access-Control-Allow-Origin"), origin)
	}
	a = s.DoUnchecked(t, contract.Request{
		Path: "/api/test/items", Header: map[string]string{"Origin": "https://app.example"},
	})
	require.Equal(t, "https://app.example", a.Header.Get("Access-Control-Allow-Origin"))
	require.Contains(t, a.Header.Get("Access-Control-Expose-Headers"), "X-Request-Id")
	a = s.DoUnchecked(t, contract.Request{
		Path: "/api/test/items", Header: map[string]string{"Origin": "https://evil.example"},
	})
	require.Empty(t, a.Header.Get("Access-Control-Allow-Origin"))
}

func TestAResourceThatTheCallerHasIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	path := "/api/test/items/" + uuid.NewString()
	tag := s.DoUnchecked(t, contract.Request{Path: path}).Header.Get("ETag")
	a := s.DoUnchecked(t, contract.Request{Path: path, Header: map[string]string{"If-None-Match": tag}})
	require.Equal(t, http.StatusNotModified, a.Status)
	require.Empty(t, a.Body)
}

func TestEveryRequestHasItsOwnId(t *testing.T) {
	t.Parallel()
	s := contract.Start(t)
	seen := map[string]bool{}
	for range 50 {
		a := s.Do(t, contract.Request{Path: "/api/me", Header: map[string]string{"X-Request-Id": "req_mine"}})
		require.Regexp(t, `^req_[0-9A-HJKMNP-TV-Z]{26}$`, a.RequestID)
		require.False(t, seen[a.RequestID])
		seen[a.RequestID] = true
		require.Equal(t, contract.Version, a.Header.Get("X-Livegraph-Version"))
		require.Equal(t, "nosniff", a.Header.Get("X-Content-Type-Options"))
	}
}

func TestManyAtATime(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 20 {
				response, err := http.DefaultClient.Do(authorized(
					t, s, "POST", "/api/test/echo", strings.NewReader(`{"name":"x"}`),
				))
				if err != nil || response.StatusCode != http.StatusCreated {
					t.Errorf("%v %v", err, response)
					return
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
		})
	}
	wg.Wait()
}

func authorized(t *testing.T, s *contract.Server, method, path string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequest(method, s.URL+path, body)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+s.Admin)
	r.Header.Set("x-workspace-id", s.Workspace.String())
	r.Header.Set("Content-Type", "application/json")
	return r
}
