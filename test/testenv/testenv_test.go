package testenv_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/jackc/pgx/v5"
	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	chstore "github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/test/chtest"
	"github.com/livegraph/livegraph/test/testenv"
)

func TestPostgresReturnsAnEmptyDatabaseToEachTest(t *testing.T) {
	for range 2 {
		t.Run("database", func(t *testing.T) {
			conn, err := pgx.Connect(t.Context(), testenv.Postgres(t))
			require.NoError(t, err)
			defer conn.Close(context.Background())
			_, err = conn.Exec(t.Context(), `CREATE TABLE t (a int)`)
			require.NoError(t, err)
		})
	}
}

func TestClickHouseReturnsAnEmptyDatabaseToEachTest(t *testing.T) {
	for range 2 {
		t.Run("database", func(t *testing.T) {
			options, err := clickhouse.ParseDSN(testenv.ClickHouse(t))
			require.NoError(t, err)
			conn, err := clickhouse.Open(options)
			require.NoError(t, err)
			defer conn.Close()
			require.NoError(t, conn.Ping(t.Context()))
			require.NoError(t, conn.Exec(t.Context(), `CREATE TABLE t (a Int64) ENGINE = MergeTree ORDER BY a`))
		})
	}
}

func TestRedisReturnsAnEmptyDatabaseToEachTest(t *testing.T) {
	for range 2 {
		options, err := redis.ParseURL(testenv.Redis(t))
		require.NoError(t, err)
		client := redis.NewClient(options)
		set, err := client.SetNX(t.Context(), "key", 1, 0).Result()
		require.NoError(t, err)
		require.True(t, set)
		require.NoError(t, client.Close())
	}
}

func TestMilvusResponds(t *testing.T) {
	c, err := client.NewClient(t.Context(), client.Config{Address: testenv.Milvus(t)})
	require.NoError(t, err)
	defer c.Close()
	found, err := c.HasCollection(t.Context(), "no_such_collection")
	require.NoError(t, err)
	require.False(t, found)
}

// TestAMigratedClickHouseHasWhatTheMigrationsCreate compares a copy of the template with a database that was migrated.
func TestAMigratedClickHouseHasWhatTheMigrationsCreate(t *testing.T) {
	testenv.RequireEngines(t)
	tables := func(address string) string {
		u, err := url.Parse(address)
		require.NoError(t, err)
		listed := testenv.QueryClickHouse(t, address, `SELECT name, engine, create_table_query FROM system.tables
			WHERE database = currentDatabase() ORDER BY name`)
		versions := testenv.QueryClickHouse(t, address, `SELECT version_id, is_applied FROM goose_db_version ORDER BY 1, 2`)
		return strings.ReplaceAll(listed+versions, strings.TrimPrefix(u.Path, "/")+".", "")
	}
	migrated := testenv.ClickHouse(t)
	db, err := chstore.Open(t.Context(), migrated)
	require.NoError(t, err)
	require.NoError(t, db.Migrate(t.Context()))
	require.NoError(t, db.Close())
	want := tables(migrated)
	require.Contains(t, want, "points")
	for range 2 {
		require.Equal(t, want, tables(chtest.Migrated(t)))
	}
}
