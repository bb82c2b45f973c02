package timeseries

import (
	"context"
	"fmt"
	"iter"
	"maps"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/native"
)

// RawQuery selects the stored points of series.
type RawQuery struct {
	Numbers    []uint64 // series of numbers
	Strings    []uint64 // series of strings
	Range      Range
	Descending bool // newest first
	Limit      int  // maximum number of points in all
	// TextUnit is the number of bytes of a string that count as one more point to the limit; 0: a string is one point
	// whatever its length.
	TextUnit int
}

// RawPoints returns the points of each series, in one column. It reports whether there are
// more than the limit. Then the points of a single series are its first ones, and any points
// of several series may be missing. Series without points are left out.
func (r *Reader) RawPoints(ctx context.Context, q RawQuery) (found map[uint64]*Points, more bool, err error) {
	found = map[uint64]*Points{}
	if err := q.Range.applyHidden(q.Range.FromUS, q.Numbers, q.Strings); err != nil {
		return found, false, err
	}
	remaining := q.Limit
	for _, t := range []rawTable{
		{clickhouse.TablePoints, q.Numbers, numberColumns, addNumbers, 0},
		{clickhouse.TableStates, q.Strings, stringColumns, addStrings, q.TextUnit},
	} {
		if len(t.series) == 0 || remaining < 0 {
			continue
		}
		err := r.untilCertain(func(how reading) (repeated bool, err error) {
			c := collector{found: map[uint64]*Points{}, remaining: remaining, add: t.add, textUnit: t.textUnit}
			err = r.db.QueryBlocks(
				ctx, clickhouse.OpRaw, q.statement(&t, remaining, how), q.Range.parameters(), t.columns, c.collect,
			)
			if err != nil || c.repeated {
				return c.repeated, err
			}
			maps.Copy(found, c.found)
			remaining = c.remaining
			return false, nil
		})
		if err != nil {
			return found, false, err
		}
	}
	return found, remaining < 0, nil
}

// rawTable is a table with the series of a query that are in it.
type rawTable struct {
	name    string
	series  []uint64
	columns []ch.ColumnNameAndType
	add     func(c *Column, b *native.Block, from, to int)
	// textUnit is that of the query if the values are strings, and otherwise 0.
	textUnit int
}

// statement returns the statement that reads the points of a table. It reads in the order of the
// table, so that it stops at the limit instead of reading the whole range. The statement by part
// does not compare versions: the rows of one point follow each other in its result, and
// collector.repeated reports them. Otherwise the newest of these rows comes first, and LIMIT BY
// keeps only that one.
func (q *RawQuery) statement(t *rawTable, limit int, how reading) string {
	direction := ""
	if q.Descending {
		direction = " DESC"
	}
	newest := ""
	if how == onlyCurrent {
		newest = ", version DESC LIMIT 1 BY series, ts"
	}
	return fmt.Sprintf(`
		SELECT series AS id, toUnixTimestamp64Micro(ts) AS us, value AS result FROM %[1]s
		WHERE series IN (%[2]s) AND %[3]s%[4]s
		ORDER BY series%[5]s, ts%[5]s%[6]s LIMIT %[7]d`,
		t.name, clickhouse.IDArray(t.series), q.Range.where(t.series), q.Range.hiddenCondition("AND"), direction, newest,
		limit+1)
}

// numberColumns are the columns that addNumbers reads.
var numberColumns = []ch.ColumnNameAndType{
	{Name: "id", Type: "UInt64"}, {Name: "us", Type: "Int64"}, {Name: "result", Type: "Float64"},
}

// stringColumns are the columns that addStrings reads.
var stringColumns = []ch.ColumnNameAndType{
	{Name: "id", Type: "UInt64"}, {Name: "us", Type: "Int64"}, {Name: "result", Type: "String"},
}

// addNumbers appends the third column of some rows to a column of numbers.
func addNumbers(c *Column, b *native.Block, from, to int) {
	c.Numbers = append(c.Numbers, b.Float64(2)[from:to]...)
}

// addStrings appends the third column of some rows to a column of strings.
func addStrings(c *Column, b *native.Block, from, to int) {
	for row := from; row < to; row++ {
		value := b.String(2, row)
		c.Strings = append(c.Strings, &value)
	}
}

// collector collects rows of a series, a time and a value, which are ordered by series and time.
type collector struct {
	found     map[uint64]*Points
	remaining int  // number of rows up to the limit; negative: there are more
	repeated  bool // two rows have the same series and time
	add       func(c *Column, b *native.Block, from, to int)
	textUnit  int // see RawQuery.TextUnit

	series uint64 // of the last row
	us     int64  // of the last row
	seen   bool   // there was a row
}

// collect adds the rows of a block, up to the limit.
func (c *collector) collect(b *native.Block) error {
	series, times := b.UInt64(0), b.Int64(1)
	c.compare(series, times)
	c.remaining -= c.textUnits(b)
	if c.remaining -= len(series); c.remaining < 0 {
		end := max(len(series)+c.remaining, 0)
		series = series[:end]
	}
	for from, to := range runs(series) {
		p := pointsOf(c.found, series[from])
		p.TS = append(p.TS, times[from:to]...)
		c.add(&p.Columns[0], b, from, to)
	}
	return nil
}

// textUnits returns the number of points that the strings of a block count in addition to their rows.
func (c *collector) textUnits(b *native.Block) (units int) {
	if c.textUnit == 0 {
		return 0
	}
	for row := range b.Rows() {
		units += len(b.String(2, row)) / c.textUnit
	}
	return units
}

// compare compares each row with the one before it. It includes the row beyond the limit: if that is
// the second row of a point, there may be no more points.
func (c *collector) compare(series []uint64, times []int64) {
	for i, us := range times {
		c.repeated = c.repeated || c.seen && us == c.us && series[i] == c.series
		c.series, c.us, c.seen = series[i], us, true
	}
}

// runs returns the runs of equal values: the index of the first and the index after the last.
func runs(values []uint64) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		for from := 0; from < len(values); {
			to := from + 1
			for to < len(values) && values[to] == values[from] {
				to++
			}
			if !yield(from, to) {
				return
			}
			from = to
		}
	}
}

// pointsOf returns the points of a series, which it adds if there are none.
func pointsOf(found map[uint64]*Points, series uint64) *Points {
	p := found[series]
	if p == nil {
		p = &Points{Columns: make([]Column, 1)}
		found[series] = p
	}
	return p
}
