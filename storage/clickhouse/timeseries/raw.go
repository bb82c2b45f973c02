package timeseries

import (
	"context"
	"fmt"

	"github.com/livegraph/livegraph/storage/clickhouse"
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
		var ( // scan targets, reused by all rows
			series uint64
			ts     int64
			text   string
		)
		targets := []any{&series, &ts, &text}
		err = r.raw(ctx, clickhouse.TableStates, q.Strings, q, remaining, func(scan func(...any) error) error {
			if err := scan(targets...); err != nil {
				return err
			}
			if remaining--; remaining < 0 {
				return nil
			}
			p, value := pointsOf(found, series), text
			p.TS = append(p.TS, ts)
			p.Columns[0].Strings = append(p.Columns[0].Strings, &value)
			return nil
		})
	}
	return found, remaining < 0, err
}

// collectNumbers returns a function that adds rows of a series, a time and a number to
// found. It counts remaining down and adds no further rows when it is below zero.
func collectNumbers(found map[uint64]*Points, remaining *int) func(scan func(...any) error) error {
	var ( // scan targets, reused by all rows
		series uint64
		ts     int64
		number float64
	)
	targets := []any{&series, &ts, &number}
	return func(scan func(...any) error) error {
		if err := scan(targets...); err != nil {
			return err
		}
		if *remaining--; *remaining < 0 {
			return nil
		}
		p := pointsOf(found, series)
		p.TS = append(p.TS, ts)
		p.Columns[0].Numbers = append(p.Columns[0].Numbers, number)
		return nil
	}
}

// raw reads in the order of the table, so that it stops at the limit instead of reading the
// whole range. Of the rows of one timestamp, the newest version comes first, and LIMIT BY
// keeps only that one.
func (r *Reader) raw(
	ctx context.Context, table string, series []uint64, q RawQuery, limit int, each func(scan func(...any) error) error,
) error {
	direction := ""
	if q.Descending {
		direction = " DESC"
	}
	statement := fmt.Sprintf(`
		SELECT series, toUnixTimestamp64Micro(ts), value FROM %[1]s
		WHERE series IN (%[2]s) AND %[3]s%[6]s
		ORDER BY series%[4]s, ts%[4]s, version DESC LIMIT 1 BY series, ts LIMIT %[5]d`,
		table, clickhouse.IDArray(series), q.Range.where(series), direction, limit+1, q.Range.hiddenCondition("AND"))
	return r.db.Query(ctx, clickhouse.OpRaw, statement, q.Range.parameters(), each)
}

func pointsOf(found map[uint64]*Points, series uint64) *Points {
	p := found[series]
	if p == nil {
		p = &Points{Columns: make([]Column, 1)}
		found[series] = p
	}
	return p
}
