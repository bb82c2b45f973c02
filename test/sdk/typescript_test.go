package sdk

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/harness"
	"github.com/livegraph/livegraph/test/testenv"
)

const typescript = "../../sdk/typescript"

// npm runs a script of the SDK in TypeScript.
func npm(t *testing.T, script string, environment ...string) {
	t.Helper()
	require.DirExists(t, typescript+"/node_modules", "make test-all sets it up")
	command := exec.CommandContext(t.Context(), "npm", "run", script)
	command.Dir = typescript
	command.Env = append(append(os.Environ(), "NO_COLOR=1"), environment...)
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	t.Logf("%s", output)
}

func TestUnitsInTypeScript(t *testing.T) {
	testenv.RequireFull(t)
	npm(t, "test")
}

func TestStyleAndTypesOfTypeScript(t *testing.T) {
	testenv.RequireFull(t)
	npm(t, "lint")
}

func TestServiceAndExamplesInTypeScript(t *testing.T) {
	testenv.RequireFull(t)
	if testing.Short() {
		t.Skip("starts a service")
	}
	s := harness.New(t, binary, alerting...)
	s.Start()
	npm(
		t, "test:service", "LIVEGRAPH_URL="+s.URL(), "LIVEGRAPH_API_KEY="+s.First.AdminKey,
		"LIVEGRAPH_WORKSPACE_ID="+s.First.WorkspaceID,
	)
}
