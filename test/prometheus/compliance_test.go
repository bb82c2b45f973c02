package prometheus

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tests of the Prometheus project for receivers of remote write 2.0, and their checksum. They are a program without
// a package that could be imported.
const (
	suite    = "github.com/prometheus/compliance/remotewrite/receiver@v0.0.0-20260806071727-67b8327a2e93"
	suiteSum = "h1:VPMEZpXBAlaQrdz+ER6AQ9ArmxkYSy/SxkUixEwtH3Q="
)

// copySuite downloads the tests and returns a copy of their folder.
func copySuite(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	download := exec.Command("go", "mod", "download", "-json", suite)
	download.Dir = dir
	text, err := download.Output()
	require.NoError(t, err, "%s", text)
	var module struct{ Dir, Sum string }
	require.NoError(t, json.Unmarshal(text, &module))
	require.Equal(t, suiteSum, module.Sum)
	files, err := os.ReadDir(module.Dir)
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(module.Dir, file.Name()))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, file.Name()), text, 0o600))
	}
	return dir
}

// differences are the tests of the suite that fail, because Livegraph accepts gzip as well: they expect that it is an
// encoding that is not supported (415), and send a body that is no gzip (400).
var differences = []string{
	"TestBadContentEncodings", "TestBadContentEncodings/gzip", "TestBadContentEncodings/gzip/livegraph",
}

// minPassed is less than the number of tests in the suite.
const minPassed = 400

// TestTheSuiteOfPrometheusPasses runs the tests, also those of what a receiver only should or may do.
func TestTheSuiteOfPrometheusPasses(t *testing.T) {
	l := startLivegraph(t)
	command := exec.Command("go", "test", "-count=1", "-json", ".")
	command.Dir = copySuite(t)
	config := filepath.Join(command.Dir, "config.yml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `remote_write:
  - name: livegraph
    url: http://%s/api/v1/write
    authorization: {credentials: %s}
    headers: {x-workspace-id: %s}
`, l.address, l.writer, l.workspace), 0o600))
	printed, _ := command.Output() // fails because of the differences
	passed, others, outputs := 0, []string{}, map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(printed))
	for lines.Scan() {
		var e struct{ Action, Test, Output string }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &e), "%s", lines.Bytes())
		outputs[e.Test] += e.Output
		switch e.Action {
		case "pass":
			passed++
			// The suite lets 400 pass where it expects success.
			if strings.Contains(e.Test, "_returns_204/") && !strings.Contains(outputs[e.Test], `"livegraph": 204`) {
				t.Errorf("%s", outputs[e.Test])
			}
		case "skip", "fail":
			if e.Test != "" {
				others = append(others, e.Test)
			}
		}
	}
	require.NoError(t, lines.Err())
	require.Greater(t, passed, minPassed, "%s", printed)
	for _, name := range others {
		if !slices.Contains(differences, name) {
			t.Errorf("%s", outputs[name])
		}
	}
	require.ElementsMatch(t, differences, others)
}
