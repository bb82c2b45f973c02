package otel

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const python = "../../bin/otel-python/bin/python" // set up by make test-all

// testSDKOfPython measures with the SDK, which the documented variables configure, over HTTP and gRPC, in both
// temporalities. An export with a wrong key fails at once.
func testSDKOfPython(t *testing.T) {
	s := running(t)
	proxy, requests := counting(t, s.http)
	variables := documented(t, "test/otel runs an SDK with these", "sh")
	for protocol, endpoint := range map[string]string{"http/protobuf": s.http, "grpc": s.grpc} {
		for _, delta := range []bool{false, true} {
			service := "python-" + protocol[:4] + "-" + strconv.FormatBool(delta)
			command := exec.Command("bash", "-euc", variables+`
				export OTEL_SERVICE_NAME="$SERVICE" OTEL_EXPORTER_OTLP_PROTOCOL="$PROTOCOL"
				exec "$PYTHON" testdata/sdk.py`)
			command.Env = append(os.Environ(), "no_proxy=*", "LIVEGRAPH_URL=http://"+endpoint, "LIVEGRAPH_API_KEY="+s.writer,
				"LIVEGRAPH_WORKSPACE_ID="+s.workspace, "PYTHON="+python, "SERVICE="+service, "PROTOCOL="+protocol)
			if delta {
				command.Env = append(command.Env, "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=delta")
			}
			if protocol != "grpc" {
				command.Env = append(command.Env, "WRONG=http://"+proxy+"/v1/metrics")
			}
			began := time.Now()
			printed, err := command.CombinedOutput()
			require.NoError(t, err, "%s", printed)
			lines := bytes.Split(bytes.TrimSpace(printed), []byte("\n"))
			var result struct{ Version, Wrong string }
			require.NoError(t, json.Unmarshal(lines[len(lines)-1], &result), "%s", printed)
			require.Equal(t, "FAILURE", result.Wrong)
			requireMeasured(t, s, service+"/shop-1", "python", began, delta, "telemetry.sdk.language", "python",
				"telemetry.sdk.name", "opentelemetry", "telemetry.sdk.version", result.Version)
		}
	}
	require.EqualValues(t, 2, requests.Load(), "what is refused is not sent again")
	require.Empty(t, s.promQL(t, "sdk_wrong", time.Now()))
}
