package clickhouse

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// computeMarked computes the marked hours of the epochs up to a closed one, as far as they
// are below the horizon, and drops the marks. Hours above the horizon were never computed.
func (r *passRun) computeMarked(ctx context.Context, upTo uint64, horizon int64) error {
	epochs, err := r.epochs(ctx, upTo)
	if err != nil || len(epochs) == 0 {
		return err
	}
	if err := r.computeMarkedDays(ctx, upTo, horizon); err != nil {
		return err
	}
	if err := r.computeMarkedLong(ctx, upTo, horizon); err != nil {
		return err
	}
	marks := r.db.layout.Stored("rollup_marks")
	for _, epoch := range epochs {
		if err := r.db.conn.Exec(ctx, fmt.Sprintf("ALTER TABLE %s DROP PARTITION %d", marks, epoch)); err != nil {
			return fmt.Errorf("dropping marks of rollups: %w", err)
		}
	}
	return nil
}

// epochs returns the epochs with marks, up to a given one.
func (r *passRun) epochs(ctx context.Context, upTo uint64) (epochs []uint64, err error) {
	err = r.db.eachRow(ctx, fmt.Sprintf("SELECT DISTINCT epoch FROM rollup_marks WHERE epoch <= %d ORDER BY epoch", upTo),
		func(rows driver.Rows) error {
			var epoch uint64
			err := rows.Scan(&epoch)
			epochs = append(epochs, epoch)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("reading the epochs of marks: %w", err)
	}
	return epochs, nil
}

// computeMarkedDays computes marks of at most a day, which stored points cause. Series that
// are marked on the same day, or on consecutive days with few points, are computed together,
// over the hours from the first to the last that is marked for any of them: the rows of
// unmarked hours do not change.
func (r *passRun) computeMarkedDays(ctx context.Context, upTo uint64, horizon int64) error {
	short := fmt.Sprintf("epoch <= %d AND to_hour - from_hour <= %d", upTo, dayHours)
	days, err := r.days(ctx, fmt.Sprintf(
		"SELECT DISTINCT toUInt32(intDiv(from_hour, %d)) AS day FROM rollup_marks WHERE %s ORDER BY day", dayHours, short,
	))
	if err != nil {
		return err
	}
	for len(days) > 0 {
		n := consecutive(days, r.lateDays)
		condition := fmt.Sprintf(
			"%s AND from_hour >= %d AND from_hour < %d", short, days[0]*dayHours, (days[n-1]+1)*dayHours,
		)
		began := time.Now()
		err := r.eachChunk(ctx, condition, func(w window) (time.Duration, error) {
			w.to = min(w.to, horizon)
			if w.from >= w.to {
				return 0, nil
			}
			return r.computeUnmatched(ctx, w)
		})
		if exceededLimit(err) && r.lateDays > 1 {
			r.lateDays = 1
			continue
		}
		if err != nil {
			return err
		}
		r.lateDays = nextDays(r.lateDays, time.Since(began))
		days = days[n:]
	}
	return nil
}

// consecutive returns how many of the first days are consecutive, at most limit. Days between
// marked days are not computed.
func consecutive(days []uint32, limit int64) int {
	n := 1
	for n < len(days) && int64(n) < limit && days[n] == days[n-1]+1 {
		n++
	}
	return n
}

// computeMarkedLong computes marks of more than a day, which deletions cause. They may have no
// upper bound. Only days with points or rollups are computed.
func (r *passRun) computeMarkedLong(ctx context.Context, upTo uint64, horizon int64) error {
	return r.eachChunk(ctx, fmt.Sprintf("epoch <= %d AND to_hour - from_hour > %d", upTo, dayHours),
		func(w window) (time.Duration, error) {
			w.to = min(w.to, horizon)
			if w.from >= w.to {
				return 0, nil
			}
			daysOf := func(table string) string {
				return fmt.Sprintf(
					"SELECT DISTINCT toUInt32(intDiv(toUnixTimestamp64Micro(ts), %d)) AS day FROM %s WHERE %s", dayUS, table,
					w.condition(),
				)
			}
			days, err := r.days(
				ctx,
				"SELECT DISTINCT day FROM ("+daysOf("points")+" UNION ALL "+daysOf(TableMinutes)+" UNION ALL "+
					daysOf(TableHours)+") ORDER BY day",
			)
			if err != nil {
				return 0, err
			}
			began := time.Now()
			for _, day := range days {
				dayWindow := w
				dayWindow.from, dayWindow.to = max(w.from, int64(day)*dayUS), min(w.to, int64(day+1)*dayUS)
				if err := r.compute(ctx, dayWindow); err != nil {
					return 0, err
				}
			}
			return time.Since(began) / time.Duration(max(len(days), 1)), nil
		})
}

// days reads days, counted from the Unix epoch.
func (r *passRun) days(ctx context.Context, statement string) (days []uint32, err error) {
	err = r.db.eachRow(ctx, statement, func(rows driver.Rows) error {
		var day uint32
		err := rows.Scan(&day)
		days = append(days, day)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the days of marks: %w", err)
	}
	return days, nil
}

// eachChunk computes the series of marks in the order of their ids. It adapts their number in
// a statement so that the statement takes a few seconds.
func (r *passRun) eachChunk(ctx context.Context, condition string, compute func(window) (time.Duration, error)) error {
	last, started := uint64(0), false
	for {
		afterLast := ""
		if started {
			afterLast = fmt.Sprintf(" AND series > %d", last)
		}
		w, ids, err := r.nextChunk(ctx, condition+afterLast)
		if err != nil || len(ids) == 0 {
			return err
		}
		took, err := compute(w)
		switch {
		case exceededLimit(err) && r.lateSeries > 1 && len(ids) > 1:
			r.lateSeries = max(len(ids)/2, 1)
			continue
		case err != nil:
			return err
		case took > longStatement:
			r.lateSeries = max(r.lateSeries/2, 1)
		case took < shortStatement:
			r.lateSeries = min(r.lateSeries*2, maxLateSeries)
		}
		r.report.Marks += len(ids)
		if ids[len(ids)-1] == math.MaxUint64 {
			return nil
		}
		last, started = ids[len(ids)-1], true
	}
}

// nextChunk reads the next series of marks, and the hours from the first to the last that is
// marked for any of them.
func (r *passRun) nextChunk(ctx context.Context, condition string) (w window, ids []uint64, err error) {
	w.from, w.to, w.marked = math.MaxInt64, 0, true
	err = r.db.eachRow(ctx, fmt.Sprintf(`
		SELECT series, min(from_hour), max(to_hour), max(removal) FROM rollup_marks WHERE %s
		GROUP BY series ORDER BY series LIMIT %d`, condition, r.lateSeries), func(rows driver.Rows) error {
		var (
			id       uint64
			from, to uint32
			removal  uint8
		)
		if err := rows.Scan(&id, &from, &to, &removal); err != nil {
			return err
		}
		ids = append(ids, id)
		w.from, w.to, w.removal = min(w.from, int64(from)*HourUS), max(w.to, int64(to)*HourUS), w.removal || removal > 0
		return nil
	})
	if err != nil {
		return window{}, nil, fmt.Errorf("reading marks of rollups: %w", err)
	}
	w.series = "series IN (" + joinIDs(ids) + ")"
	return w, ids, nil
}
