package sdk

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/harness"
	"github.com/livegraph/livegraph/test/testenv"
)

const golang = "../../sdk/go"

// goTool runs the go command in a folder.
func goTool(t *testing.T, dir string, environment []string, arguments ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", arguments...)
	command.Dir = dir
	command.Env = append(os.Environ(), environment...)
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	t.Logf("%s", output)
}

// TestTheSDKInGo runs the tests of the module: without a service those that need none, and in the long form with the
// race detector.
func TestTheSDKInGo(t *testing.T) {
	arguments := []string{"test", "-count=1", "-timeout", "10m", "./..."}
	if testenv.Full() {
		arguments = append([]string{"test", "-race"}, arguments[1:]...)
	}
	if testing.Short() {
		goTool(t, golang, nil, arguments...)
		return
	}
	s := harness.New(t, binary, alerting...)
	s.Start()
	goTool(t, golang, []string{
		"LIVEGRAPH_URL=" + s.URL(), "LIVEGRAPH_API_KEY=" + s.First.AdminKey,
		"LIVEGRAPH_WORKSPACE_ID=" + s.First.WorkspaceID,
	}, arguments...)
}

func TestTheTypesOfTheSDKInGoAreThoseOfTheContract(t *testing.T) {
	testenv.RequireFull(t)
	const root = "../../../" // from the folder of the tool
	goTool(
		t, "../../internal/tools/sdk", nil, "run", ".", "-check", root+"schemas/openapi.yaml", root+"sdk/go/types.gen.go",
	)
}
