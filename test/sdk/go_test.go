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

// TestTheSDKInGo runs the tests of the module: without a service those that need none.
func TestTheSDKInGo(t *testing.T) {
	var environment []string
	if !testing.Short() {
		s := harness.New(t, binary, alerting...)
		s.Start()
		environment = []string{
			"LIVEGRAPH_URL=" + s.URL(), "LIVEGRAPH_API_KEY=" + s.First.AdminKey,
			"LIVEGRAPH_WORKSPACE_ID=" + s.First.WorkspaceID,
		}
	}
	goTool(t, golang, environment, "test", "-count=1", "-timeout", "10m", "./...")
}

func TestTheSDKInGoHasNoRaces(t *testing.T) {
	testenv.RequireFull(t)
	if _, err := exec.LookPath("gcc"); err != nil {
		testenv.SkipMissing(t, "the tests of the SDK for Go with the race detector (gcc)")
	}
	goTool(t, golang, []string{"CGO_ENABLED=1"}, "test", "-race", "-count=1", "-timeout", "10m", "./...")
}

func TestTheTypesOfTheSDKInGoAreThoseOfTheContract(t *testing.T) {
	testenv.RequireFull(t)
	const root = "../../../" // from the folder of the tool
	goTool(
		t, "../../internal/tools/sdk", nil, "run", ".", "-check", root+"schemas/openapi.yaml", root+"sdk/go/types.gen.go",
	)
}
