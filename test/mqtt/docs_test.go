package mqtt

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/harness"
)

// block returns the code block after a comment in docs/mqtt.md.
func block(t *testing.T, comment string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/mqtt.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(page), "<!-- "+comment+" -->\n```")
	require.True(t, found, comment)
	_, after, _ = strings.Cut(after, "\n")
	text, _, found := strings.Cut(after, "```")
	require.True(t, found, comment)
	return text
}

// TestThePage runs the example of docs/mqtt.md.
func TestThePage(t *testing.T) {
	s := harness.New(t, binary)
	s.Start()
	broker := startBroker(t, "mqtt", "allow_anonymous true")
	host, port, err := net.SplitHostPort(broker.address)
	require.NoError(t, err)
	config := block(t, "test/mqtt runs a bridge with this")
	require.Contains(t, config, "127.0.0.1:1883")
	require.Equal(t, "bin/livegraph mqtt mqtt.yaml --url \"$LIVEGRAPH_URL\"\n", block(t, "test/mqtt runs this"))
	b := startBridge(t, s, strings.ReplaceAll(config, "127.0.0.1:1883", broker.address))
	b.waitSubscribed(1)

	commands := block(t, "test/mqtt runs this too")
	commands = strings.ReplaceAll(commands, "mosquitto_pub", "mosquitto_pub -h "+host+" -p "+port)
	shell := exec.Command("bash", "-euo", "pipefail", "-c", commands)
	shell.Env = append(os.Environ(), "no_proxy=*", "LIVEGRAPH_URL="+s.URL(), "LIVEGRAPH_API_KEY="+s.First.AdminKey,
		"LIVEGRAPH_WORKSPACE_ID="+s.First.WorkspaceID)
	printed, err := shell.CombinedOutput()
	require.NoError(t, err, "%s", printed)
	for _, part := range []string{
		`"metric":"oil/temp"`, `,71.5]`, `"plant":"berlin"`, `"metric":"door.open"`, `"firmware":"1.4"`, `,21.5]`,
	} {
		require.Contains(t, string(printed), part)
	}
}
