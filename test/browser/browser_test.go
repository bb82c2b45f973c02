package browser

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/harness"
	"github.com/livegraph/livegraph/test/testenv"
)

const (
	binary   = "../../bin/livegraph" // as make build leaves it
	runner   = "node_modules/@playwright/test/cli.js"
	chromium = "/usr/bin/chromium"
	// mostOfRun is a bound for a machine that is busy with other things; alone it takes
	// about three minutes.
	mostOfRun = 18 * time.Minute
)

// TestAdministrationPage runs the specs.
func TestAdministrationPage(t *testing.T) {
	requireTools(t)
	path, err := filepath.Abs(binary)
	require.NoError(t, err)
	require.FileExists(t, path, "make build first")
	var failed []string
	// Before the server is made, so that it comes after the server's log, which is long.
	t.Cleanup(func() {
		for _, one := range failed {
			t.Log(one)
		}
	})
	s := harness.New(t, path, "--demo")
	// The tests have their own addresses, so that a login that is locked out is theirs alone.
	s.Env = append(s.Env, "LIVEGRAPH_API_TRUSTED_PROXIES=127.0.0.0/8")
	s.Start()
	require.Equal(t, http.StatusOK, pageStatus(t, s), "the page is not in %s: make build", path)

	asked := make(chan request)
	control := newControl(t, asked)
	run := exec.Command(
		"node", append([]string{runner, "test"}, strings.Fields(os.Getenv("LIVEGRAPH_BROWSER_ARGS"))...)...,
	)
	results := filepath.Join(t.TempDir(), "results.json")
	run.Env = append(append(os.Environ(), environment(t, s, control)...), "LIVEGRAPH_RESULTS="+results)
	run.Stdout, run.Stderr = os.Stdout, os.Stderr
	require.NoError(t, run.Start())
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	late := time.NewTimer(mostOfRun)
	defer late.Stop()
	for {
		select {
		case r := <-asked: // here, since the harness may end the test
			obey(t, s, r)
		case err := <-ended:
			specs, outside := readReport(t, results)
			failed = append(judge(t, specs), outside...)
			require.NoError(t, err, "the specs failed: see below")
			require.NotEmpty(t, specs, "no spec was run")
			return
		case <-late.C:
			_ = run.Process.Kill()
			t.Fatalf("the specs took longer than %s: %v", mostOfRun, <-ended)
		}
	}
}

// requireTools skips the test, aloud, where there is nothing to run it with; with CI=true
// it fails.
func requireTools(t *testing.T) {
	t.Helper()
	testenv.NeedsEngines(t)
	for _, tool := range []struct{ path, remedy string }{
		{chromium, "install Debian's package chromium"}, {runner, "run npm ci in test/browser"},
	} {
		if _, err := os.Stat(tool.path); err != nil {
			testenv.NotRun(t, fmt.Sprintf("the tests of the administration page in a browser (%v: %s)", err, tool.remedy))
		}
	}
	if _, err := exec.LookPath("node"); err != nil {
		testenv.NotRun(t, "the tests of the administration page in a browser (there is no Node.js)")
	}
}

func pageStatus(t *testing.T, s *harness.Server) int {
	t.Helper()
	response, err := http.Get(s.URL() + "/admin/")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}

// environment is what the specs are told.
func environment(t *testing.T, s *harness.Server, control string) []string {
	t.Helper()
	images, err := filepath.Abs(os.Getenv("LIVEGRAPH_BROWSER_IMAGES"))
	if os.Getenv("LIVEGRAPH_BROWSER_IMAGES") == "" {
		images, err = os.MkdirTemp("", "livegraph-images-")
	}
	require.NoError(t, err)
	t.Logf("screenshots: %s", images)
	state, err := json.Marshal(s.First)
	require.NoError(t, err)
	return []string{
		"LIVEGRAPH_URL=" + s.URL(), "LIVEGRAPH_FIRST_RUN=" + string(state), "LIVEGRAPH_CONTROL=" + control,
		"LIVEGRAPH_IMAGES=" + images, "LIVEGRAPH_STATE=" + t.TempDir(),
	}
}

// request is what a spec wants done to the server.
type request struct {
	what string
	body map[string]any
	done chan<- any
}

// newControl listens for what specs want done, and serves a page of another origin that
// would frame ours.
func newControl(t *testing.T, asked chan<- request) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	over := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{what}", func(w http.ResponseWriter, r *http.Request) {
		done := make(chan any, 1)
		wanted := request{what: r.PathValue("what"), done: done}
		if err := json.NewDecoder(r.Body).Decode(&wanted.body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		select {
		case asked <- wanted:
			select {
			case answer := <-done:
				_ = json.NewEncoder(w).Encode(answer)
			case <-over:
			}
		case <-over:
		}
	})
	mux.HandleFunc("GET /frame", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(
			w, `<!doctype html><title>Win a prize</title><iframe id="trap" width="800" height="600" src="%s/admin/"></iframe>`,
			r.URL.Query().Get("of"),
		)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() {
		close(over)
		_ = server.Close()
	})
	return "http://" + listener.Addr().String()
}

// obey does what a spec asked for.
func obey(t *testing.T, s *harness.Server, r request) {
	t.Helper()
	var answer any
	switch r.what {
	case "stop":
		s.Kill()
	case "start":
		s.Start()
	case "bury":
		answer = bury(t, s, r.body)
	case "crowd":
		crowd(t, s, r.body)
	case "disperse":
		disperse(t, s)
	case "secure":
		answer = map[string]string{"url": secure(t, s)}
	default:
		t.Fatalf("a spec asked for %q", r.what)
	}
	r.done <- answer
}

// poison is a value that ClickHouse refuses while bury asks it to.
const poison = 666.25

// bury makes each of the bodies' points a dead letter of its own: they are refused for a
// while by the store. What is left is as they would be after any such fault. The bodies are
// those of POST /api/live-data/ingest, by workspace and key, and hold the value poison.
func bury(t *testing.T, s *harness.Server, body map[string]any) (places []string) {
	t.Helper()
	s.AskClickHouse(fmt.Sprintf("ALTER TABLE points ADD CONSTRAINT browser CHECK value != %v", poison))
	defer s.AskClickHouse("ALTER TABLE points DROP CONSTRAINT browser")
	bodies := body["bodies"].([]any)
	for _, one := range bodies {
		payload, err := json.Marshal(one)
		require.NoError(t, err)
		a, err := s.TryAs(body["key"].(string), body["workspace"].(string), http.MethodPost, "/api/live-data/ingest", payload)
		require.NoError(t, err)
		require.Equal(t, http.StatusCreated, a.Status, "%s: %+v", payload, a.Error)
	}
	require.Eventually(t, func() bool {
		var list struct {
			Letters []struct {
				Topic     string
				Partition int
				Offset    int64
			}
		}
		require.NoError(t, json.Unmarshal(
			[]byte(s.CLI("dlq", "list", "--json", "--state", "open", "--workspace", body["workspace"].(string))), &list,
		))
		places = nil
		for _, l := range list.Letters {
			places = append(places, fmt.Sprintf("%s/%d/%d", l.Topic, l.Partition, l.Offset))
		}
		return len(places) >= len(bodies)
	}, 60*time.Second, 200*time.Millisecond)
	return places
}
