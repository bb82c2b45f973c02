package influx

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/influxdata/telegraf/config"
	"github.com/influxdata/telegraf/metric"
	"github.com/influxdata/telegraf/models"
	_ "github.com/influxdata/telegraf/plugins/outputs/influxdb_v2" // the output of the page
	"github.com/stretchr/testify/require"
)

// output returns Telegraf's output with the configuration in docs/formats.md.
func output(t *testing.T, url, key, workspace string) *models.RunningOutput {
	t.Helper()
	text := strings.ReplaceAll(block(t, "Telegraf and InfluxDB clients", "toml"), "http://127.0.0.1:8080", url)
	t.Setenv("LIVEGRAPH_API_KEY", key)
	t.Setenv("LIVEGRAPH_WORKSPACE_ID", workspace)
	loaded := config.NewConfig()
	require.NoError(t, loaded.LoadConfigData([]byte(text), config.EmptySourcePath))
	require.Len(t, loaded.Outputs, 1)
	out := loaded.Outputs[0]
	require.NoError(t, out.Init())
	require.NoError(t, out.Connect())
	t.Cleanup(out.Close)
	return out
}

func add(out *models.RunningOutput, source string, from, n int) {
	for i := from; i < from+n; i++ {
		out.AddMetric(metric.New(source, map[string]string{"host": "host-" + strconv.Itoa(i%3)},
			map[string]any{"usage_idle": 90.5, "n": int64(i), "up": true, "state": "running, \"well\""},
			time.Unix(int64(1763700000+i), 0)))
	}
}

func TestTelegrafWrites(t *testing.T) {
	s := running
	out := output(t, s.url, s.writer, s.workspace)
	add(out, "cpu", 0, 900)
	require.NoError(t, out.Write())
	require.Zero(t, out.BufferLength())
	s.awaitCount(t, "cpu", 4*900)
	for _, series := range s.query(t, "latest=true&source=cpu&metric=state&tag.host=host-0") {
		require.Equal(t, "running, \"well\"", series.Points[0][1])
	}
}

func TestTelegrafKeepsWhatWasNotTakenAndDropsWhatIsBad(t *testing.T) {
	s := running
	front := s.newRefusingProxy(t, 2, http.StatusServiceUnavailable)
	out := output(t, front.url, s.writer, s.workspace)
	add(out, "kept", 0, 100)
	require.Error(t, out.Write())
	require.Equal(t, 100, out.BufferLength(), "it keeps the batch")
	require.Eventually(t, func() bool {
		return out.Write() == nil && out.BufferLength() == 0
	}, time.Minute, 100*time.Millisecond)
	require.EqualValues(t, 2, front.refused.Load())
	s.awaitCount(t, "kept", 400)

	out.AddMetric(metric.New(
		"bad", nil, map[string]any{"long": strings.Repeat("x", 1025), "good": 1.5}, time.Unix(1763700000, 0),
	))
	err := out.Write()
	require.ErrorContains(t, err, "line 1: fields.long: must have at most 1024 bytes")
	require.Zero(t, out.BufferLength(), "it drops the batch")
	s.awaitCount(t, "bad", 1)
}
