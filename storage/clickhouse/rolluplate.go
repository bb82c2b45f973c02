package clickhouse

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// marked computes what is marked in the epochs up to one that is closed, as far as
// it is below the horizon, and drops the marks. What is above was never computed.
func (r *rollup) marked(ctx context.Context, upTo uint64, horizon int64) error {
	epochs, err := r.epochs(ctx, upTo)
	if err != nil || len(epochs) == 0 {
		return err
	}
	if err := r.markedDays(ctx, upTo, horizon); err != nil {
		return err
	}
	if err := r.markedLong(ctx, upTo, horizon); err != nil {
		return err
	}
	for _, epoch := range epochs {
		if err := r.db.conn.Exec(ctx, fmt.Sprintf("ALTER TABLE rollup_marks DROP PARTITION %d", epoch)); err != nil {
			return fmt.Errorf("dropping marks of rollups: %w", err)
		}
	}
	return nil
}

// epochs lists the epochs up to one in which there are marks.
func (r *rollup) epochs(ctx context.Context, upTo uint64) (epochs []uint64, err error) {
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

// markedDays computes marks that lie within a day: those of points. Series that are
// marked on one day, or on days that follow each other and have little in them, are
// computed together, over all the hours that are marked of any of them: what was not
// marked comes out as it was.
func (r *rollup) markedDays(ctx context.Context, upTo uint64, horizon int64) error {
	within := fmt.Sprintf("epoch <= %d AND to_hour - from_hour <= %d", upTo, dayHours)
	days, err := r.days(ctx, fmt.Sprintf(
		"SELECT DISTINCT toUInt32(intDiv(from_hour, %d)) AS day FROM rollup_marks WHERE %s ORDER BY day", dayHours, within,
	))
	if err != nil {
		return err
	}
	for len(days) > 0 {
		n := consecutive(days, r.lateDays)
		of := fmt.Sprintf("%s AND from_hour >= %d AND from_hour < %d", within, days[0]*dayHours, (days[n-1]+1)*dayHours)
		began := time.Now()
		err := r.eachChunk(ctx, of, func(w window) (time.Duration, error) {
			w.to = min(w.to, horizon)
			if w.from >= w.to {
				return 0, nil
			}
			return r.compute(ctx, w)
		})
		if tooMuch(err) && r.lateDays > 1 {
			r.lateDays = 1
			continue
		}
		if err != nil {
			return err
		}
		r.lateDays = suited(r.lateDays, time.Since(began))
		days = days[n:]
	}
	return nil
}

// consecutive returns how many of the first days follow each other, at most so many: what
// lies between days that are marked is not computed.
func consecutive(days []uint32, most int64) int {
	n := 1
	for n < len(days) && int64(n) < most && days[n] == days[n-1]+1 {
		n++
	}
	return n
}

// markedLong computes marks of more than a day: those of deletions, which may be
// without end. Only days in which there is something are computed.
func (r *rollup) markedLong(ctx context.Context, upTo uint64, horizon int64) error {
	return r.eachChunk(ctx, fmt.Sprintf("epoch <= %d AND to_hour - from_hour > %d", upTo, dayHours),
		func(w window) (time.Duration, error) {
			w.to = min(w.to, horizon)
			if w.from >= w.to {
				return 0, nil
			}
			part := func(table string) string {
				return fmt.Sprintf(
					"SELECT DISTINCT toUInt32(intDiv(toUnixTimestamp64Micro(ts), %d)) AS day FROM %s WHERE %s", dayUS, table,
					w.condition(),
				)
			}
			days, err := r.days(
				ctx,
				"SELECT DISTINCT day FROM ("+part("points")+" UNION ALL "+part(TableMinutes)+" UNION ALL "+
					part(TableHours)+") ORDER BY day",
			)
			if err != nil {
				return 0, err
			}
			began := time.Now()
			for _, day := range days {
				one := w
				one.from, one.to = max(w.from, int64(day)*dayUS), min(w.to, int64(day+1)*dayUS)
				if _, err := r.compute(ctx, one); err != nil {
					return 0, err
				}
			}
			return time.Since(began) / time.Duration(max(len(days), 1)), nil
		})
}

// days reads days, counted from the Unix epoch.
func (r *rollup) days(ctx context.Context, statement string) (days []uint32, err error) {
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

// eachChunk computes the series of marks in the order of their ids, so many at a time
// that a statement takes some seconds.
func (r *rollup) eachChunk(ctx context.Context, of string, compute func(window) (time.Duration, error)) error {
	after, begun := uint64(0), false
	for {
		from := ""
		if begun {
			from = fmt.Sprintf(" AND series > %d", after)
		}
		w, ids, err := r.chunk(ctx, of+from)
		if err != nil || len(ids) == 0 {
			return err
		}
		took, err := compute(w)
		switch {
		case tooMuch(err) && r.late > 1 && len(ids) > 1:
			r.late = max(len(ids)/2, 1)
			continue
		case err != nil:
			return err
		case took > longStatement:
			r.late = max(r.late/2, 1)
		case took < shortStatement:
			r.late = min(r.late*2, mostLateSeries)
		}
		r.report.Marks += len(ids)
		if ids[len(ids)-1] == math.MaxUint64 {
			return nil
		}
		after, begun = ids[len(ids)-1], true
	}
}

// chunk reads the next series of marks, and the hours from the first to the last
// that is marked of any of them.
func (r *rollup) chunk(ctx context.Context, of string) (w window, ids []uint64, err error) {
	w.from, w.to = math.MaxInt64, 0
	err = r.db.eachRow(ctx, fmt.Sprintf(`
		SELECT series, min(from_hour), max(to_hour), max(removal) FROM rollup_marks WHERE %s
		GROUP BY series ORDER BY series LIMIT %d`, of, r.late), func(rows driver.Rows) error {
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
