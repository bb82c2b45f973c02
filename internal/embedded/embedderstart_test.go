package embedded_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/livegraph/livegraph/internal/embedded"
)

func TestTheEmbedderIsStartedWhereItIsWanted(t *testing.T) {
	others := embedded.Addresses{KafkaBrokers: []string{"kafka:9092"}, ClickHouseURL: "clickhouse://c:9000/d",
		PostgresURL: "postgres://p/d", MilvusAddress: "milvus:19530", RedisURL: "redis://r"}
	for name, c := range map[string]struct {
		configured string
		settings   *embedded.EmbedderSettings
		processes  int
	}{
		"wanted":     {settings: &embedded.EmbedderSettings{Threads: 3}, processes: 1},
		"not wanted": {},
		"elsewhere":  {configured: "http://embedder/v1", settings: &embedded.EmbedderSettings{}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			configured := others
			configured.EmbedderURL = c.configured
			engines, err := embedded.Start(t.Context(), embedded.Options{
				DataDir: dir, Configured: configured, Embedder: c.settings,
			})
			require.NoError(t, err)
			require.Len(t, engines.Processes(), c.processes)
			if c.processes == 1 {
				embed(t, engines.Addresses().EmbedderURL, "pump")
				requireBulkYields(t, engines.Processes()[0].PID(), c.settings.Threads)
			} else {
				require.Equal(t, configured, engines.Addresses())
			}
			require.NoError(t, engines.Stop(t.Context()))
			requireNoProcesses(t, dir, 0)
		})
	}
}

// requireBulkYields requires that the threads of the embedder for passages have a lower priority, and no others.
func requireBulkYields(t *testing.T, pid, passages int) {
	t.Helper()
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	require.NoError(t, err)
	usual, err := unix.Getpriority(unix.PRIO_PROCESS, pid) // 20 less the niceness
	require.NoError(t, err)
	yielding := 0
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		require.NoError(t, err)
		if raw, err := unix.Getpriority(unix.PRIO_PROCESS, id); err == nil && raw == usual-5 { // it may have ended
			yielding++
		}
	}
	require.Equal(t, passages, yielding)
}

func TestTheEmbedderStartsAndEndsBesideEnginesThatRun(t *testing.T) {
	dir := t.TempDir()
	configured := embedded.Addresses{KafkaBrokers: []string{"kafka:9092"}, ClickHouseURL: "clickhouse://c:9000/d",
		PostgresURL: "postgres://p/d", MilvusAddress: "milvus:19530", RedisURL: "redis://r"}
	engines, err := embedded.Start(t.Context(), embedded.Options{DataDir: dir, Configured: configured})
	require.NoError(t, err)
	metrics := prometheus.NewPedanticRegistry()
	engines.Register(metrics)
	require.False(t, engines.HadEmbedder(embedded.EmbedderModel))
	require.NoError(t, engines.StopEmbedder(t.Context(), embedded.EmbedderModel), "none runs")
	for range 2 { // the second time after a stop
		at, err := engines.StartEmbedder(t.Context(), embedded.EmbedderSettings{})
		require.NoError(t, err)
		again, err := engines.StartEmbedder(t.Context(), embedded.EmbedderSettings{})
		require.NoError(t, err)
		require.Equal(t, at, again)
		require.Len(t, engines.Processes(), 1, "it is started once")
		embed(t, at, "pump")
		counted, err := metrics.Gather()
		require.NoError(t, err)
		require.Len(t, counted, 1)
		require.Len(t, counted[0].GetMetric(), 1)
		require.NoError(t, engines.StopEmbedder(t.Context(), embedded.EmbedderModel))
		requireNoProcesses(t, dir, 0)
	}
	require.True(t, engines.HadEmbedder(embedded.EmbedderModel))
	_, err = engines.StartEmbedder(t.Context(), embedded.EmbedderSettings{})
	require.NoError(t, err)
	require.NoError(t, engines.Stop(t.Context()), "the others' end is its end")
	requireNoProcesses(t, dir, 0)
}
