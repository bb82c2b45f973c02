// Package chtest has helpers that the tests of storage/clickhouse share.
package chtest

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/test/testenv"
)

// T0 is the time of the first points of the tests: 2026-03-01T00:00:00Z, in microseconds.
const T0 = 1_772_323_200_000_000

// Store is a migrated database with a Reader, and with direct access to it.
type Store struct {
	*clickhouse.DB
	*timeseries.Reader
	URL     *url.URL
	Cluster string // empty: one server
}

// Migrated returns the URL of an empty database with all migrations.
func Migrated(tb testing.TB) string {
	tb.Helper()
	return testenv.MigratedClickHouse(tb, func(ctx context.Context, address string) error {
		db, err := Open(ctx, address)
		if err != nil {
			return err
		}
		defer func() { _ = db.Close() }()
		return db.Migrate(ctx)
	})
}

// Open opens a database of testenv, on the cluster if the tests run on one.
func Open(ctx context.Context, address string, options ...clickhouse.Option) (*clickhouse.DB, error) {
	return clickhouse.Open(ctx, address, append(options, clickhouse.WithCluster(testenv.ClickHouseCluster()))...)
}

// New creates an empty Store.
func New(tb testing.TB) *Store {
	tb.Helper()
	return newStore(tb, Migrated(tb), testenv.ClickHouseCluster())
}

// NewOnShards creates an empty Store on a cluster of two shards.
func NewOnShards(tb testing.TB) *Store {
	tb.Helper()
	s := newStore(tb, testenv.ClickHouseShards(tb), embedded.ClickHouseCluster)
	require.NoError(tb, s.Migrate(context.Background()))
	return s
}

func newStore(tb testing.TB, address, cluster string) *Store {
	tb.Helper()
	u, err := url.Parse(address)
	require.NoError(tb, err)
	s := &Store{URL: u, Cluster: cluster}
	s.DB, err = s.Open(context.Background())
	require.NoError(tb, err)
	s.Reader = timeseries.New(s.DB)
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// Open opens the database of the Store again.
func (s *Store) Open(ctx context.Context, options ...clickhouse.Option) (*clickhouse.DB, error) {
	return clickhouse.Open(ctx, s.URL.String(), append(options, clickhouse.WithCluster(s.Cluster))...)
}

// Ask runs a query in the database of a shard, from 1 on, and returns its result.
func (s *Store) Ask(tb testing.TB, shard int, query string) string {
	tb.Helper()
	u := *s.URL
	u.Path += fmt.Sprintf("__s%d", shard)
	return testenv.QueryClickHouse(tb, u.String(), query)
}

// Exec runs a statement in the database.
func (s *Store) Exec(tb testing.TB, statement string) {
	tb.Helper()
	testenv.QueryClickHouse(tb, s.URL.String(), statement)
}

// Point is a row of table points or states. Its value is a number or a string.
type Point struct {
	Series  uint64
	TS      int64 // microseconds since the Unix epoch
	Value   any
	Version uint64
}

// Row returns a Point.
func Row(series uint64, ts int64, value any, version uint64) Point {
	return Point{Series: series, TS: ts, Value: value, Version: version}
}

// Insert inserts rows without using any package under test.
func (s *Store) Insert(tb testing.TB, table string, points ...Point) {
	tb.Helper()
	var rows []string
	for _, p := range points {
		value := fmt.Sprintf("%v", p.Value)
		if text, ok := p.Value.(string); ok {
			value = "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
		}
		rows = append(rows, fmt.Sprintf("(%d, fromUnixTimestamp64Micro(%d), %s, %d)", p.Series, p.TS, value, p.Version))
	}
	s.Exec(tb, "INSERT INTO "+table+" VALUES "+strings.Join(rows, ","))
}

// Everything is the range of all times.
var Everything = timeseries.Range{FromUS: 0, ToUS: 4e15}
