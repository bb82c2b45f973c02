package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// benchReport is the part of the output of `bench --json` that these tests check.
type benchReport struct {
	Accepted, Visible, Rejected int64
	VisiblePerSecond            float64
	Latency, Freshness          struct{ Count int64 }
	Interrupted                 bool
}

// TestBenchMeasuresAndCleansUp runs loads in a workspace of their own and with a given key, and
// requires that they leave nothing behind.
func TestBenchMeasuresAndCleansUp(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Start()
	small := []string{"bench", "--points", "20000", "--batch", "500", "--series", "1000", "--sources", "20"}

	report := readBench(t, s.CLI(append(small, "--json")...))
	require.EqualValues(t, 20_000, report.Accepted)
	require.EqualValues(t, 20_000, report.Visible)
	require.Zero(t, report.Rejected)
	require.Positive(t, report.VisiblePerSecond)
	require.EqualValues(t, 40, report.Latency.Count)
	require.Positive(t, report.Freshness.Count)
	require.False(t, report.Interrupted)
	require.Equal(t, 1, countWorkspaces(t, s), "the one that was made is gone")

	s.Env = []string{"LIVEGRAPH_BENCH_KEY=" + s.First.AdminKey}
	text := s.CLI(append(small, "--workspace", s.First.WorkspaceID, "--rate", "50000", "--format", "rows")...)
	require.Contains(t, text, "accepted   20 k points in 40 requests")
	require.Contains(t, text, "answer to visible")
	require.NotContains(t, text, s.First.AdminKey)
	require.Zero(t, countSources(t, s))

	weak := strings.TrimSpace(s.CLI("keys", "create", "--workspace", s.First.WorkspaceID, "--name", "weak",
		"--scope", "read:livedata", "--scope", "write:livedata"))
	s.Env = []string{"LIVEGRAPH_BENCH_KEY=" + strings.Fields(weak)[0]}
	output, code := s.RunCLI(append(small, "--workspace", s.First.WorkspaceID)...)
	require.Equal(t, 1, code, output)
	require.Contains(t, output, "accepted   20 k points")
	require.Contains(t, output, "a key with the scope admin may delete them")
	require.Equal(t, 20, countSources(t, s))

	s.Env = nil
	output, code = s.RunCLI("bench", "--callers", "0", "--batch", "0")
	require.Equal(t, 1, code)
	require.Contains(t, output, "--callers must be from 1 to 256")
	require.Contains(t, output, "--batch must be from 1 to 1000000")
	output, code = s.RunCLI("bench", "--workspace", s.First.WorkspaceID)
	require.NotZero(t, code)
	require.Contains(t, output, "--key and --workspace go together")

	report = interruptedBench(t, s)
	require.True(t, report.Interrupted)
	require.Positive(t, report.Accepted)
	require.Equal(t, report.Accepted, report.Visible)
	require.Equal(t, 1, countWorkspaces(t, s), "an interrupted load cleans up, too")
}

// testBenchSendsEveryFormat requires that every format is accepted without rejections and writes to
// the sources that the load created.
func testBenchSendsEveryFormat(t *testing.T, s *server) {
	s.Env = []string{"LIVEGRAPH_BENCH_KEY=" + s.First.AdminKey}
	for _, format := range []string{"series", "rows", "ndjson", "lines", "wide-lines", "remote"} {
		report := readBench(t, s.CLI("bench", "--json", "--workspace", s.First.WorkspaceID, "--format", format,
			"--points", "4000", "--batch", "500", "--series", "100", "--sources", "20"))
		require.EqualValues(t, 4000, report.Accepted, format)
		require.EqualValues(t, 4000, report.Visible, format)
		require.Zero(t, report.Rejected, format)
		require.Zero(t, countSources(t, s), "none is made beside them: %s", format)
	}
}

// interruptedBench starts a load that would take days and interrupts it.
func interruptedBench(t *testing.T, s *server) benchReport {
	t.Helper()
	cmd := exec.Command(binary, "bench", "--json", "--data-dir", s.DataDir,
		"--points", "100000000", "--rate", "10000", "--batch", "100", "--series", "100", "--sources", "1")
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, os.Stderr
	require.NoError(t, cmd.Start())
	// The set-up sends one point per series; more points are from the load itself.
	const loaded = "SELECT count() FROM (SELECT 1 FROM points WHERE series IN (SELECT id FROM series WHERE metric = " +
		"'m99') LIMIT 3)"
	require.Eventually(t, func() bool { return s.AskClickHouse(loaded) == "3" }, time.Minute, 50*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	require.NoError(t, cmd.Wait())
	return readBench(t, stdout.String())
}

func readBench(t *testing.T, text string) benchReport {
	t.Helper()
	var report benchReport
	require.NoError(t, json.Unmarshal([]byte(text), &report), text)
	return report
}

func countWorkspaces(t *testing.T, s *server) int {
	t.Helper()
	var list []struct{}
	require.NoError(t, json.Unmarshal([]byte(s.CLI("workspaces", "list", "--json")), &list))
	return len(list)
}

func countSources(t *testing.T, s *server) int {
	t.Helper()
	var list []struct{}
	s.Do("GET", "/api/live-data/sources?limit=100", nil, http.StatusOK, &list)
	return len(list)
}
