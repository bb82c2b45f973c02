package cli

import (
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCommandsReadTheVariablesOfTheExamples covers the variables that the examples of the
// documentation set for HTTP requests.
func TestCommandsReadTheVariablesOfTheExamples(t *testing.T) {
	const workspace, url = "0198c0de-0000-7000-8000-000000000001", "http://127.0.0.1:18080"
	t.Setenv("LIVEGRAPH_WORKSPACE_ID", workspace)
	t.Setenv("LIVEGRAPH_URL", url)
	for _, command := range []struct {
		args       []string
		flag, want string
	}{
		{[]string{"export"}, "workspace", workspace},
		{[]string{"import", "environment_test.go"}, "workspace", workspace},
		{[]string{"demo"}, "workspace", workspace},
		{[]string{"sources", "list"}, "workspace", workspace},
		{[]string{"bench"}, "url", url},
	} {
		require.Equal(t, command.want, flagValue(t, command.flag, command.args...), "%v", command.args)
	}
	const other = "0198c0de-0000-7000-8000-000000000002"
	require.Equal(t, other, flagValue(t, "workspace", "demo", "--workspace", other), "a flag overrides the variable")
}

// flagValue returns the value of a flag of a command line as text.
func flagValue(t *testing.T, name string, args ...string) string {
	t.Helper()
	parser, err := newParser(t.Context(), "test", io.Discard, io.Discard)
	require.NoError(t, err)
	command, err := parser.Parse(args)
	require.NoError(t, err)
	for _, flag := range command.Flags() {
		if flag.Name == name {
			return fmt.Sprint(command.FlagValue(flag))
		}
	}
	require.Fail(t, "no such flag", "%s of %v", name, args)
	return ""
}
