package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/test/ports"
	"github.com/livegraph/livegraph/test/testenv"
)

// visibleTimeout bounds the wait for what a server does in the background.
const visibleTimeout = time.Minute

// settingsOfTest are the settings that the server and the commands have in common. Tests receive what is sent to
// URLs, and evaluate rules often.
var settingsOfTest = []string{"--outbound-allowed-networks", "127.0.0.0/8", "--rules-min-interval", "1s"}

// server is `livegraph serve` with all roles and embedded engines in the process of the test.
type server struct {
	dataDir, listen, url string
	output               *testenv.Output // of the command serve
	collector            *collector
}

// startServer starts a server and waits until it is ready. It stops when the test ends, which requires that the
// command succeeds.
func startServer(t *testing.T) *server {
	t.Helper()
	testenv.RequireEngines(t)
	s := &server{dataDir: filepath.Join(t.TempDir(), "data"), output: &testenv.Output{}, collector: newCollector(t)}
	s.listen = freeAddress(t)
	s.url = "http://" + s.listen
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	parser, err := newParser(ctx, "test", s.output, s.output)
	require.NoError(t, err)
	command, err := parser.Parse(append([]string{
		"serve", "--data-dir", s.dataDir, "--listen", s.listen, "--metrics-listen", freeAddress(t), "--embedder", "static",
		"--log-level", "error", "--tracing-endpoint", s.collector.URL,
	}, settingsOfTest...))
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- command.Run() }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended, "%s", s.output)
	})
	require.Eventually(t, func() bool {
		return len(ended) > 0 || Main("test", []string{"ready", "--listen", s.listen}, io.Discard, io.Discard) == 0
	}, time.Minute, 50*time.Millisecond, "the server is not ready: %s", s.output)
	require.Empty(t, ended, "the server has ended: %s", s.output)
	return s
}

// freeAddress returns an address that is reserved until the test ends.
func freeAddress(t *testing.T) string {
	t.Helper()
	address, release, err := ports.Free()
	require.NoError(t, err)
	t.Cleanup(release)
	return address
}

// run runs a command on the server's data directory, and returns its exit code and what it writes.
func (s *server) run(args ...string) (code int, stdout, stderr string) {
	var out, problems bytes.Buffer
	code = Main("test", slices.Concat(args, []string{"--data-dir", s.dataDir}, settingsOfTest), &out, &problems)
	return code, out.String(), problems.String()
}

// workspace is a workspace of the server that only one test uses, with a key of scope admin.
type workspace struct {
	*server
	t       *testing.T
	id, key string
	header  http.Header // of requests, added to those of the workspace
}

func (s *server) newWorkspace(t *testing.T) *workspace {
	t.Helper()
	w := &workspace{server: s, t: t}
	w.id = decode[access.Workspace](t, w.ok("workspaces", "create", "--name", t.Name(), "--json")).ID.String()
	w.key = decode[struct{ Key string }](t, w.ok(
		"keys", "create", "--workspace", w.id, "--name", "test", "--scope", "admin", "--json",
	)).Key
	return w
}

// ok runs a command, which must succeed, and returns its standard output.
func (w *workspace) ok(args ...string) string {
	w.t.Helper()
	code, stdout, stderr := w.run(args...)
	require.Zero(w.t, code, "%v: %s%s", args, stdout, stderr)
	return stdout
}

// bad runs a command, which must fail, and returns its standard error.
func (w *workspace) bad(args ...string) string {
	w.t.Helper()
	code, stdout, stderr := w.run(args...)
	require.NotZero(w.t, code, "%v: %s", args, stdout)
	return stderr
}

// in returns a command on the workspace.
func (w *workspace) in(args ...string) []string { return append(args, "--workspace", w.id) }

// do sends a request to the API, whose answer must have the status. It decodes the answer's data into data.
func (w *workspace) do(method, path string, body any, status int, data any) {
	w.t.Helper()
	content, mediaType := io.Reader(http.NoBody), ""
	switch b := body.(type) {
	case nil:
	case string: // a file of rules
		content, mediaType = strings.NewReader(b), "application/yaml"
	default:
		payload, err := json.Marshal(b)
		require.NoError(w.t, err)
		content, mediaType = bytes.NewReader(payload), "application/json"
	}
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, content)
	require.NoError(w.t, err)
	r.Header.Set("Authorization", "Bearer "+w.key)
	r.Header.Set("X-Workspace-Id", w.id)
	maps.Copy(r.Header, w.header)
	if mediaType != "" {
		r.Header.Set("Content-Type", mediaType)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(w.t, err)
	defer func() { _ = answer.Body.Close() }()
	payload, err := io.ReadAll(answer.Body)
	require.NoError(w.t, err)
	require.Equal(w.t, status, answer.StatusCode, "%s %s: %s", method, path, payload)
	if data != nil {
		require.NoError(w.t, json.Unmarshal(payload, &struct{ Data any }{data}))
	}
}

// execute executes a command on the graph, whose answer must have the status.
func (w *workspace) execute(status int, kind string, payload map[string]any) {
	w.t.Helper()
	w.do(http.MethodPost, "/api/commands/execute", map[string]any{"type": kind, "payload": payload}, status, nil)
}

// createNode creates a node, with a description unless that is empty, and returns its id.
func (w *workspace) createNode(name, description string) uuid.UUID {
	w.t.Helper()
	id := uuid.New()
	node := map[string]any{"id": id, "name": name, "entityType": "object"}
	if description != "" {
		node["description"] = description
	}
	w.execute(http.StatusCreated, "CREATE_NODE", node)
	return id
}

// createEdge creates an edge.
func (w *workspace) createEdge(source, target uuid.UUID, relation string) {
	w.t.Helper()
	w.execute(http.StatusCreated, "CREATE_EDGE", map[string]any{
		"sourceId": source, "targetId": target, "relationType": relation,
	})
}

// createSource creates a source of points and returns its id.
func (w *workspace) createSource(source map[string]any) string {
	w.t.Helper()
	var created struct{ ID string }
	w.do(http.MethodPost, "/api/live-data/sources", source, http.StatusCreated, &created)
	return created.ID
}

// send sends a point and returns its checkpoint.
func (w *workspace) send(source, metric string, value any) (checkpoint string) {
	w.t.Helper()
	var accepted struct{ Checkpoint string }
	w.do(http.MethodPost, "/api/live-data/ingest", map[string]any{"points": []any{
		map[string]any{"source": source, "metric": metric, "value": value},
	}}, http.StatusCreated, &accepted)
	return accepted.Checkpoint
}

// measure sends a point and waits until queries return it.
func (w *workspace) measure(source, metric string, value any) {
	w.t.Helper()
	w.do(
		http.MethodGet, "/api/live-data/query?checkpoint="+w.send(source, metric, value), nil, http.StatusOK, nil,
	)
}

// eventually waits until the server has done in the background what the condition requires.
func (w *workspace) eventually(condition func() bool) {
	w.t.Helper()
	require.Eventually(w.t, condition, visibleTimeout, 200*time.Millisecond)
}

// TestCommandsOnAServer runs the commands that need a server. They share one, because it starts five engines.
func TestCommandsOnAServer(t *testing.T) {
	s := startServer(t)
	t.Run("each with a workspace", func(t *testing.T) {
		for name, test := range map[string]func(*workspace){
			"sources and points": testPointsByCommandLine,
			"graph":              testGraphByCommandLine,
			"search":             testSearchByCommandLine,
			"saved queries":      testSavedQueriesByCommandLine,
			"JSON":               testListsAsJSON,
			"documents":          testDocumentsByCommandLine,
			"rules and alerts":   testRulesByCommandLine,
			"webhooks":           testWebhooksByCommandLine,
			"topics":             testTopicsByCommandLine,
			"audit log":          testAuditByCommandLine,
			"doctor":             testDoctorByCommandLine,
			"bench":              testBenchByCommandLine,
			"import":             testImportByCommandLine,
			"deletion":           testDeletionByCommandLine,
			"backup":             testBackupByCommandLine,
			"reindex":            testReindexByCommandLine,
			"replays":            testReplaysByCommandLine,
			"dead letters":       testDeadLettersByCommandLine,
			"refusals of MCP":    testMCPRefusals,
			"traces":             testTraces,
			"MQTT":               testMQTTByCommandLine,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(s.newWorkspace(t))
			})
		}
	})
	t.Run("with the standard input and output", func(t *testing.T) {
		testMCPByCommandLine(s.newWorkspace(t))
		testStandardInput(s.newWorkspace(t))
	})
}
