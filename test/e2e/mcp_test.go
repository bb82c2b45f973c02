package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// testMCPPage runs the commands of docs/mcp.md.
func testMCPPage(t *testing.T, server *server) {
	commands := testedCommands(t, "mcp.md")
	require.Len(t, commands, 2)
	require.Contains(t, runCommands(t, server, commands[0]), `"name":"search"`)
	printed := runCommands(t, server, commands[1])
	require.Contains(t, printed, `"id":2`)
	require.Contains(t, printed, "requestId")
}

// testMCPOverStdio uses the command as the client of the protocol's library does.
func testMCPOverStdio(t *testing.T, server *server) {
	command := exec.Command(binary, "mcp")
	command.Dir = t.TempDir()
	command.Env = append(os.Environ(), "no_proxy=*", "LIVEGRAPH_URL="+server.URL(),
		"LIVEGRAPH_API_KEY="+server.First.AdminKey, "LIVEGRAPH_WORKSPACE_ID="+server.First.WorkspaceID)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: command}, nil)
	require.NoError(t, err)
	defer func() { _ = session.Close() }()
	call := func(name string, arguments map[string]any) string {
		t.Helper()
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
		require.NoError(t, err)
		text := result.Content[0].(*mcp.TextContent).Text
		require.False(t, result.IsError, "%s", text)
		return text
	}
	made := call("execute_command", map[string]any{
		"type": "CREATE_NODE", "payload": map[string]any{"name": "Pump 7", "entityType": "object"},
	})
	_, rest, found := strings.Cut(made, "livegraph://nodes/")
	require.True(t, found, "%s", made)
	id := rest[:36]
	require.Contains(t, call("node", map[string]any{"id": id}), "Pump 7")
	node, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "livegraph://nodes/" + id})
	require.NoError(t, err)
	require.Contains(t, node.Contents[0].Text, "Pump 7")
	require.NoError(t, session.Close())

	refused := exec.Command(binary, "mcp")
	refused.Dir = t.TempDir()
	refused.Env = append(os.Environ(), "no_proxy=*", "LIVEGRAPH_URL="+server.URL(), "LIVEGRAPH_API_KEY=wrong",
		"LIVEGRAPH_WORKSPACE_ID="+server.First.WorkspaceID)
	printed, err := refused.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(printed), "the server refuses the key: Unauthorized")
}
