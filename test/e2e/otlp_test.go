package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	colmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/livegraph/livegraph/test/ports"
)

// testedCommands returns the commands of a page in docs that follow the comment "a test runs this".
func testedCommands(t *testing.T, page string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	require.NoError(t, err)
	for _, part := range strings.Split(string(text), "<!-- a test runs this -->\n```sh\n")[1:] {
		commands, _, _ := strings.Cut(part, "```")
		blocks = append(blocks, commands)
	}
	require.NotEmpty(t, blocks, page)
	return blocks
}

// runCommands runs commands with the variables of a user of the server's workspace and returns what they print.
func runCommands(t *testing.T, server *server, commands string) string {
	t.Helper()
	shell := exec.Command("bash", "-euo", "pipefail", "-c", commands)
	shell.Dir = t.TempDir()
	shell.Env = append(os.Environ(), "no_proxy=*", "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"),
		"LIVEGRAPH_URL="+server.URL(), "LIVEGRAPH_API_KEY="+server.First.AdminKey,
		"LIVEGRAPH_WORKSPACE_ID="+server.First.WorkspaceID,
	)
	printed, err := shell.CombinedOutput()
	require.NoError(t, err, "%s", printed)
	return string(printed)
}

// testOpenTelemetryPage runs the commands of docs/opentelemetry.md.
func testOpenTelemetryPage(t *testing.T, server *server) {
	blocks := testedCommands(t, "opentelemetry.md")
	require.Len(t, blocks, 2)
	printed := runCommands(t, server, blocks[0])
	require.True(t, strings.HasPrefix(printed, "{}"), "%s", printed)
	require.Contains(t, printed, `"metric":"orders"`)
	require.Contains(t, printed, ",42]")
	printed = runCommands(t, server, blocks[1])
	require.True(t, strings.HasPrefix(printed, "{}"), "%s", printed)
	require.Contains(t, printed, `"3.605`, "the quantile of an exponential histogram")
}

// grpcServer returns a server that accepts OpenTelemetry's metrics over gRPC, and the address.
func grpcServer(t *testing.T) (s *server, address string) {
	t.Helper()
	address, release, err := ports.Free()
	require.NoError(t, err)
	t.Cleanup(release)
	return newServer(t, "--api-otlp-grpc-listen", address), address
}

// testMetricsOverGRPC sends metrics to the address and queries them.
func testMetricsOverGRPC(address string) func(t *testing.T, server *server) {
	return func(t *testing.T, server *server) {
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		ctx := metadata.AppendToOutgoingContext(
			t.Context(), "authorization", "Bearer "+server.First.AdminKey, "x-workspace-id", server.First.WorkspaceID,
		)
		at := time.Now().UnixMilli()
		_, err = colmetrics.NewMetricsServiceClient(conn).Export(ctx, &colmetrics.ExportMetricsServiceRequest{
			ResourceMetrics: []*metrics.ResourceMetrics{{ScopeMetrics: []*metrics.ScopeMetrics{{Metrics: []*metrics.Metric{
				{Name: "level", Data: &metrics.Metric_Gauge{Gauge: &metrics.Gauge{DataPoints: []*metrics.NumberDataPoint{
					{TimeUnixNano: uint64(at) * 1e6, Value: &metrics.NumberDataPoint_AsInt{AsInt: 7}},
				}}}},
			}}}}},
		})
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			return strings.Contains(runCommands(t, server, `curl -s "$LIVEGRAPH_URL/api/live-data/query?`+
				`source=opentelemetry&epoch=ms" -H "Authorization: Bearer $LIVEGRAPH_API_KEY" `+
				`-H "x-workspace-id: $LIVEGRAPH_WORKSPACE_ID"`), "["+strconv.FormatInt(at, 10)+",7]")
		}, time.Minute, 100*time.Millisecond)
	}
}
