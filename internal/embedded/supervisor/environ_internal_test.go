package supervisor

import (
	"bytes"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChildrenDoNotGetOurSecrets(t *testing.T) {
	t.Setenv("LIVEGRAPH_KAFKA_SASL_PASSWORD", "a secret")
	t.Setenv("FOR_ALL", "kept")
	python := exec.Command("/usr/bin/env")
	python.Env = PythonEnv()
	for name, cmd := range map[string]*exec.Cmd{"any": exec.Command("/usr/bin/env"), "python": python} {
		var out bytes.Buffer
		run, err := spawn(cmd, syscall.SIGKILL, &out, nil)
		require.NoError(t, err)
		<-run.ended
		require.Contains(t, out.String(), "FOR_ALL=kept", name)
		require.NotContains(t, out.String(), "LIVEGRAPH_", name)
	}
}
