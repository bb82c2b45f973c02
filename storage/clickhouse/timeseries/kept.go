package timeseries

import (
	"fmt"
	"math"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

// Kept says from which time on the points of series are kept, microseconds since
// the Unix epoch: those before are past their retention and in no answer, whether
// they are still stored or not. Series that are not in it keep all. It is part of a
// query, so that a point is gone at the moment at which its time has come and not
// when somebody has removed it.
type Kept map[uint64]int64

// from returns when the points of a series begin to be kept.
func (k Kept) from(series uint64) int64 {
	if us, ok := k[series]; ok {
		return us
	}
	return math.MinInt64
}

// earliest returns from when the points of any of the series are kept.
func (k Kept) earliest(series []uint64) int64 {
	earliest := int64(math.MaxInt64)
	for _, id := range series {
		earliest = min(earliest, k.from(id))
	}
	return earliest
}

// condition returns what a statement over these series has to ask of column ts beyond
// its range, which begins at fromUS: with its AND, and nothing where the range does
// it. Series that all have the same bound are read from there on by the table's
// order; else each row is compared with its own.
func (k Kept) condition(series []uint64, fromUS int64) string {
	var ids []uint64
	lowest, highest := int64(math.MaxInt64), int64(math.MinInt64)
	for _, id := range series {
		us := k.from(id)
		lowest, highest = min(lowest, us), max(highest, us)
		if us > fromUS {
			ids = append(ids, id)
		}
	}
	switch {
	case len(ids) == 0:
		return ""
	case lowest == highest:
		return " AND ts >= " + clickhouse.Moment(lowest)
	}
	bounds := make([]int64, len(ids))
	for i, id := range ids {
		bounds[i] = k[id]
	}
	return fmt.Sprintf(
		" AND ts >= %s AND toUnixTimestamp64Micro(ts) >= transform(series, %s, %s, %d::Int64)",
		clickhouse.Moment(
			max(lowest, fromUS),
		),
		clickhouse.IDArray(ids),
		clickhouse.NumberArray("Int64", bounds),
		max(lowest, fromUS),
	)
}

// where returns the condition that rows of these series are in the range and are kept.
// It uses the tables' partitions and order; the parameters are those of the range.
func (r *Range) where(series []uint64) string {
	return "ts >= fromUnixTimestamp64Micro({from:Int64}, 'UTC') AND ts < fromUnixTimestamp64Micro({to:Int64}, 'UTC')" +
		r.Kept.condition(series, r.FromUS)
}
