package timeseries

import (
	"fmt"
	"math"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

// KeptFrom is the time from which on the points of series are kept, in microseconds since the
// Unix epoch. Earlier points are past their retention and never returned, whether they are
// still stored or not. Series that are not in the map keep all points. Kept is part of a
// query, so that a point disappears exactly when its retention ends, and not when it is
// removed from the store.
type KeptFrom map[uint64]int64

// from returns the time from which on the points of a series are kept.
func (k KeptFrom) from(series uint64) int64 {
	if us, ok := k[series]; ok {
		return us
	}
	return math.MinInt64
}

// earliest returns the time from which on points of any of the series are kept.
func (k KeptFrom) earliest(series []uint64) int64 {
	earliest := int64(math.MaxInt64)
	for _, id := range series {
		earliest = min(earliest, k.from(id))
	}
	return earliest
}

// condition returns the condition on column ts that a statement over these series requires
// in addition to its range, which begins at fromUS. It begins with AND, and is empty if the
// range is sufficient. If all series have the same bound, the order of the table is used;
// otherwise each row is compared with the bound of its series.
func (k KeptFrom) condition(series []uint64, fromUS int64) string {
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
		return " AND ts >= " + clickhouse.TimeExpression(lowest)
	}
	bounds := make([]int64, len(ids))
	for i, id := range ids {
		bounds[i] = k[id]
	}
	return fmt.Sprintf(
		" AND ts >= %s AND toUnixTimestamp64Micro(ts) >= transform(series, %s, %s, %d::Int64)",
		clickhouse.TimeExpression(
			max(lowest, fromUS),
		),
		clickhouse.IDArray(ids),
		clickhouse.NumberArray("Int64", bounds),
		max(lowest, fromUS),
	)
}

// where returns the condition that rows of these series are in the range and are kept. It
// can use the partitions and the order of the tables. Its parameters are those of
// Range.parameters.
func (r *Range) where(series []uint64) string {
	return "ts >= fromUnixTimestamp64Micro({from:Int64}, 'UTC') AND ts < fromUnixTimestamp64Micro({to:Int64}, 'UTC')" +
		r.KeptFrom.condition(series, r.FromUS)
}
