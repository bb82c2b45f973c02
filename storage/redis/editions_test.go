package redis_test

import (
	"testing"

	driver "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/redisurl"
	"github.com/livegraph/livegraph/storage/redis"
	"github.com/livegraph/livegraph/test/testenv"
)

// edition is Redis as one server, behind Sentinels, or as a Cluster.
type edition struct {
	options redis.Options
	raw     driver.UniversalClient // to read and write without the package
}

// onEachEdition runs a test on each edition, with an empty database.
func onEachEdition(t *testing.T, test func(t *testing.T, e edition)) {
	t.Helper()
	for name, options := range map[string]func(t testing.TB) redis.Options{
		"one server": func(t testing.TB) redis.Options { return redis.Options{URL: testenv.Redis(t)} },
		"Sentinels": func(t testing.TB) redis.Options {
			s := testenv.RedisSentinels(t)
			return redis.Options{URL: s.URL(), SentinelPassword: s.SentinelPassword}
		},
		"Cluster": func(t testing.TB) redis.Options { return redis.Options{URL: testenv.RedisCluster(t).URL()} },
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			test(t, edition{options: o, raw: rawClient(t, o)})
		})
	}
}

// rawClient returns a client of the driver with its default settings.
func rawClient(t *testing.T, o redis.Options) driver.UniversalClient {
	t.Helper()
	u, err := redisurl.Parse(o.URL)
	require.NoError(t, err)
	client := driver.NewUniversalClient(&driver.UniversalOptions{
		Addrs: u.Hosts, Username: u.User, Password: u.Password, DB: u.Database, MasterName: u.Master,
		SentinelPassword: o.SentinelPassword, IsClusterMode: u.Mode == redisurl.Cluster,
	})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// open opens the edition until the test ends.
func (e edition) open(t *testing.T) *redis.DB {
	t.Helper()
	db, err := redis.Open(t.Context(), e.options)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}
