package clickhouse

import (
	"io/fs"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/schemas"
	"github.com/livegraph/livegraph/test/testenv"
)

func TestStatementsOfOneServerNameItsTables(t *testing.T) {
	var l Layout
	require.Equal(t, "points", l.Stored("points"))
	require.Equal(t, "points", l.StoredName("points"))
	require.Equal(t, "points", l.TableOf("points"))
	require.Equal(t, "points", l.ShardTable("points"))
	require.Equal(t, "system.parts", l.System("parts"))
	require.Equal(t, "system.mutations", l.systemOfAll("mutations"))
	require.Equal(t, "currentDatabase()", l.Database())
	require.Empty(t, l.PerServer())
	require.Empty(t, l.settings())
	require.Equal(t, "SELECT 1", l.OnShards("SELECT 1"))
}

// The statements of passes on one server, as they were before there were clusters.
func TestPassesOfOneServerReadItsTables(t *testing.T) {
	var l Layout
	for name, statement := range map[string]string{
		"minutes": l.OnShards(minutesOf(l, "w", readOrdered)), "current minutes": l.OnShards(minutesOf(l, "w", readFinal)),
		"hours": l.OnShards(hoursOf(l, "w", 7)), "empty": l.OnShards(emptyRows(l, TableHours, "Hour", "w")),
		"unmatched": unmatchedHours(l, "w", 9),
	} {
		require.NotContains(t, statement, "cluster(", name)
		require.NotContains(t, statement, localSuffix, name)
	}
	require.Contains(t, minutesOf(l, "w", readOrdered),
		"FROM (SELECT series, ts, value FROM points PREWHERE w ORDER BY series, ts)")
	require.Contains(t, minutesOf(l, "w", readFinal), "FROM points FINAL PREWHERE w GROUP BY")
	require.Contains(t, hoursOf(l, "w", 7), "FROM rollup_1m PREWHERE w WHERE version = 7 GROUP BY series, bucket)")
	require.True(t, strings.HasSuffix(unmatchedHours(l, "w", 9), "GROUP BY series ORDER BY series LIMIT 9"))
}

func TestMigrationsOfACluster(t *testing.T) {
	files, err := fs.Sub(schemas.ClickHouse, "clickhouse")
	require.NoError(t, err)
	statement := regexp.MustCompile(`(?m)^(CREATE|ALTER|DROP) TABLE .*`)
	for _, replicated := range []bool{false, true} {
		s := clusterSchema{layout: NewLayout("c", "d"), shards: 3, replicated: replicated}
		converted, err := s.files(files)
		require.NoError(t, err)
		names, err := fs.Glob(converted, "*.sql")
		require.NoError(t, err)
		require.NotEmpty(t, names)
		for _, name := range names {
			text, err := fs.ReadFile(converted, name)
			require.NoError(t, err)
			for _, line := range statement.FindAllString(string(text), -1) {
				require.Contains(t, line, " ON CLUSTER 'c'", name)
			}
			require.Contains(t, string(text), "-- +goose Down\n", name)
		}
		text, err := fs.ReadFile(converted, "00002_rollups.sql")
		require.NoError(t, err)
		engine := "ENGINE = ReplacingMergeTree(version)\n"
		if replicated {
			engine = "ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/c/d/rollup_1h/{shard}', '{replica}', version)\n"
		}
		require.Contains(t, string(text), `
CREATE TABLE IF NOT EXISTS rollup_1h_local ON CLUSTER 'c' AS `+"`d`.rollup_1m_local\n"+engine+`PARTITION BY toYYYYMM(ts)
ORDER BY (series, ts);

CREATE TABLE IF NOT EXISTS rollup_1h ON CLUSTER 'c' AS `+"`d`.rollup_1h_local"+`
ENGINE = Distributed('c', 'd', 'rollup_1h_local', jumpConsistentHash(intHash64(series), 3));
`)
		require.Contains(t, string(text), `
DROP TABLE IF EXISTS rollup_state ON CLUSTER 'c';
DROP TABLE IF EXISTS rollup_state_local ON CLUSTER 'c';
`)
	}
}

func TestStatementsWithoutAFormOfClusters(t *testing.T) {
	s := clusterSchema{layout: NewLayout("c", "d"), shards: 2}
	for statement, message := range map[string]string{
		"OPTIMIZE TABLE points;": `a cluster has no form of "OPTIMIZE TABLE points;"`,
		"CREATE TABLE IF NOT EXISTS other (a UInt8)\nENGINE = MergeTree\nORDER BY a;": "table other has no key in shardKeys",
		"DROP TABLE IF EXISTS points": "does not end with a semicolon",
	} {
		_, err := s.file(statement + "\n")
		require.ErrorContains(t, err, message)
	}
	converted, err := s.file("ALTER TABLE points MODIFY SETTING a = 1;\nALTER TABLE points\n    ADD COLUMN b UInt8;\n")
	require.NoError(t, err)
	require.Equal(t, "ALTER TABLE points_local ON CLUSTER 'c' MODIFY SETTING a = 1;\n"+
		"ALTER TABLE points_local ON CLUSTER 'c'\n    ADD COLUMN b UInt8;\n"+
		"ALTER TABLE points ON CLUSTER 'c'\n    ADD COLUMN b UInt8;\n", converted)
}

// Every table that a migration creates has a key, and the keys of tables with series are those of the series.
func TestKeysOfShards(t *testing.T) {
	for _, table := range timedTables() {
		require.Equal(t, bySeries, shardKeys()[table.name], table.name)
	}
	for table := range tables {
		require.Contains(t, shardKeys(), table)
	}
	require.Len(t, shardKeys(), len(tables))
}

// chdb creates replicated tables in ZooKeeper, but does not start their replication, so that they are read-only.
func TestReplicatedTablesAreCreated(t *testing.T) {
	address := testenv.ReplicatedClickHouse(t)
	u, err := url.Parse(address)
	require.NoError(t, err)
	files, err := fs.Sub(schemas.ClickHouse, "clickhouse")
	require.NoError(t, err)
	s := clusterSchema{layout: NewLayout("livegraph", strings.Trim(u.Path, "/")), shards: 2, replicated: true}
	converted, err := s.files(files)
	require.NoError(t, err)
	names, err := fs.Glob(converted, "*.sql")
	require.NoError(t, err)
	create := regexp.MustCompile(`(?ms)^CREATE TABLE .*?;$`)
	for _, name := range names {
		text, err := fs.ReadFile(converted, name)
		require.NoError(t, err)
		for _, statement := range create.FindAllString(string(text), -1) {
			testenv.QueryClickHouse(t, address, strings.TrimSuffix(statement, ";"))
		}
	}
	require.Equal(t, strconv.Itoa(2*len(shardKeys())), testenv.QueryClickHouse(t, address,
		"SELECT count() FROM system.replicas WHERE startsWith(zookeeper_path, '/clickhouse/tables/livegraph/') AND "+
			"table LIKE '%\\_local' AND startsWith(database, currentDatabase())"))
	require.Equal(t, "0", testenv.QueryClickHouse(t, address, "SELECT count() FROM points FINAL"))
}
