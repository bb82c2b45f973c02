package testenv

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/test/engines/valkeygroup"
)

const (
	// failOverAfter is the time after which a server of a group that tests kill counts as down.
	failOverAfter = time.Second
	// neverDown is the same time for the groups that tests share: a busy machine may delay a server.
	neverDown = time.Minute
	// clusterPrimaries is the number of primaries of a Cluster.
	clusterPrimaries = 3
)

// RedisSentinels returns a primary, a replica and three Sentinels that the binary's tests share. Each call
// empties them. The tests must not stop a server.
func RedisSentinels(t testing.TB) *valkeygroup.Sentinels {
	t.Helper()
	RequireEngines(t)
	s, err := sharedSentinels()
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	if err := s.Servers[0].Do(context.Background(), "FLUSHALL"); err != nil {
		t.Fatalf("testenv: redis: %v", err)
	}
	return s
}

// RedisCluster returns a Cluster of three primaries that the binary's tests share. Each call empties it.
// The tests must not stop a server.
func RedisCluster(t testing.TB) *valkeygroup.Cluster {
	t.Helper()
	RequireEngines(t)
	c, err := sharedCluster()
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	for _, s := range c.Primaries {
		if err := s.Do(context.Background(), "FLUSHALL"); err != nil {
			t.Fatalf("testenv: redis: %v", err)
		}
	}
	return c
}

// StoppableRedisSentinels returns a primary, a replica and three Sentinels only for this test, which may
// kill them. The fail-over starts after about a second.
func StoppableRedisSentinels(t testing.TB) *valkeygroup.Sentinels {
	t.Helper()
	return startGroup(t, valkeygroup.Options{DownAfter: failOverAfter, Replicas: 1}, valkeygroup.StartSentinels)
}

// StoppableRedisCluster returns a Cluster of three primaries with a number of replicas each, only for this
// test, which may kill its servers.
func StoppableRedisCluster(t testing.TB, replicas int) *valkeygroup.Cluster {
	t.Helper()
	return startGroup(
		t, valkeygroup.Options{DownAfter: failOverAfter, Replicas: replicas, Primaries: clusterPrimaries},
		valkeygroup.StartCluster,
	)
}

// AnnouncedRedisCluster returns a Cluster of three primaries only for this test. Clients are sent to the
// addresses that announce returns.
func AnnouncedRedisCluster(t testing.TB, announce func(address string) string) *valkeygroup.Cluster {
	t.Helper()
	o := valkeygroup.Options{DownAfter: neverDown, Primaries: clusterPrimaries, Announce: announce}
	return startGroup(t, o, valkeygroup.StartCluster)
}

func startGroup[G interface{ Stop(context.Context) error }](
	t testing.TB, o valkeygroup.Options, start func(context.Context, valkeygroup.Options) (G, error),
) G {
	t.Helper()
	RequireEngines(t)
	var err error
	if o.Binary, err = valkeyBinary(); err != nil {
		t.Fatalf("testenv: %v", err)
	}
	o.Dir = t.TempDir()
	return StartForTest(t, o, start)
}

// valkeyBinary returns the path of the server.
func valkeyBinary() (string, error) {
	installed, err := packages()
	if err != nil {
		return "", err
	}
	return embedded.ValkeyBinary(installed), nil
}

var (
	sharedSentinels = sharedGroup("redis-sentinels", valkeygroup.Options{Replicas: 1}, valkeygroup.StartSentinels)
	sharedCluster   = sharedGroup(
		"redis-cluster", valkeygroup.Options{Primaries: clusterPrimaries}, valkeygroup.StartCluster,
	)
)

// sharedGroup returns a function that starts a group once. It ends with the test binary.
func sharedGroup[G any](
	name string, o valkeygroup.Options, start func(context.Context, valkeygroup.Options) (G, error),
) func() (G, error) {
	return sync.OnceValues(func() (g G, err error) {
		ctx, cancel := context.WithTimeout(context.Background(), StartTimeout)
		defer cancel()
		dir, err := Folder()
		if err != nil {
			return g, err
		}
		o.Dir, o.DownAfter = filepath.Join(dir, name), neverDown
		if o.Binary, err = valkeyBinary(); err != nil {
			return g, err
		}
		return start(ctx, o)
	})
}
