package influx

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

const python = "../../bin/influx-python/bin/python" // set up by make test-all

// runPython runs a script of testdata and returns its last line of output.
func runPython(t *testing.T, s *server, address, script string) map[string]any {
	t.Helper()
	command := exec.Command(python, "testdata/"+script)
	command.Env = append(os.Environ(), "LG="+address, "KEY="+s.writer, "WORKSPACE="+s.workspace, "no_proxy=*",
		"SNIPPET="+block(t, "Telegraf and InfluxDB clients", "python"))
	printed, err := command.CombinedOutput()
	require.NoError(t, err, "%s", printed)
	lines := splitLines(printed)
	var result map[string]any
	require.NoError(t, json.Unmarshal(lines[len(lines)-1], &result), "%s", printed)
	return result
}

func TestThePythonClientWrites(t *testing.T) {
	s := running
	got := runPython(t, s, s.url, "version2.py")
	require.Equal(t, true, got["ping"])
	require.Equal(t, "pass", got["health"])
	require.Equal(t, 400.0, got["status"])
	require.Contains(t, got["message"], "line 2: fields.f")
	require.Empty(t, got["failed"])
	s.awaitCount(t, "weather", 1)
	s.awaitCount(t, "batched", 3*2500)
	s.awaitCount(t, "partly", 2)
}

func TestThePythonClientSendsAgainWhatWasNotTaken(t *testing.T) {
	s := running
	front := s.newRefusingProxy(t, 2, 503)
	got := runPython(t, s, front.url, "retry.py")
	require.Empty(t, got["failed"])
	require.EqualValues(t, 2, front.refused.Load())
	s.awaitCount(t, "again", 1000)
}

func TestThePythonClientOfVersion1Writes(t *testing.T) {
	s := running
	got := runPython(t, s, s.url, "version1.py")
	require.NotEmpty(t, got["version"])
	require.Equal(t, true, got["written"])
	require.Equal(t, 400.0, got["status"])
	s.awaitCount(t, "old", 3*1000)
}
