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
	binary = "../../bin/livegraph" // written by make build
	runner = "node_modules/@playwright/test/cli.js"
	// runTimeout ends a run that hangs. On an idle machine the specs take about three minutes.
	runTimeout = 50 * time.Minute
)

// browsers are Debian's builds of Chromium, the preferred one first: the headless shell has the same
// engine and takes three fifths of the processor time.
var browsers = []string{"chromium-headless-shell", "chromium"}

// TestAdministrationPage runs the specs.
func TestAdministrationPage(t *testing.T) {
	browser := requireTools(t)
	path, err := filepath.Abs(binary)
	require.NoError(t, err)
	require.FileExists(t, path, "make build first")
	var failed []string
	// Registered before the server's cleanup, so that the failures are logged after the server's log.
	t.Cleanup(func() {
		for _, one := range failed {
			t.Log(one)
		}
	})
	s := harness.New(t, path, "--demo")
	// The specs set their own client addresses, so that a login lockout affects only one spec.
	s.Env = append(s.Env, "LIVEGRAPH_API_TRUSTED_PROXIES=127.0.0.0/8")
	s.Start()
	require.Equal(t, http.StatusOK, pageStatus(t, s), "the page is not in %s: make build", path)

	requests := make(chan request)
	control := newControl(t, requests)
	run := exec.Command(
		"node", append([]string{runner, "test"}, strings.Fields(os.Getenv("LIVEGRAPH_BROWSER_ARGS"))...)...,
	)
	results := filepath.Join(t.TempDir(), "results.json")
	run.Env = append(append(os.Environ(), specEnvironment(t, s, control)...), "LIVEGRAPH_RESULTS="+results,
		"LIVEGRAPH_CHROMIUM="+browser)
	run.Stdout, run.Stderr = os.Stdout, os.Stderr
	require.NoError(t, run.Start())
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	late := time.NewTimer(runTimeout)
	defer late.Stop()
	for {
		select {
		case r := <-requests: // in this goroutine, because the harness may end the test
			handle(t, s, r)
		case err := <-ended:
			specs, outside := readReport(t, results)
			failed = append(runSpecTests(t, specs), outside...)
			require.NoError(t, err, "the specs failed: see below")
			require.NotEmpty(t, specs, "no spec was run")
			return
		case <-late.C:
			_ = run.Process.Kill()
			t.Fatalf("the specs took longer than %s: %v", runTimeout, <-ended)
		}
	}
}

// requireTools returns the path of the browser. If a tool is missing, it skips the test with a message;
// with CI=true it fails.
func requireTools(t *testing.T) (browser string) {
	t.Helper()
	testenv.RequireEngines(t)
	for _, name := range browsers {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	_, noNode := exec.LookPath("node")
	_, noRunner := os.Stat(runner)
	for _, tool := range []struct {
		missing bool
		remedy  string
	}{
		{browser == "", "install Debian's package chromium-headless-shell"},
		{noNode != nil, "install Node.js"},
		{noRunner != nil, "run npm ci in test/browser"},
	} {
		if tool.missing {
			testenv.SkipMissing(t, "the tests of the administration page in a browser ("+tool.remedy+")")
		}
	}
	return browser
}

func pageStatus(t *testing.T, s *harness.Server) int {
	t.Helper()
	response, err := http.Get(s.URL() + "/admin/")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}

// specEnvironment returns the environment variables of the specs.
func specEnvironment(t *testing.T, s *harness.Server, control string) []string {
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

// request is an action that a spec requests.
type request struct {
	action string
	body   map[string]any
	done   chan<- any
}

// newControl listens for requests of specs, and serves a page of another origin that frames the
// admin UI.
func newControl(t *testing.T, requests chan<- request) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{what}", func(w http.ResponseWriter, r *http.Request) {
		done := make(chan any, 1)
		action := request{action: r.PathValue("what"), done: done}
		if err := json.NewDecoder(r.Body).Decode(&action.body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		select {
		case requests <- action:
			select {
			case answer := <-done:
				_ = json.NewEncoder(w).Encode(answer)
			case <-closed:
			}
		case <-closed:
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
		close(closed)
		_ = server.Close()
	})
	return "http://" + listener.Addr().String()
}

// handle performs the requested action.
func handle(t *testing.T, s *harness.Server, r request) {
	t.Helper()
	var answer any
	switch r.action {
	case "stop":
		s.Kill()
	case "start":
		s.Start()
	case "create-dead-letters":
		answer = createDeadLetters(t, s, r.body)
	case "create-many":
		createMany(t, s, r.body)
	case "delete-many":
		deleteMany(t, s)
	case "start-tls":
		answer = map[string]string{"url": startTLS(t, s)}
	default:
		t.Fatalf("a spec asked for %q", r.action)
	}
	r.done <- answer
}

// refusedValue is a value that ClickHouse refuses while createDeadLetters runs.
const refusedValue = 666.25

// createDeadLetters creates a dead letter for each body and returns their references. A temporary
// constraint in ClickHouse refuses the points. The bodies are those of POST /api/live-data/ingest for
// a workspace and key, and contain refusedValue.
func createDeadLetters(t *testing.T, s *harness.Server, body map[string]any) (references []string) {
	t.Helper()
	s.AskClickHouse(fmt.Sprintf("ALTER TABLE points ADD CONSTRAINT browser CHECK value != %v", refusedValue))
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
		references = nil
		for _, l := range list.Letters {
			references = append(references, fmt.Sprintf("%s/%d/%d", l.Topic, l.Partition, l.Offset))
		}
		return len(references) >= len(bodies)
	}, time.Minute, 200*time.Millisecond)
	return references
}
