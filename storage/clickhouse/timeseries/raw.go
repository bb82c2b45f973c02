package timeseries

import (
	"context"
	"fmt"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

// RawQuery asks for the points of series as they are.
type RawQuery struct {
	Numbers    []uint64 // series of numbers
	Texts      []uint64 // series of texts
	Range      Range
	Descending bool // newest first
	Limit      int  // most points in all
}

// RawPoints returns each series' points, in one column, and whether there are more
// than the limit; then a single series' points are its first ones, while of
// several some are missing. Series without points are left out.
func (r *Reader) RawPoints(ctx context.Context, q RawQuery) (found map[uint64]*Points, more bool, err error) {
	found = map[uint64]*Points{}
	if err := q.Range.hide(q.Range.FromUS, q.Numbers, q.Texts); err != nil {
		return found, false, err
	}
	left := q.Limit
	if len(q.Numbers) > 0 {
		err := r.raw(ctx, clickhouse.TableNumbers, q.Numbers, q, left, takeNumbers(found, &left))
		if err != nil || left < 0 {
			return found, left < 0, err
		}
	}
	if len(q.Texts) > 0 {
		var ( // where a row is scanned into: not again for each
			series uint64
			ts     int64
			text   string
		)
		targets := []any{&series, &ts, &text}
		err = r.raw(ctx, clickhouse.TableTexts, q.Texts, q, left, func(scan func(...any) error) error {
			if err := scan(targets...); err != nil {
				return err
			}
			if left--; left < 0 {
				return nil
			}
			p, value := pointsOf(found, series), text
			p.TS = append(p.TS, ts)
			p.Columns[0].Texts = append(p.Columns[0].Texts, &value)
			return nil
		})
	}
	return found, left < 0, err
}

// takeNumbers takes up rows of a series, a time and a number, as many as are left.
func takeNumbers(found map[uint64]*Points, left *int) func(scan func(...any) error) error {
	var ( // where a row is scanned into: not again for each
		series uint64
		ts     int64
		number float64
	)
	targets := []any{&series, &ts, &number}
	return func(scan func(...any) error) error {
		if err := scan(targets...); err != nil {
			return err
		}
		if *left--; *left < 0 {
			return nil
		}
		p := pointsOf(found, series)
		p.TS = append(p.TS, ts)
		p.Columns[0].Numbers = append(p.Columns[0].Numbers, number)
		return nil
	}
}

// raw reads in the table's own order, so that it stops at the limit instead of
// reading the whole range. Of the rows of one timestamp the newest version comes
// first, and LIMIT BY keeps that one.
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
		table, clickhouse.IDArray(series), q.Range.where(series), direction, limit+1, q.Range.leavingOut("AND"))
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
