package serve

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/config"
)

func TestAPartOfTheRolesNamesTheEnginesThatItDoesNotShare(t *testing.T) {
	split := Options{Config: &config.Config{Roles: []string{"points"}}}
	split.Kafka.Brokers, split.ClickHouse.URL, split.Postgres.URL = []string{"k:9092"}, "http://c:8123/x", "postgres://p/x"
	require.Equal(t, []string{"--redis-url", "--milvus-address"}, split.unshared())
	split.Redis.URL, split.Milvus.Address = "redis://r:6379", "m:19530"
	require.Empty(t, split.unshared())
	require.Empty(t, (&Options{Config: &config.Config{Roles: []string{"all"}}}).unshared(), "alone it may have its own")
}
