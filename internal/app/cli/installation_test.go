package cli

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/runfile"
)

// testReindexByCommandLine rebuilds the search index, once with its progress.
func testReindexByCommandLine(w *workspace) {
	t := w.t
	w.createNode("Pump 7", "leaks oil")
	require.Regexp(t, `(?m)done +100\.0 %  \d+ of \d+ nodes?, `, w.ok("reindex", "--wait"))
	require.Contains(t, w.ok(w.in("search", "oil")...), "Pump 7")
	require.Regexp(t, `^re-index \S{36} is \w+; a server with role embeddings builds it`, w.ok("reindex"))
	type reindex struct{ ID, State string }
	requested := decode[reindex](t, w.ok("reindex", "--json"))
	require.NotEmpty(t, requested.ID)
	lines := strings.Split(strings.TrimSpace(w.ok("reindex", "--wait", "--json")), "\n")
	require.Equal(t, "done", decode[reindex](t, lines[len(lines)-1]).State)
}

// testDoctorByCommandLine checks the engines of the server.
func testDoctorByCommandLine(w *workspace) {
	t := w.t
	status := map[string]string{}
	for _, f := range decode[[]struct{ Name, Status string }](t, w.ok("doctor", "--json")) {
		status[f.Name] = f.Status
	}
	for _, engine := range []string{"postgres", "kafka", "redis", "milvus"} {
		require.Equal(t, "ok", status[engine], engine)
	}
	require.Contains(t, []string{"ok", "warning"}, status["clickhouse"], "its disk may be nearly full")
	require.Equal(t, "warning", status["first-run.json"], "the file with the first key is still there")
	require.Regexp(t, `(?m)^ok +redis +\S+ `, w.ok("doctor"))
	stderr := w.bad("doctor", "--redis-url", "redis://127.0.0.1:1")
	require.Contains(t, stderr, "something is wrong; see above")
	require.Equal(t, "Postgres and ClickHouse are up to date.\n", w.ok("migrate"))
	require.Equal(t, "ready\n", w.ok("ready", "--listen", strings.Replace(w.listen, "127.0.0.1", "0.0.0.0", 1)))
	require.Contains(t, w.bad("ready", "--listen", "127.0.0.1:1"), "no answer")
	require.Contains(t, w.bad("serve", "--listen", w.listen), "is in use by a livegraph server, process ")
}

// testBenchByCommandLine sends loads in a workspace of their own and with a given key, which leave nothing behind.
func testBenchByCommandLine(w *workspace) {
	t := w.t
	small := []string{"bench", "--points", "2000", "--batch", "500", "--series", "100", "--sources", "10"}
	type report struct {
		Accepted, Visible, Rejected int64
		Latency                     struct{ Count int64 }
		Plan                        struct{ Format string }
	}
	got := decode[report](t, w.ok(append(small, "--json")...))
	got.Plan.Format = ""
	require.Equal(t, report{Accepted: 2000, Visible: 2000, Latency: struct{ Count int64 }{4}}, got)

	small = append(small, "--workspace", w.id)
	text := w.ok(append(small, "--key", w.key, "--rate", "100000", "--format", "rows")...)
	require.Contains(t, text, "creating 10 sources with 100 series on "+w.url)
	require.Contains(t, text, "accepted   2 k points in 4 requests")
	require.Contains(t, text, "requested  100 k points/s")
	require.Regexp(t, `(?m)^request to answer +\d+\.\d +.* 4$`, text)
	require.NotContains(t, text, w.key)
	require.Contains(t, w.ok(w.in("sources", "list")...), "0 sources")

	weak := decode[struct{ Key string }](t, w.ok("keys", "create", "--workspace", w.id, "--name", "weak", "--scope",
		"read:livedata", "--scope", "write:livedata", "--json")).Key
	require.Contains(t, w.bad(append(small, "--key", weak)...),
		"a key with the scope admin may delete them")
	require.Contains(t, w.ok(w.in("sources", "list")...), "10 sources")
	require.Contains(t, w.bad("bench", "--callers", "0", "--batch", "0"),
		"--batch must be from 1 to 1000000\n--callers must be from 1 to 256")
	require.Contains(t, w.bad("bench", "--workspace", w.id), "--key and --workspace go together")
	require.Contains(t, w.bad(append(small, "--key", "wrong")...), "Unauthorized")
}

// testImportByCommandLine moves a graph to another workspace.
func testImportByCommandLine(w *workspace) {
	t := w.t
	pump := w.createNode("Pump 7", "")
	boiler := w.createNode("Boiler", "")
	w.createEdge(pump, boiler, "feeds")
	file := filepath.Join(t.TempDir(), "graph.ndjson")
	require.Contains(t, w.ok(w.in("export", "-o", file)...), "exported 2 nodes and 1 edge, up to sequence 3, to "+file)
	other := w.newWorkspace(t)
	require.Equal(t, "3 nodes and edges created, 0 there already, 0 there already with another content and left so, "+
		"0 refused\n", w.ok(other.in("import", file)...))
	require.Regexp(t, `(?m)^1 +feeds +Boiler`, w.ok(other.in("graph", "neighbors", pump.String())...))
	other.execute(http.StatusOK, "UPDATE_NODE", map[string]any{"id": pump, "name": "Pump 8"})
	again := decode[importSummary](t, w.ok(other.in("import", file, "--json")...))
	again.BadLines = nil
	require.Equal(t, importSummary{WorkspaceID: uuid.MustParse(other.id), Lines: 4, There: 2, Different: 1}, again)
	require.Contains(t, w.ok(other.in("graph", "node", pump.String())...), "Pump 8", "an import changes nothing")
	require.NotContains(t, w.ok("keys", "list", "--workspace", other.id), "import  active", "its key is revoked")
	rest := decode[importSummary](t, w.ok(other.in("import", file, "--json", "--from-line", "4")...))
	require.EqualValues(t, 1, rest.There, "an interrupted import is continued")
	require.Contains(t, w.bad(other.in("import", file, "--from-line", "5")...), "--from-line: must be at most 4, ")

	content, err := os.ReadFile(file)
	require.NoError(t, err)
	lines := strings.Split(string(content), "\n")
	onlyEdge := strings.Replace(lines[0], `"nodes":2`, `"nodes":0`, 1) + "\n" + lines[3] + "\n"
	require.NoError(t, os.WriteFile(file, []byte(onlyEdge), 0o600))
	third := w.newWorkspace(t)
	require.Contains(t, w.bad(third.in("import", file)...), "1 line was refused")
	summary := importSummary{}
	_, printed, _ := w.run(third.in("import", file, "--json")...)
	require.NoError(t, json.Unmarshal([]byte(printed), &summary))
	require.Equal(t, 1, summary.Refused)
	require.Equal(t, 2, summary.BadLines[0].Line)
}

// testDeletionByCommandLine deletes a workspace and waits until all stores are empty.
func testDeletionByCommandLine(w *workspace) {
	t := w.t
	w.createNode("Pump 7", "")
	w.createSource(map[string]any{"name": "mill"})
	w.measure("mill", "power", 1)
	text := w.ok("workspaces", "delete", w.id, "--yes")
	require.Regexp(t, `(?m)^workspace `+w.id+` is deleted: \d+ rows removed`, text)
	require.Regexp(t, `"deleted": true`, w.ok("workspaces", "delete", w.id, "--yes", "--json"))
	require.Contains(t, w.bad(w.in("graph", "nodes")...), "--workspace: there is no workspace")
}

// testBackupByCommandLine takes a backup, restores it into an empty data directory, and refuses others.
func testBackupByCommandLine(w *workspace) {
	t := w.t
	w.createNode("Pump 7", "")
	w.createSource(map[string]any{"name": "mill"})
	w.measure("mill", "power", 1)
	dir := filepath.Join(t.TempDir(), "backup")
	require.Regexp(t, `(?m)^`+dir+`: \S+ \S+ in \S+\. It contains everything acknowledged before \S+Z; the graph is as `,
		w.ok("backup", "--to", dir))
	require.Contains(t, w.bad("backup", "--to", dir), "is not empty")
	require.Contains(t, w.ok("restore", "--from", dir, "--check"), "the backup is good: taken ")
	var manifest struct{ Version string }
	require.NoError(t, json.Unmarshal([]byte(w.ok("restore", "--from", dir, "--check", "--json")), &manifest))
	require.Contains(t, w.bad("restore", "--from", dir), "a restore requires an empty data directory")
	require.Contains(t, w.bad("restore", "--from", t.TempDir()), "manifest")
	running, err := runfile.Read(w.dataDir)
	require.NoError(t, err)
	configured := []string{
		"restore", "--from", dir, "--postgres-url", running.PostgresURL, "--clickhouse-url", running.ClickHouseURL,
		"--kafka-brokers", strings.Join(running.KafkaBrokers, ","),
	}
	require.Contains(t, w.bad(configured...), "set LIVEGRAPH_REDIS_URL as well: Redis has to be empty")
	require.Contains(t, w.bad(append(configured, "--redis-url", running.RedisURL)...), "Redis is not empty")
}
