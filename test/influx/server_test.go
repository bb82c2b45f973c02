package influx

import (
	"bytes"
	"encoding/json"
	"errors"
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

const binary = "../../bin/livegraph" // written by make build

// server is a running Livegraph with a key for its first workspace.
type server struct {
	url, workspace string
	admin, writer  string // API keys; writer is the one for clients in docs/formats.md
}

// running is the server of all tests. Each test writes to sources of its own.
var running *server

func TestMain(m *testing.M) { os.Exit(runWith(m)) }

func runWith(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "livegraph-influx-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, stop, err := serve(dir)
	defer stop()
	if err != nil {
		text, _ := os.ReadFile(filepath.Join(dir, "log"))
		fmt.Fprintf(os.Stderr, "%v (make build first)\n%s\n", err, text)
		return 1
	}
	running = s
	return m.Run()
}

// serve runs the built binary on a directory and creates the key.
func serve(dir string) (s *server, stop func(), err error) {
	stop = func() {}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, stop, err
	}
	address, data := listener.Addr().String(), filepath.Join(dir, "data")
	_ = listener.Close()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, stop, err
	}
	process := exec.Command(binary, "serve", "--listen", address, "--data-dir", data, "--metrics-listen", "off")
	process.Stdout, process.Stderr = log, log
	if err := process.Start(); err != nil {
		return nil, stop, err
	}
	stop = func() {
		_ = process.Process.Signal(syscall.SIGTERM)
		_ = process.Wait()
	}
	if err := awaitReady("http://" + address); err != nil {
		return nil, stop, err
	}
	var first struct{ WorkspaceID, AdminKey string }
	var writer struct{ Key string }
	text, err := os.ReadFile(filepath.Join(data, "first-run.json"))
	if err == nil {
		err = json.Unmarshal(text, &first)
	}
	if err == nil {
		text, err = exec.Command(binary, "keys", "create", "--data-dir", data, "--workspace", first.WorkspaceID,
			"--name", "telegraf", "--scope", "write:livedata", "--json").Output()
	}
	if err == nil {
		err = json.Unmarshal(text, &writer)
	}
	return &server{
		url: "http://" + address, workspace: first.WorkspaceID, admin: first.AdminKey, writer: writer.Key,
	}, stop, err
}

func awaitReady(url string) error {
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		response, err := http.Get(url + "/readyz")
		if err != nil {
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return nil
		}
	}
	return errors.New("the server did not become ready")
}

// latest is the latest point of a series.
type latest struct {
	SourceName, Metric string
	Tags               map[string]string
	Points             [][]any
}

// query returns series of a source.
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

// awaitCount waits until a source has the given number of points.
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
	}, time.Minute, 50*time.Millisecond, "%v points of %s", &got, source)
}

// refusingProxy is a proxy to Livegraph that refuses the first writes in the same way as an overloaded
// server.
type refusingProxy struct {
	url     string
	refused atomic.Int64
}

func (s *server) newRefusingProxy(t *testing.T, times int64, status int) *refusingProxy {
	t.Helper()
	target, err := url.Parse(s.url)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	b := &refusingProxy{}
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
		_, _ = fmt.Fprint(
			w,
			`{"success":false,"error":{"code":"INTERNAL_ERROR","message":"Too much is being ingested at this moment"},`+
				`"requestId":"req_01JD0000000000000000000000","code":"unavailable",`+
				`"message":"Too much is being ingested at this moment"}`,
		)
	}))
	t.Cleanup(front.Close)
	b.url = front.URL
	return b
}

// block returns the first code block of a language under a heading of docs/formats.md.
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

// splitLines returns the lines of a program's output.
func splitLines(printed []byte) [][]byte { return bytes.Split(bytes.TrimSpace(printed), []byte{'\n'}) }
