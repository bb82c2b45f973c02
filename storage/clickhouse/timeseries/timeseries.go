// Package timeseries answers the API's queries of points: raw, newest, aggregated,
// downsampled and counted. Of what is kept and not deleted it reads rollups where they
// are valid and points for everything else.
package timeseries

import (
	"fmt"
	"strconv"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

// Reader reads points from a database.
type Reader struct{ db *clickhouse.DB }

// New returns a reader of the database's points.
func New(db *clickhouse.DB) *Reader { return &Reader{db: db} }

// Range is a stretch of time, from FromUS inclusive to ToUS exclusive,
// microseconds since the Unix epoch, of which each series has what is kept of it and not
// deleted.
type Range struct {
	FromUS, ToUS int64
	Kept         Kept
	Hidden       Hidden

	visible string // the condition that a row is not hidden, see hide; empty: none is
}

// Points are the points of one series, or the rows of one group, by column.
type Points struct {
	TS      []int64 // microseconds since the Unix epoch, in the order of the query
	Columns []Column
}

// Column holds one value a timestamp: numbers, where NaN says that there is
// none, or texts, where nil does.
type Column struct {
	Numbers []float64
	Texts   []*string
}

// parameters returns the range's bounds, as {from:Int64} and {to:Int64}.
func (r Range) parameters() ch.Parameters {
	return ch.Parameters{
		"from": strconv.FormatInt(r.FromUS, 10),
		"to":   strconv.FormatInt(r.ToUS, 10),
	}
}

// standing returns the points of series that stand in a range, as series, ts and value:
// of one time only the newest version, so that an overwritten value counts nowhere.
// FINAL with PREWHERE takes half the time of aggregating versions away
// (docs/adr/0019-reading-points.md). A condition that not all versions of a point pass
// together would be wrong there; those of a range are about series and ts alone. That on
// what is hidden comes after it.
func standing(table string, series []uint64, r *Range) string {
	return fmt.Sprintf(`SELECT series, ts, value FROM %s FINAL PREWHERE series IN (%s) AND %s%s`,
		table, clickhouse.IDArray(series), r.where(series), r.leavingOut("WHERE"))
}
