package load

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/test/harness"
	"github.com/livegraph/livegraph/test/testenv"
)

// storesOf connects to the embedded engines of a running server.
func storesOf(t *testing.T, s *harness.Server) Stores {
	t.Helper()
	running := s.RunFile()
	stores := Stores{Kafka: running.KafkaBrokers, KafkaOptions: s.Kafka().Opts(), Milvus: running.MilvusAddress}
	var err error
	stores.Postgres, err = pgxpool.New(t.Context(), running.PostgresURL)
	require.NoError(t, err)
	t.Cleanup(stores.Postgres.Close)
	options, err := clickhouse.Driver(running.ClickHouseURL, nil)
	require.NoError(t, err)
	stores.ClickHouse, err = ch.Open(options)
	require.NoError(t, err)
	at, err := redis.ParseURL(running.RedisURL)
	require.NoError(t, err)
	stores.Redis = redis.NewClient(at)
	t.Cleanup(func() {
		_ = stores.ClickHouse.Close()
		_ = stores.Redis.Close()
	})
	return stores
}

// runRound runs a round and returns the violations after it.
func runRound(t *testing.T, l *Load, s *harness.Server, length time.Duration, meanwhile func()) []Violation {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Run(ctx)
	}()
	meanwhile()
	<-done
	stores := storesOf(t, s) // a restart changed the addresses
	require.NoError(t, l.Settle(t.Context(), stores))
	return l.Check(t.Context(), stores)
}

// corruptions are direct changes of the stores, and the invariant that Check must report as
// violated.
var corruptions = []struct {
	what       string
	invariant  int
	postgres   string
	clickhouse string
}{
	{
		what: "a point has another value", invariant: 3,
		clickhouse: `INSERT INTO points SELECT series, ts, value + 0.5, version + 1 FROM points FINAL
		WHERE series IN (SELECT id FROM series WHERE metric LIKE 'm0-%') LIMIT 1`,
	},
	{
		what: "a point has come from nowhere", invariant: 1,
		clickhouse: `INSERT INTO points SELECT series, ts + INTERVAL 1 YEAR, 1, 1 FROM points FINAL
		WHERE series IN (SELECT id FROM series WHERE metric LIKE 'm1-%') LIMIT 1`,
	},
	{what: "points are lost", invariant: 1, clickhouse: `ALTER TABLE states DELETE WHERE 1 SETTINGS mutations_sync = 1`},
	{what: "an entry of the journal is lost", invariant: 5, postgres: `DELETE FROM journal WHERE sequence = 2`},
	{
		what: "a node's version goes down", invariant: 5,
		postgres: `UPDATE nodes SET version = version - 1 WHERE NOT deleted`,
	},
	{
		what: "edges lose an end", invariant: 7,
		postgres: `UPDATE nodes SET deleted = true WHERE id IN (SELECT source_id FROM edges WHERE NOT deleted)`,
	},
	{what: "words of a node are lost", invariant: 13, postgres: `DELETE FROM lexical_nodes`},
}

// TestALoadOnAServerFindsNothingWrongUntilItsStoresAreDoctored runs a round on one server, which is
// killed in the middle, and then changes the stores directly.
func TestALoadOnAServerFindsNothingWrongUntilItsStoresAreDoctored(t *testing.T) {
	testenv.RequireEngines(t)
	binary, err := harness.Build()
	require.NoError(t, err)
	s := harness.New(t, binary)
	s.Start()
	l, err := New(t.Context(), Config{
		Seed: uint64(time.Now().UnixNano()), APIs: []string{s.URL()}, Metrics: []string{"http://" + s.Metrics + "/metrics"},
		Admin: Operator{s.First.AdminUser, s.First.AdminPassword}, ReplayEvery: 1,
	})
	require.NoError(t, err)
	t.Logf("seed %d", l.cfg.Seed)
	require.Empty(t, runRound(t, l, s, 6*time.Second, func() {
		time.Sleep(2 * time.Second)
		s.Crash()
	}))
	stores := storesOf(t, s)
	for _, d := range corruptions {
		if d.postgres != "" {
			_, err = stores.Postgres.Exec(t.Context(), d.postgres)
		} else {
			err = stores.ClickHouse.Exec(t.Context(), d.clickhouse)
		}
		require.NoError(t, err, d.what)
	}
	var text strings.Builder
	found := l.Check(t.Context(), stores)
	for _, v := range found {
		text.WriteString(v.String() + "\n")
	}
	for _, d := range corruptions {
		require.True(t, slices.Contains(invariants(found), d.invariant), "%s is not seen:\n%s", d.what, text.String())
	}
}
