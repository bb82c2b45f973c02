// Package sdk tests the SDKs in sdk: their unit tests, linters and types, and with a service their end-to-end
// tests and the examples of their pages. make test-all installs what they need.
package sdk

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/harness"
	"github.com/livegraph/livegraph/test/testenv"
)

const (
	binary = "../../bin/livegraph"             // written by make build
	python = "../../bin/sdk-python/bin/python" // set up by make test-all
	source = "../../sdk/python"
)

// alerting are the arguments of a server that evaluates rules each second and sends events to this machine.
var alerting = []string{"--rules-min-interval", "1s", "--outbound-allowed-networks", "127.0.0.0/8"}

// run runs a module of Python in the folder of the SDK.
func run(t *testing.T, environment []string, arguments ...string) {
	t.Helper()
	interpreter, err := filepath.Abs(python)
	require.NoError(t, err)
	require.FileExists(t, interpreter, "make test-all sets it up")
	command := exec.CommandContext(t.Context(), interpreter, append([]string{"-m"}, arguments...)...)
	command.Dir = source
	command.Env = append(os.Environ(), environment...)
	command.Env = append(command.Env, "PYTHONPATH=src", "PYTHONDONTWRITEBYTECODE=1", "no_proxy=*")
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	t.Logf("%s", output)
}

func TestUnits(t *testing.T) {
	testenv.RequireFull(t)
	run(t, nil, "pytest", "-q", "-p", "no:cacheprovider", "tests/unit")
}

func TestStyle(t *testing.T) {
	testenv.RequireFull(t)
	run(t, nil, "ruff", "check", "--no-cache", ".")
	run(t, nil, "ruff", "format", "--no-cache", "--check", ".")
}

func TestTypes(t *testing.T) {
	testenv.RequireFull(t)
	run(t, nil, "mypy", "--cache-dir", t.TempDir())
}

func TestServiceAndExamples(t *testing.T) {
	testenv.RequireFull(t)
	if testing.Short() {
		t.Skip("starts a service")
	}
	s := harness.New(t, binary, alerting...)
	s.Start()
	run(
		t, []string{
			"LIVEGRAPH_URL=" + s.URL(), "LIVEGRAPH_API_KEY=" + s.First.AdminKey,
			"LIVEGRAPH_WORKSPACE_ID=" + s.First.WorkspaceID,
		}, "pytest", "-q", "-p", "no:cacheprovider", "tests/e2e",
	)
}
