package timeseries

import (
	"fmt"
	"math"
	"slices"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/livegraph/livegraph/storage/clickhouse/native"
)

// aggregateRows collects the rows of a statement for aggregates: its columns are the group, the
// bucket, the requested functions, and a set of bits: points may be counted several times (1), and
// a rollup was computed before it had a requested column (lackingColumn).
type aggregateRows struct {
	functions []Function // of the query
	requested []Function
	isString  bool
	groupOf   func(uint64) int

	found     map[int]*Points
	remaining int  // number of rows up to the limit; negative: there are more
	repeated  bool // points may be counted several times
	lacking   bool // rollups lack a column

	current uint64  // value of the group of the last row
	points  *Points // of current; nil: there was no row
}

// lackingColumn is a bit of the last column; see aggregateRows.
const lackingColumn = 2

func newAggregateRows(q *AggregateQuery, requested []Function) *aggregateRows {
	return &aggregateRows{
		functions: q.Functions, requested: requested, isString: q.IsString, groupOf: q.groupOf(),
		found: map[int]*Points{}, remaining: q.Limit,
	}
}

// columns returns the columns of the statement.
func (a *aggregateRows) columns() []ch.ColumnNameAndType {
	columns := []ch.ColumnNameAndType{{Name: "grp", Type: "UInt64"}, {Name: "bucket", Type: "Int64"}}
	for i, f := range a.requested {
		kind := "Float64"
		if a.isText(f) {
			kind = "String"
		}
		columns = append(columns, ch.ColumnNameAndType{Name: fmt.Sprintf("answer%d", i), Type: kind})
	}
	return append(columns, ch.ColumnNameAndType{Name: "repeated", Type: "UInt8"})
}

// isText reports whether the values of a function are strings.
func (a *aggregateRows) isText(f Function) bool { return a.isString && f.ReturnsStrings() }

// add adds the rows of a block, which are ordered by group. It adds no rows beyond the limit.
func (a *aggregateRows) add(b *native.Block) error {
	groups, buckets := b.UInt64(0), b.Int64(1)
	for _, state := range b.UInt8(2 + len(a.requested)) {
		a.repeated, a.lacking = a.repeated || state&1 != 0, a.lacking || state&lackingColumn != 0
	}
	if a.remaining -= len(groups); a.remaining < 0 || a.repeated {
		return nil
	}
	for from, to := range runs(groups) {
		a.setGroup(groups[from])
		a.points.TS = append(a.points.TS, buckets[from:to]...)
		for i, f := range a.functions {
			a.addValues(&a.points.Columns[i], b, slices.Index(a.requested, f), from, to)
		}
	}
	return nil
}

// addValues adds the values of a requested function, by its index, in some rows of a block. If the
// index is -1, it adds missing values.
func (a *aggregateRows) addValues(column *Column, b *native.Block, function, from, to int) {
	switch {
	case function < 0:
		for range to - from {
			column.Numbers = append(column.Numbers, math.NaN())
		}
	case a.isText(a.requested[function]):
		for row := from; row < to; row++ {
			value := b.String(2+function, row)
			column.Strings = append(column.Strings, &value)
		}
	default:
		added := len(column.Numbers)
		column.Numbers = append(column.Numbers, b.Float64(2 + function)[from:to]...)
		for i, value := range column.Numbers[added:] {
			if math.IsInf(value, 0) {
				column.Numbers[added+i] = math.NaN()
			}
		}
	}
}

// setGroup sets the points to which rows are added to those of a value of the group.
func (a *aggregateRows) setGroup(group uint64) {
	if a.points != nil && a.current == group {
		return
	}
	a.current, a.points = group, &Points{Columns: make([]Column, len(a.functions))}
	a.found[a.groupOf(group)] = a.points
}

// addRow adds a row to the result. value returns the value of a requested function by its index.
func (a *aggregateRows) addRow(group uint64, bucket int64, value func(function int) float64) {
	if a.remaining--; a.remaining < 0 {
		return
	}
	a.setGroup(group)
	a.points.TS = append(a.points.TS, bucket)
	for i, f := range a.functions {
		number := math.NaN()
		if k := slices.Index(a.requested, f); k >= 0 {
			if number = value(k); math.IsInf(number, 0) {
				number = math.NaN()
			}
		}
		a.points.Columns[i].Numbers = append(a.points.Columns[i].Numbers, number)
	}
}
