package contract_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

// getPage requests a file of the admin UI. Its path may have several segments, which
// OpenAPI cannot describe.
func getPage(t *testing.T, s *contract.Server, path string, header map[string]string) *contract.Answer {
	t.Helper()
	return s.DoUnchecked(t, contract.Request{Path: path, Key: contract.None, Workspace: contract.None, Header: header})
}

func TestThePageIsServedWhateverItsAddress(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t)
	for _, path := range []string{
		"/admin", "/admin/", "/admin/index.html", "/admin/sources/" + uuid.NewString(), "/admin/keys?x=<script>",
		"/admin/apis", "/admin/%2e%2e/api/me",
		"/admin/..%2f..%2fetc%2fpasswd", "/admin/%00", "/admin/.keep", "/admin/a%0d%0aSet-Cookie:%20x=y",
	} {
		a := getPage(t, s, path, nil)
		require.Equal(t, 200, a.Status, path)
		require.Equal(t, "text/html; charset=utf-8", a.Header.Get("Content-Type"), path)
		require.Contains(t, string(a.Body), "<title>Livegraph</title>")
		require.Equal(t, "private, no-cache", a.Header.Get("Cache-Control"))
		require.Empty(t, a.Header.Get("Set-Cookie"))
	}
	asset := getPage(t, s, "/admin/assets/main-a1.js", nil)
	require.Equal(t, 200, asset.Status)
	require.Equal(t, "text/javascript; charset=utf-8", asset.Header.Get("Content-Type"))
	require.Equal(t, "private, max-age=31536000, immutable", asset.Header.Get("Cache-Control"), "no proxy keeps it")
	require.Equal(t, "image/svg+xml", getPage(t, s, "/admin/favicon.svg", nil).Header.Get("Content-Type"))

	packed := getPage(t, s, "/admin/assets/main-a1.js", map[string]string{"Accept-Encoding": "br, gzip"})
	require.Equal(t, "gzip", packed.Header.Get("Content-Encoding"))
	require.Contains(t, packed.Header.Values("Vary"), "Accept-Encoding")
	require.Less(t, len(packed.Body), len(asset.Body)/10)
	r, err := gzip.NewReader(bytes.NewReader(packed.Body))
	require.NoError(t, err)
	plain, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, asset.Body, plain)
	for _, encoding := range []string{"", "identity", "gzip;q=0", "br"} {
		require.Empty(
			t,
			getPage(
				t, s, "/admin/assets/main-a1.js", map[string]string{"Accept-Encoding": encoding},
			).Header.Get("Content-Encoding"),
			encoding,
		)
	}
	unchanged := getPage(t, s, "/admin", map[string]string{
		"If-None-Match": getPage(t, s, "/admin", nil).Header.Get("ETag"),
	})
	require.Equal(t, http.StatusNotModified, unchanged.Status)

	gone := getPage(t, s, "/admin/assets/main-b2.js", nil)
	gone.RequireFailure(t, 404, "NOT_FOUND", "", nil)
	require.Equal(t, "no-store", gone.Header.Get("Cache-Control"), "the next build may have it")
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		a := s.DoUnchecked(t, contract.Request{
			Method: method, Path: "/admin/keys", Key: contract.None, Workspace: contract.None,
		})
		require.Equal(t, 405, a.Status, method)
		require.Contains(t, a.Header.Get("Allow"), "GET")
	}
	for _, path := range []string{"/admin", "/admin/favicon.svg"} {
		require.Equal(t, 200, s.Do(t, contract.Request{Path: path, Key: contract.None, Workspace: contract.None}).Status)
	}
	require.Equal(
		t, 200,
		s.Do(t, contract.Request{Method: "HEAD", Path: "/admin", Key: contract.None, Workspace: contract.None}).Status,
	)
	for _, path := range []string{"/administration", "/Admin", "//admin", "/x/admin"} {
		require.Equal(
			t, 404, s.DoUnchecked(t, contract.Request{Path: path, Key: contract.None, Workspace: contract.None}).Status, path,
		)
	}
}

// Every answer below /admin has the headers that protect browsers, whatever its status is.
func TestEveryAnswerOfThePageIsGuarded(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t, contract.GraphReads)
	o := s.Login(t)
	as := func(q contract.Request) contract.Request { return o.Request(q) }
	nobody := func(q contract.Request) contract.Request {
		q.Key, q.Workspace = contract.None, contract.None
		return q
	}
	for name, q := range map[string]contract.Request{
		"page": nobody(contract.Request{Path: "/admin"}), "asset": nobody(contract.Request{Path: "/admin/assets/main-a1.js"}),
		"no asset":     nobody(contract.Request{Path: "/admin/assets/x.js"}),
		"no session":   nobody(contract.Request{Path: "/admin/api/keys"}),
		"wrong method": nobody(contract.Request{Method: "POST", Path: "/admin"}),
		"login":        nobody(contract.Request{Method: "POST", Path: sessionPath, Body: "{}"}),
		"session":      as(contract.Request{Path: sessionPath}), "unknown": as(contract.Request{Path: "/admin/api/unknown"}),
		"unknown, changed": as(contract.Request{Method: "POST", Path: "/admin/api/unknown"}),
		"not allowed":      as(contract.Request{Method: "PUT", Path: "/admin/api/keys"}),
		"forged": as(contract.Request{
			Method: "POST", Path: "/admin/api/keys", Header: map[string]string{"X-CSRF-Token": ""},
		}),
		"mirrored": as(contract.Request{
			Path: "/admin/api/queries/nodes", Workspace: s.Workspace.String(),
		}),
		"created": as(contract.Request{
			Method: "POST", Path: "/admin/api/keys", Body: `{"name":"x","workspaces":["` + s.Workspace.String() + `"]}`,
		}),
		"too large a header": nobody(contract.Request{Path: "/admin", Header: map[string]string{
			"X-Large": strings.Repeat("x", 70<<10),
		}}),
		"preflight": nobody(contract.Request{
			Method: "OPTIONS", Path: "/admin/api/keys",
			Header: map[string]string{"Origin": "https://app.example", "Access-Control-Request-Method": "POST"},
		}),
		"from an origin that may call /api": as(contract.Request{
			Path: "/admin/api/keys", Header: map[string]string{"Origin": "https://app.example"},
		}),
	} {
		h := s.DoUnchecked(t, q).Header
		policy := h.Get("Content-Security-Policy")
		for _, directive := range []string{
			"default-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'", "object-src 'none'",
		} {
			require.Contains(t, policy, directive, name)
		}
		require.NotContains(t, policy, "unsafe", name)
		require.Equal(t, "DENY", h.Get("X-Frame-Options"), name)
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), name)
		require.Equal(t, "no-referrer", h.Get("Referrer-Policy"), name)
		require.Equal(t, "same-origin", h.Get("Cross-Origin-Opener-Policy"), name)
		require.Equal(t, "same-origin", h.Get("Cross-Origin-Resource-Policy"), name)
		require.NotEmpty(t, h.Get("Permissions-Policy"), name)
		require.Regexp(t, `^(no-store|private, .*)$`, h.Get("Cache-Control"), name)
		for header := range h {
			require.False(t, strings.HasPrefix(header, "Access-Control-"), "%s: %s: no other origin reads it", name, header)
		}
	}
	for method, status := range map[string]int{"GET": 404, "POST": 404, "DELETE": 404} {
		require.Equal(
			t, status, s.DoUnchecked(t, as(contract.Request{Method: method, Path: "/admin/api/unknown"})).Status, method,
		)
	}
	a := s.DoUnchecked(t, as(contract.Request{Method: "PUT", Path: "/admin/api/keys"}))
	require.Equal(t, 405, a.Status)
	require.Equal(t, "GET, HEAD, OPTIONS, POST", a.Header.Get("Allow"))
	require.Equal(t, 200, s.Do(t, as(contract.Request{Method: "HEAD", Path: "/admin/api/keys"})).Status)
}

func TestAPageThatWasNotBuiltIsReported(t *testing.T) {
	t.Parallel()
	page := &contract.Administration{UIFiles: fstest.MapFS{".keep": {}}}
	s := contract.Start(t, page.Group)
	for _, path := range []string{"/admin", "/admin/keys"} {
		a := s.Do(t, contract.Request{Path: path, Key: contract.None, Workspace: contract.None})
		require.Equal(t, http.StatusNotImplemented, a.Status)
		require.Contains(t, string(a.Body), "make build")
	}
	s.Login(t) // the API of the admin UI works nevertheless
}

func TestThereIsNoPageWithoutOne(t *testing.T) {
	t.Parallel()
	s := contract.Start(t)
	for _, path := range []string{"/admin", "/admin/", "/admin/api/session", "/admin/api/queries/nodes"} {
		require.Equal(t, 404, s.DoUnchecked(t, contract.Request{Path: path}).Status, path)
	}
}
