package timeseries

import (
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
	rowOrder             // by version; 0: a row that must be the only one of its series and time
	values   [][]float64 // by column
	states   []uint8

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
	v.ranks = append(v.ranks, b.UInt64(3+len(v.values))...)
	v.findRuns(from)
	return nil
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
				v.repeated = v.repeated || v.ranks[row] == 0
				continue // the next one is newer
			}
			v.lacking = v.lacking || state&lackingColumn != 0
			if state&goneRow == 0 && !yield(row) {
				return
			}
		}
	}
}
