package cli

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/test/testenv"
)

// testMCPRefusals requires that the command says why it cannot use a server.
func testMCPRefusals(w *workspace) {
	t := w.t
	page := newReceiver(t, http.StatusOK) // whose answers are empty
	for message, args := range map[string][]string{
		"the server refuses the key: Unauthorized":                            {"--key", "wrong"},
		"the server cannot be reached: ":                                      {"--key", "k", "--url", "http://127.0.0.1:1"},
		" is not a server of Livegraph: its answer to /api/me has status 200": {"--key", "k", "--url", page.URL},
		"the server's address \"http://h:x\": ":                               {"--key", "k", "--url", "http://h:x"},
		"missing flags: --key=KEY":                                            {},
	} {
		require.Contains(t, w.bad(w.in(append([]string{"mcp"}, args...)...)...), message)
	}
	elsewhere := &workspace{server: &server{dataDir: t.TempDir()}, t: t, id: w.id}
	require.Contains(t, elsewhere.bad(w.in("mcp", "--key", "k")...), "name a server on another machine with --url")
}

// testMCPByCommandLine uses the command by the client of the protocol's library, with a key that may read only. It
// replaces the standard input and output, so that no other test may run at the same time.
func testMCPByCommandLine(w *workspace) {
	t := w.t
	pump := w.createNode("Pump 7", "").String()
	key := decode[struct{ Key string }](t, w.ok(w.in("keys", "create", "--name", "model", "--scope", "read:nodes",
		"--json")...)).Key
	stdin, toCommand := pipe(t)
	fromCommand, stdout := pipe(t)
	replaceStandardFiles(t, stdin, stdout)
	ended := make(chan string, 1)
	go func() {
		code, _, problems := w.run(w.in("mcp", "--key", key)...)
		if code == 0 {
			problems = "" // of the session's end
		}
		ended <- problems
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: fromCommand, Writer: toCommand}, nil)
	require.NoError(t, err)
	tools, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	names := make([]string, len(tools.Tools))
	for i, tool := range tools.Tools {
		names[i] = tool.Name
	}
	require.Contains(t, names, "node")
	require.NotContains(t, names, "execute_command", "the key may not write")
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "node", Arguments: map[string]any{"id": pump}})
	require.NoError(t, err)
	require.False(t, result.IsError)
	require.Contains(t, result.Content[0].(*mcp.TextContent).Text, "Pump 7")
	_ = session.Close()
	require.Empty(t, <-ended)
}

// testStandardInput passes a graph, rules and a password to commands that read the standard input.
func testStandardInput(w *workspace) {
	t := w.t
	input := func(text string) {
		path := filepath.Join(t.TempDir(), "input")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		file, err := os.Open(path)
		require.NoError(t, err)
		t.Cleanup(func() { _ = file.Close() })
		replaceStandardFiles(t, file, os.Stdout)
	}
	input(machineRules)
	require.Contains(t, w.ok(w.in("rules", "put", "-")...), "rules: 1 group with 5 rules")
	input(machineRules)
	require.Contains(t, w.ok(w.in("rules", "put", "-", "--name", "machines")...), "machines: 1 group")
	require.Contains(t, w.ok(w.in("rules", "list")...), "2 files")

	node := w.createNode("Pump 9", "").String()
	input(w.ok(w.in("export")...))
	other := w.newWorkspace(t)
	require.Contains(t, w.ok(other.in("import", "-")...), "nodes and edges created")
	require.Contains(t, w.ok(other.in("graph", "node", node)...), "Pump 9")

	input("a long enough password\nsecond line\n")
	created := decode[access.Operator](t, w.ok("operators", "create", "--name", "ada", "--stdin", "--json"))
	require.Equal(t, "ada", created.Name)
	w.do(http.MethodPost, "/admin/api/session", map[string]string{"name": "ada", "password": "a long enough password"},
		http.StatusOK, nil)
	input("short\n")
	require.Contains(t, w.bad("operators", "password", "ada", "--stdin"), "password")
	require.Contains(t, w.ok("operators", "delete", "ada"), "operator ada is deleted")
}

// replaceStandardFiles replaces the standard input and output until the test ends.
func replaceStandardFiles(t *testing.T, stdin, stdout *os.File) {
	t.Helper()
	oldIn, oldOut := os.Stdin, os.Stdout
	t.Cleanup(func() { os.Stdin, os.Stdout = oldIn, oldOut })
	os.Stdin, os.Stdout = stdin, stdout
}

func pipe(t *testing.T) (from, to *os.File) {
	t.Helper()
	from, to, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = from.Close()
		_ = to.Close()
	})
	return from, to
}

// testMQTTByCommandLine runs the bridge with a broker that does not answer; see test/mqtt for one that does.
func testMQTTByCommandLine(w *workspace) {
	t := w.t
	file := filepath.Join(t.TempDir(), "mqtt.yaml")
	require.NoError(t, os.WriteFile(file, []byte("brokers: [{url: 'mqtt://127.0.0.1:1', clientId: c, mappings: "+
		"[{topic: 'n/{s}', payload: number, source: '{s}', metric: m}]}]"), 0o600))
	mqtt := w.in("mqtt", file, "--key", w.key)
	require.Empty(t, w.ok(append(mqtt, "--check")...))
	require.Contains(t, w.bad(append(mqtt, "--flush", "1ms")...), "--flush: must be from 10ms to 1m0s")
	require.Contains(t, w.bad(append(mqtt, "--metrics", w.listen)...), "choose another address with --metrics")

	metrics := freeAddress(t)
	ctx, stop := context.WithCancel(t.Context())
	output := &testenv.Output{}
	parser, err := newParser(ctx, "test", output, output)
	require.NoError(t, err)
	command, err := parser.Parse(slices.Concat(mqtt, []string{
		"--data-dir", w.dataDir, "--log-level", "error", "--metrics", metrics,
	}))
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- command.Run() }()
	w.eventually(func() bool {
		answer, err := http.Get("http://" + metrics + "/metrics")
		if err != nil {
			return false
		}
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		return err == nil && strings.Contains(string(text), `livegraph_mqtt_connected{broker="127.0.0.1:1"} 0`)
	})
	stop()
	require.NoError(t, <-ended, "%s", output)
}
