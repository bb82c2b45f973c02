package timeseries

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/native"
)

// A rollup may have several rows of one series and time until they are merged, of which the one with
// the highest version counts. FINAL compares the rows in ClickHouse, which takes as long as reading
// them, so versionedRows compares them in this process.

// maxVersionedRows is the maximum number of rows that are read, with about 60 bytes each. Beyond it, the
// rollup is read with FINAL.
const maxVersionedRows = 500_000

// versionedColumns is the number of columns of numbers, see steps.add.
const versionedColumns = 5

// goneRow is a bit of the state of a row, see aggregateRows: the minute or hour has no points any more.
const goneRow = 4

// errTooManyRows is the error of a statement with more versioned rows than are read.
var errTooManyRows = errors.New("too many rows to compare in this process")

// versionedRows collects rows of a statement. Their columns are the series, a time, numbers, a state of
// bits as in the last column of aggregateRows, and a version. The rows may be in any order, and several
// may have the same series and time.
type versionedRows struct {
	series   []uint64
	times    []int64
	values   [][]float64 // by column
	states   []uint8
	versions []uint64 // 0: a row that must be the only one of its series and time
	starts   []int32  // start of each run of rows in ascending order

	repeated bool // a row that must be the only one is not
	lacking  bool // a rollup was computed before it had a requested column
}

// readVersioned runs a statement of versioned rows. It returns nil if there are more than maxVersionedRows.
func (r *Reader) readVersioned(
	ctx context.Context, statement string, parameters ch.Parameters,
) (*versionedRows, error) {
	v := &versionedRows{values: make([][]float64, versionedColumns)}
	columns := []ch.ColumnNameAndType{{Name: "series", Type: "UInt64"}, {Name: "us", Type: "Int64"}}
	for i := range versionedColumns {
		columns = append(columns, ch.ColumnNameAndType{Name: fmt.Sprintf("answer%d", i), Type: "Float64"})
	}
	columns = append(columns, ch.ColumnNameAndType{Name: "state", Type: "UInt8"},
		ch.ColumnNameAndType{Name: "version", Type: "UInt64"})
	statement += fmt.Sprintf(" LIMIT %d SETTINGS optimize_aggregation_in_order = 0", maxVersionedRows+1)
	err := r.db.QueryBlocks(ctx, clickhouse.OpAggregate, statement, parameters, columns, v.add)
	if errors.Is(err, errTooManyRows) {
		return nil, nil
	}
	return v, err
}

// add adds the rows of a block.
func (v *versionedRows) add(b *native.Block) error {
	from, series := len(v.series), b.UInt64(0)
	if from+len(series) > maxVersionedRows {
		return errTooManyRows
	}
	v.series, v.times = append(v.series, series...), append(v.times, b.Int64(1)...)
	for i := range v.values {
		v.values[i] = append(v.values[i], b.Float64(2+i)...)
	}
	v.states = append(v.states, b.UInt8(2+len(v.values))...)
	v.versions = append(v.versions, b.UInt64(3+len(v.values))...)
	v.findRuns(from)
	return nil
}

// findRuns finds the starts of runs among the rows from an index on.
func (v *versionedRows) findRuns(from int) {
	for row := from; row < len(v.series); row++ {
		if row == 0 || v.compare(int32(row-1), int32(row)) > 0 {
			v.starts = append(v.starts, int32(row))
		}
	}
}

// compare compares two rows by series, time and version.
func (v *versionedRows) compare(x, y int32) int {
	if c := v.comparePlace(x, y); c != 0 {
		return c
	}
	return cmp.Compare(v.versions[x], v.versions[y])
}

// comparePlace compares two rows by series and time.
func (v *versionedRows) comparePlace(x, y int32) int {
	if c := cmp.Compare(v.series[x], v.series[y]); c != 0 {
		return c
	}
	return cmp.Compare(v.times[x], v.times[y])
}

// newest returns the newest row of each series and time that is not gone, in ascending order. When all
// are read, repeated and lacking are set.
func (v *versionedRows) newest() iter.Seq[int32] {
	return func(yield func(row int32) bool) {
		order := v.sorted()
		for i, row := range order {
			state := v.states[row]
			v.repeated = v.repeated || state&1 != 0
			if i+1 < len(order) && v.comparePlace(row, order[i+1]) == 0 {
				v.repeated = v.repeated || v.versions[row] == 0
				continue // the next one is newer
			}
			v.lacking = v.lacking || state&lackingColumn != 0
			if state&goneRow == 0 && !yield(row) {
				return
			}
		}
	}
}

// sorted returns the rows in ascending order: it merges the runs in which they came. Each part of the
// table comes in its order, so there are few.
func (v *versionedRows) sorted() []int32 {
	count := int32(len(v.series))
	order, merged := make([]int32, count), make([]int32, count)
	for i := range order {
		order[i] = int32(i)
	}
	at := func(starts []int32, run int) int32 {
		if run < len(starts) {
			return starts[run]
		}
		return count
	}
	for starts := v.starts; len(starts) > 1; {
		fewer := starts[:0]
		for run := 0; run < len(starts); run += 2 {
			from, middle, to := starts[run], at(starts, run+1), at(starts, run+2)
			v.merge(merged[from:to], order[from:middle], order[middle:to])
			fewer = append(fewer, from)
		}
		starts = fewer
		order, merged = merged, order
	}
	return order
}

// merge merges two lists of rows in ascending order into dst.
func (v *versionedRows) merge(dst, x, y []int32) {
	for i := range dst {
		if len(y) == 0 || len(x) > 0 && v.compare(x[0], y[0]) <= 0 {
			dst[i], x = x[0], x[1:]
		} else {
			dst[i], y = y[0], y[1:]
		}
	}
}
