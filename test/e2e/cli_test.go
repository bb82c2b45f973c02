package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/harness"
)

// testKeysAndWorkspacesByCommandLine creates a workspace and a key with one scope, uses the key within
// and beyond its scope, and revokes it.
func testKeysAndWorkspacesByCommandLine(t *testing.T, s *server) {
	info, err := os.Stat(filepath.Join(s.DataDir, "first-run.json"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	var workspace struct{ ID string }
	require.NoError(t, json.Unmarshal(
		[]byte(s.CLI("workspaces", "create", "--name", "plant-7", "--plan", "pro", "--json")), &workspace,
	))
	var key struct{ ID, Key string }
	require.NoError(t, json.Unmarshal([]byte(s.CLI("keys", "create", "--workspace", workspace.ID,
		"--name", "reader", "--scope", "read:livedata", "--json")), &key))
	require.Regexp(t, `^lg_live_[0-9A-Za-z]{38}$`, key.Key)
	require.NotContains(t, s.CLI("keys", "list", "--workspace", workspace.ID, "--json"), key.Key, "a key is shown once")

	as := func(key, workspace, method, path string, body []byte) int {
		a, err := s.TryAs(key, workspace, method, path, body)
		require.NoError(t, err)
		return a.Status
	}
	sources := "/api/live-data/sources"
	require.Equal(t, http.StatusOK, as(key.Key, workspace.ID, "GET", sources, nil))
	require.Equal(t, http.StatusForbidden, as(key.Key, workspace.ID, "POST", sources, []byte(`{"name":"x"}`)))
	require.Equal(t, http.StatusForbidden, as(key.Key, s.First.WorkspaceID, "GET", sources, nil))

	s.CLI("keys", "revoke", key.ID)
	time.Sleep(time.Second)
	require.Equal(t, http.StatusUnauthorized, as(key.Key, workspace.ID, "GET", sources, nil))

	t.Run("the first operator logs in, until the password is reset", func(t *testing.T) {
		login := func(password string) harness.Answer {
			body, err := json.Marshal(map[string]string{"name": s.First.AdminUser, "password": password})
			require.NoError(t, err)
			a, err := s.TryWith(nil, "POST", "/admin/api/session", body)
			require.NoError(t, err)
			return a
		}
		session := login(s.First.AdminPassword)
		require.Equal(t, http.StatusOK, session.Status)
		cookie, _, _ := strings.Cut(session.Header.Get("Set-Cookie"), ";")
		get := func(path string) int {
			a, err := s.TryWith(http.Header{"Cookie": {cookie}}, "GET", "/admin/api/"+path, nil)
			require.NoError(t, err)
			return a.Status
		}
		overview := func() int { return get("overview") }
		require.Equal(t, http.StatusOK, overview())
		for _, path := range []string{"topics", "dead-letters", "replays", "indexes", "indexes/reindex"} {
			require.Equal(t, http.StatusOK, get(path), path)
		}
		var reset struct{ Password string }
		require.NoError(t, json.Unmarshal([]byte(s.CLI("operators", "password", s.First.AdminUser, "--json")), &reset))
		require.Equal(t, http.StatusUnauthorized, overview(), "at once")
		require.Equal(t, http.StatusUnauthorized, login(s.First.AdminPassword).Status)
		require.Equal(t, http.StatusOK, login(reset.Password).Status)
	})
}

// TestToolsReportWhatToDoWithoutAServer requires that the error says how to start a server.
func TestToolsReportWhatToDoWithoutAServer(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	output, code := s.RunCLI("workspaces", "list")
	require.Equal(t, 1, code)
	require.Contains(t, output, "livegraph serve")
}

// TestDoctorFindsEveryEngine runs the doctor on a server with embedded engines.
func TestDoctorFindsEveryEngine(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Start()
	var findings []struct{ Name, Status, Detail string }
	output := s.CLI("doctor", "--json")
	require.NoError(t, json.Unmarshal([]byte(output), &findings), output)
	status := map[string]string{}
	for _, f := range findings {
		status[f.Name] = f.Status
		if f.Status == "warning" && strings.Contains(f.Detail, "free on its disk") { // depends on the machine
			status[f.Name] = "ok"
		}
	}
	for _, engine := range []string{"postgres", "clickhouse", "kafka", "redis", "milvus", "metrics"} {
		require.Equal(t, "ok", status[engine], output)
	}
	require.Equal(t, "warning", status["first-run.json"], "the file with the first key is still there")
}

// TestTheDemoFillsTheWorkspace runs the demo until queries return this machine's metrics, its graph
// and the backfill.
func TestTheDemoFillsTheWorkspace(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Start()
	output := s.RunUntil(func() bool {
		var series []struct{ Metric string }
		s.Do("GET", "/api/live-data/query?latest=true&limit=100", nil, http.StatusOK, &series)
		var yearly []struct{ Points [][]any }
		const query = "from=2012-01-01T00:00:00Z&to=2016-01-01T00:00:00Z&aggregation=count&groupBy=none"
		s.Do("GET", "/api/live-data/query?"+query, nil, http.StatusOK, &yearly)
		sources := s.sources()
		return len(sources) > 3 && len(series) > 10 &&
			len(yearly) > 0 && yearly[0].Points[0][1].(float64) >= 5000 &&
			!slices.ContainsFunc(sources, func(s source) bool { return s.NodeID == "" })
	}, "demo", "--plain")
	requireCommands(t, output)
	require.Contains(t, output, " search --hybrid ")
	require.NotContains(t, output, "\ngraph: ", "no trouble")
	s.checkMachineGraph()
}
