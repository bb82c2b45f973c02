package stores_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/stores"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/test/testenv"
)

func TestAWrongSchemeOfRedisNamesTheSetting(t *testing.T) {
	var cfg config.Config
	cfg.Redis.URL = config.Secret(testenv.RedisCluster(t).Primaries[0].URL())
	_, err := stores.OpenRedis(t.Context(), &cfg)
	require.ErrorContains(t, err, "--redis-url: the server of the Redis URL is part of a Cluster")
	require.True(t, fault.Is(err, fault.Invalid), "a start does not wait for it")
}

func TestTheCheckOfRedisUsesTheLoginToTheSentinels(t *testing.T) {
	s := testenv.RedisSentinels(t)
	cfg := config.Redis{URL: config.Secret(s.URL())}
	check, err := stores.RedisCheck(cfg)
	require.NoError(t, err)
	require.ErrorContains(t, check(t.Context()), "NOAUTH")
	cfg.Sentinel.Password = config.Secret(s.SentinelPassword)
	check, err = stores.RedisCheck(cfg)
	require.NoError(t, err)
	require.NoError(t, check(t.Context()))
}
