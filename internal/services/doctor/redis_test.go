package doctor_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/services/doctor"
	"github.com/livegraph/livegraph/test/testenv"
)

// checkRedis returns the result for Redis.
func checkRedis(t *testing.T, target doctor.Target) doctor.Result {
	t.Helper()
	return byName(t, doctor.Check(t.Context(), target))["redis"]
}

func TestAClusterIsReportedAsAWhole(t *testing.T) {
	r := checkRedis(t, doctor.Target{RedisURL: testenv.RedisCluster(t).URL()})
	require.Equal(t, doctor.Warning, r.Status)
	require.Contains(t, r.Detail, "3 primaries of a Cluster, ")
	require.Contains(t, r.Detail, "no replica is connected")
	require.Contains(t, r.Version, "Valkey 9.")
	require.NotNil(t, r.DiskBytes)
	require.Regexp(t, `^redis-cluster://127\.0\.0\.1:\d+,127\.0\.0\.1:\d+$`, r.Address)
	require.Equal(t, 1, strings.Count(r.Detail, "no replica"), "for all of them")
}

func TestSentinelsAreChecked(t *testing.T) {
	s := testenv.RedisSentinels(t)
	target := doctor.Target{
		RedisURL: s.URL(), RedisSentinel: config.RedisSentinel{Password: config.Secret(s.SentinelPassword)},
	}
	r := checkRedis(t, target)
	require.Equal(t, doctor.OK, r.Status, r.Detail)
	require.Regexp(t, `^redis-sentinel://127\.0\.0\.1:\d+,.*/0\?master=main$`, r.Address)
	target.RedisSentinel.Password = "wr0ng"
	r = checkRedis(t, target)
	require.Equal(t, doctor.Failed, r.Status)
	require.Contains(t, r.Advice, "LIVEGRAPH_REDIS_SENTINEL_PASSWORD")
}

func TestAServerThatTheURLDoesNotNameIsReported(t *testing.T) {
	cluster, sentinels := testenv.RedisCluster(t), testenv.RedisSentinels(t)
	r := checkRedis(t, doctor.Target{RedisURL: cluster.Primaries[0].URL()})
	require.Equal(t, doctor.Failed, r.Status)
	require.Contains(t, r.Detail, "redis-cluster://")
	require.Contains(t, r.Advice, "LIVEGRAPH_REDIS_URL")
	r = checkRedis(t, doctor.Target{RedisURL: sentinels.Servers[1].URL()})
	require.Equal(t, doctor.Warning, r.Status)
	require.Contains(t, r.Detail, "is a replica")
}
