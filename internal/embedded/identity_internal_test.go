package embedded

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCommandsOfAnIdentityDoNotGetOurSecrets(t *testing.T) {
	t.Setenv("LIVEGRAPH_KAFKA_SASL_PASSWORD", "a secret")
	t.Setenv("FOR_ALL", "kept")
	cmd, err := identityCurrent.command(t.Context(), "/", "/usr/bin/env")
	require.NoError(t, err)
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "FOR_ALL=kept")
	require.NotContains(t, string(out), "LIVEGRAPH_")
}
