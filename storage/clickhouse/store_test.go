package clickhouse_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/test/testenv"
)

// t0 is the time of the first points of the tests: 2026-03-01T00:00:00Z, in microseconds.
const t0 = 1_772_323_200_000_000

const second = 1_000_000

// store is a database with a Reader, and with direct access to it.
type store struct {
	*clickhouse.DB
	*timeseries.Reader
	url *url.URL
}

func newStore(t *testing.T) *store {
	t.Helper()
	db, address := open(t)
	parsed, err := url.Parse(address)
	require.NoError(t, err)
	return &store{DB: db, Reader: timeseries.New(db), url: parsed}
}

// exec runs a statement in the database.
func (s *store) exec(t *testing.T, statement string) {
	t.Helper()
	testenv.QueryClickHouse(t, s.url.String(), statement)
}

// point is a row of either table.
type point struct {
	series  uint64
	ts      int64
	value   any
	version uint64
}

func (s *store) insert(t *testing.T, table string, points ...point) {
	t.Helper()
	var rows []string
	for _, p := range points {
		value := fmt.Sprintf("%v", p.value)
		if text, ok := p.value.(string); ok {
			value = "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
		}
		rows = append(rows, fmt.Sprintf("(%d, fromUnixTimestamp64Micro(%d), %s, %d)", p.series, p.ts, value, p.version))
	}
	s.exec(t, "INSERT INTO "+table+" VALUES "+strings.Join(rows, ","))
}

var everything = timeseries.Range{FromUS: 0, ToUS: 4e15}
