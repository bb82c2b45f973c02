// Package chtest has helpers that the tests of storage/clickhouse share.
package chtest

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
	URL *url.URL
}

// Migrated returns the URL of an empty database with all migrations.
func Migrated(tb testing.TB) string {
	tb.Helper()
	return testenv.MigratedClickHouse(tb, func(ctx context.Context, address string) error {
		db, err := clickhouse.Open(ctx, address)
		if err != nil {
			return err
		}
		defer func() { _ = db.Close() }()
		return db.Migrate(ctx)
	})
}

// New creates an empty Store.
func New(tb testing.TB) *Store {
	tb.Helper()
	address, err := url.Parse(Migrated(tb))
	require.NoError(tb, err)
	db, err := clickhouse.Open(context.Background(), address.String())
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = db.Close() })
	return &Store{DB: db, Reader: timeseries.New(db), URL: address}
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
