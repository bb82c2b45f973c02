// Package timeseries answers the API's queries of points: raw, newest, aggregated,
// downsampled and counted. It reads rollups where they are valid, and points otherwise.
// Results leave out points that are past their retention or deleted.
package timeseries

import (
	"fmt"
	"strconv"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

// Reader reads points from a database.
type Reader struct{ db *clickhouse.DB }

// New returns a Reader of the points of db.
func New(db *clickhouse.DB) *Reader { return &Reader{db: db} }

// Range is a time range, from FromUS inclusive to ToUS exclusive, in microseconds since the
// Unix epoch. It contains the points of each series that are kept and not deleted.
type Range struct {
	FromUS, ToUS int64
	KeptFrom     KeptFrom
	Hidden       Hidden

	visible string // condition that a row is not hidden, see applyHidden; empty: no row is
}

// Points are the points of one series, or the rows of one group, by column.
type Points struct {
	TS      []int64 // microseconds since the Unix epoch, in the order of the query
	Columns []Column
}

// Column contains one value for each timestamp: numbers, with NaN for a missing value, or
// strings, with nil for a missing value.
type Column struct {
	Numbers []float64
	Strings []*string
}

// parameters returns the bounds of the range, as {from:Int64} and {to:Int64}.
func (r Range) parameters() ch.Parameters {
	return ch.Parameters{
		"from": strconv.FormatInt(r.FromUS, 10),
		"to":   strconv.FormatInt(r.ToUS, 10),
	}
}

// currentPoints returns a statement for the points of series in a range, as series, ts and
// value. Of one time it selects only the newest version, so that overwritten values do not
// count. FINAL with PREWHERE takes half the time of removing versions by aggregation
// (docs/adr/0019-reading-points.md). PREWHERE may contain only conditions that all versions
// of a point fulfil or none does: those of a range depend on series and ts alone. The
// condition on hidden rows comes after FINAL, in WHERE.
func currentPoints(table string, series []uint64, r *Range) string {
	return selectPoints("series, ts, value", table+" FINAL", series, r)
}

// microsecondColumns are the columns of pointColumns.
const microsecondColumns = "series, toUnixTimestamp64Micro(ts) AS us, value"

// selectPoints returns a statement that reads columns of the points of series in a range.
func selectPoints(columns, from string, series []uint64, r *Range) string {
	return fmt.Sprintf(`SELECT %s FROM %s PREWHERE series IN (%s) AND %s%s`,
		columns, from, clickhouse.IDArray(series), r.where(series), r.hiddenCondition("WHERE"))
}
