package serve

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/config"
)

func TestAPartOfTheRolesNamesTheEnginesThatItDoesNotShare(t *testing.T) {
	split := Options{Config: &config.Config{Roles: []string{"points"}}}
	split.Kafka.Brokers, split.ClickHouse.URL, split.Postgres.URL = []string{"k:9092"}, "http://c:8123/x", "postgres://p/x"
	require.Equal(t, []string{"--redis-url", "--milvus-address"}, split.missingEngines())
	split.Redis.URL, split.Milvus.Address = "redis://r:6379", "m:19530"
	require.Empty(t, split.missingEngines())
	all := &Options{Config: &config.Config{Roles: []string{"all"}}}
	require.Empty(t, all.missingEngines(), "a single process may use embedded engines")
}

func TestTheLogBesideALiveViewIsBounded(t *testing.T) {
	previous := slog.Default()
	t.Cleanup(func() { slog.SetDefault(previous) })
	c := Options{Config: &config.Config{DataDir: t.TempDir()}, Demo: true}
	c.Log.Format = "json"
	logger, closeLog, err := c.logger(true)
	require.NoError(t, err)
	const bound, written = 16 << 20, 24
	text := strings.Repeat("x", 1<<20)
	for range written {
		logger.Error(text)
	}
	logger.Error("the last line")
	closeLog()
	total := int64(0)
	files, err := filepath.Glob(filepath.Join(c.DataDir, "logs", "*"))
	require.NoError(t, err)
	for _, name := range files {
		info, err := os.Stat(name)
		require.NoError(t, err)
		total += info.Size()
	}
	require.LessOrEqual(t, total, int64(bound))
	newest, err := os.ReadFile(filepath.Join(c.DataDir, "logs", "livegraph.log"))
	require.NoError(t, err)
	require.Contains(t, string(newest), "the last line")
}
