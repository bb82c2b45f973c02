package testenv

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/embedded/supervisor"
	"github.com/livegraph/livegraph/test/engines/zookeeper"
)

// shards is the environment variable with the number of shards of ClickHouse. All tests with ClickHouse then
// use a cluster.
const shards = "LIVEGRAPH_TEST_SHARDS"

// ClickHouseCluster returns the cluster of ClickHouse on which the tests run, "" for one server.
func ClickHouseCluster() string {
	if os.Getenv(shards) == "" {
		return ""
	}
	return embedded.ClickHouseCluster
}

// RequireOneServer skips a test of what ClickHouse does on one server only.
func RequireOneServer(t testing.TB) {
	t.Helper()
	if ClickHouseCluster() != "" {
		t.Skip("ClickHouse is a cluster")
	}
}

func startClickHouse(ctx context.Context, o engine.Options) (*supervisor.Process, error) {
	if ClickHouseCluster() == "" {
		return embedded.StartClickHouse(ctx, o)
	}
	count, err := strconv.Atoi(os.Getenv(shards))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shards, err)
	}
	return embedded.StartClickHouseShards(ctx, o, embedded.Shards{Count: count})
}

func startTwoShards(ctx context.Context, o engine.Options) (*supervisor.Process, error) {
	return embedded.StartClickHouseShards(ctx, o, embedded.Shards{Count: 2})
}

// ClickHouseShards returns the URL of an empty database on a cluster of two shards, whose name is
// embedded.ClickHouseCluster. The rows of a table t are in table t_local of the databases database__s1 and
// database__s2.
func ClickHouseShards(t testing.TB) string {
	t.Helper()
	return clickhouseDatabase(t, started(t, clickhouseTwo))
}

// ReplicatedClickHouse is like ClickHouseShards, but its servers have the macros of replicas and a ZooKeeper, which
// it starts only for this test. chdb creates replicated tables, but no rows can be inserted into them, because it
// does not start the replication.
func ReplicatedClickHouse(t testing.TB) string {
	t.Helper()
	RequireEngines(t)
	RequireFull(t)
	ctx, cancel := context.WithTimeout(context.Background(), StartTimeout)
	defer cancel()
	if _, err := zookeeper.Install(ctx, PrintProgress); err != nil {
		SkipMissing(t, fmt.Sprintf("replicated tables of ClickHouse (%v)", err))
	}
	keeper := StartForTest(t, engine.Options{Dir: t.TempDir()}, zookeeper.Start)
	start := func(ctx context.Context, o engine.Options) (*supervisor.Process, error) {
		return embedded.StartClickHouseShards(ctx, o, embedded.Shards{Count: 2, ZooKeeper: keeper.Address()})
	}
	return clickhouseDatabase(t, stoppable(t, "clickhouse-replicated", start))
}

// clickhouseDatabase creates an empty database of a server and returns its URL.
func clickhouseDatabase(t testing.TB, server *supervisor.Process) string {
	t.Helper()
	name := fmt.Sprintf("test_%d", serial.Add(1))
	execClickHouse(t, server.Address(), `CREATE DATABASE `+name)
	t.Cleanup(func() { execClickHouse(t, server.Address(), `DROP DATABASE `+name) })
	return withPath(t, server.Address(), name)
}
