package timeseries

import (
	"context"
	"fmt"
	"iter"

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
}

// RawPoints returns the points of each series, in one column. It reports whether there are
// more than the limit. Then the points of a single series are its first ones, and any points
// of several series may be missing. Series without points are remaining out.
func (r *Reader) RawPoints(ctx context.Context, q RawQuery) (found map[uint64]*Points, more bool, err error) {
	found = map[uint64]*Points{}
	if err := q.Range.applyHidden(q.Range.FromUS, q.Numbers, q.Strings); err != nil {
		return found, false, err
	}
	remaining := q.Limit
	if len(q.Numbers) > 0 {
		err := r.raw(ctx, clickhouse.TablePoints, q.Numbers, q, remaining, collectNumbers(found, &remaining))
		if err != nil || remaining < 0 {
			return found, remaining < 0, err
		}
	}
	if len(q.Strings) > 0 {
		err = r.raw(ctx, clickhouse.TableStates, q.Strings, q, remaining, collectStrings(found, &remaining))
	}
	return found, remaining < 0, err
}

// numberColumns are the columns that collectNumbers reads.
var numberColumns = []ch.ColumnNameAndType{
	{Name: "id", Type: "UInt64"}, {Name: "us", Type: "Int64"}, {Name: "result", Type: "Float64"},
}

// stringColumns are the columns that collectStrings reads.
var stringColumns = []ch.ColumnNameAndType{
	{Name: "id", Type: "UInt64"}, {Name: "us", Type: "Int64"}, {Name: "result", Type: "String"},
}

// collectNumbers returns a function that adds rows of a series, a time and a number to found, which
// are ordered by series. It counts remaining down and adds no further rows when it is below zero.
func collectNumbers(found map[uint64]*Points, remaining *int) func(*native.Block) error {
	return collect(found, remaining, func(c *Column, b *native.Block, from, to int) {
		c.Numbers = append(c.Numbers, b.Float64(2)[from:to]...)
	})
}

// collectStrings does the same for rows of a series, a time and a string.
func collectStrings(found map[uint64]*Points, remaining *int) func(*native.Block) error {
	return collect(found, remaining, func(c *Column, b *native.Block, from, to int) {
		for row := from; row < to; row++ {
			value := b.String(2, row)
			c.Strings = append(c.Strings, &value)
		}
	})
}

func collect(
	found map[uint64]*Points, remaining *int, add func(c *Column, b *native.Block, from, to int),
) func(*native.Block) error {
	return func(b *native.Block) error {
		series, times := b.UInt64(0), b.Int64(1)
		if *remaining -= len(series); *remaining < 0 { // the rows up to the limit, and no more
			end := max(len(series)+*remaining, 0)
			series = series[:end]
		}
		for from, to := range runs(series) {
			p := pointsOf(found, series[from])
			p.TS = append(p.TS, times[from:to]...)
			add(&p.Columns[0], b, from, to)
		}
		return nil
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

// raw reads in the order of the table, so that it stops at the limit instead of reading the
// whole range. Of the rows of one timestamp, the newest version comes first, and LIMIT BY
// keeps only that one.
func (r *Reader) raw(
	ctx context.Context, table string, series []uint64, q RawQuery, limit int, each func(*native.Block) error,
) error {
	columns := numberColumns
	if table == clickhouse.TableStates {
		columns = stringColumns
	}
	direction := ""
	if q.Descending {
		direction = " DESC"
	}
	statement := fmt.Sprintf(`
		SELECT series AS id, toUnixTimestamp64Micro(ts) AS us, value AS result FROM %[1]s
		WHERE series IN (%[2]s) AND %[3]s%[6]s
		ORDER BY series%[4]s, ts%[4]s, version DESC LIMIT 1 BY series, ts LIMIT %[5]d`,
		table, clickhouse.IDArray(series), q.Range.where(series), direction, limit+1, q.Range.hiddenCondition("AND"))
	return r.db.QueryBlocks(ctx, clickhouse.OpRaw, statement, q.Range.parameters(), columns, each)
}

func pointsOf(found map[uint64]*Points, series uint64) *Points {
	p := found[series]
	if p == nil {
		p = &Points{Columns: make([]Column, 1)}
		found[series] = p
	}
	return p
}
