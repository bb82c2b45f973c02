package influx

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const binary = "../../bin/livegraph" // as make build leaves it

// server is a running Livegraph with a key for its first workspace.
type server struct {
	url, workspace string
	admin, writer  string // keys; the second is the one that docs/formats.md has clients use
}

// start runs the built binary.
func start(t *testing.T) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	process := exec.Command(binary, "serve", "--listen", address, "--data-dir", dir, "--metrics-listen", "off")
	process.Stdout, process.Stderr = log, log
	require.NoError(t, process.Start(), "make build first")
	t.Cleanup(func() {
		_ = process.Process.Signal(syscall.SIGTERM)
		require.NoError(t, process.Wait())
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("the server's log:\n%s", text)
		}
	})
	require.Eventually(t, func() bool {
		response, err := http.Get("http://" + address + "/readyz")
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	}, 90*time.Second, 50*time.Millisecond)
	var first struct{ WorkspaceID, AdminKey string }
	text, err := os.ReadFile(filepath.Join(dir, "first-run.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &first))
	made, err := exec.Command(binary, "keys", "create", "--data-dir", dir, "--workspace", first.WorkspaceID,
		"--name", "telegraf", "--scope", "write:livedata", "--json").Output()
	require.NoError(t, err)
	var writer struct{ Key string }
	require.NoError(t, json.Unmarshal(made, &writer))
	return &server{url: "http://" + address, workspace: first.WorkspaceID, admin: first.AdminKey, writer: writer.Key}
}

// latest is the last value of a series.
type latest struct {
	SourceName, Metric string
	Tags               map[string]string
	Points             [][]any
}

// query asks for series of a source.
func (s *server) query(t *testing.T, parameters string) []latest {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, s.url+"/api/live-data/query?from=0&"+parameters, nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+s.admin)
	request.Header.Set("X-Workspace-Id", s.workspace)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	payload, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", payload)
	var answer struct{ Data []latest }
	require.NoError(t, json.Unmarshal(payload, &answer))
	return answer.Data
}

// awaitCount waits until a source has so many points.
func (s *server) awaitCount(t *testing.T, source string, want int) {
	t.Helper()
	var got float64
	require.Eventually(t, func() bool {
		got = 0
		for _, series := range s.query(t, "groupBy=none&aggregation=count&source="+source) {
			for _, point := range series.Points {
				n, _ := point[1].(float64)
				got += n
			}
		}
		return int(got) == want
	}, 60*time.Second, 50*time.Millisecond, "%v points of %s", &got, source)
}

// busy is a Livegraph that answers the first so many writes as one does that has no
// room, before it takes them.
type busy struct {
	url     string
	refused atomic.Int64
}

func (s *server) busy(t *testing.T, times int64, status int) *busy {
	t.Helper()
	target, err := url.Parse(s.url)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	b := &busy{}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/write") || b.refused.Load() >= times {
			proxy.ServeHTTP(w, r)
			return
		}
		b.refused.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Retry-After", "1")
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, `{"success":false,"error":{"code":"INTERNAL_ERROR","message":"Too much is being ingested at this moment"},`+
			`"requestId":"req_01JD0000000000000000000000","code":"unavailable","message":"Too much is being ingested at this moment"}`)
	}))
	t.Cleanup(front.Close)
	b.url = front.URL
	return b
}

// block gives the first block of code of a language under a heading of
// docs/formats.md.
func block(t *testing.T, heading, language string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/formats.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "\n## "+heading+"\n")
	require.True(t, found, heading)
	_, rest, found = strings.Cut(rest, "```"+language+"\n")
	require.True(t, found, language)
	code, _, _ := strings.Cut(rest, "```")
	return code
}

// splitLines gives the lines of what a program printed.
func splitLines(printed []byte) [][]byte { return bytes.Split(bytes.TrimSpace(printed), []byte{'\n'}) }
