package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
)

// RollUpLimit bounds one statement of a pass on ClickHouse's side: anyone who asks
// RollupPass.Proceed before each must not be succeeded within this time.
const RollUpLimit = time.Minute

const (
	// statementGrace is how much longer than its limit a statement is waited for.
	statementGrace = 5 * time.Second
	// A statement of a pass is made larger or smaller to take about so long.
	shortStatement = 500 * time.Millisecond
	longStatement  = 4 * time.Second

	// versionStep is more than the statements of a pass, each of which has a version
	// of its own. Versions follow the clock in nanoseconds, and so only need it when
	// the clock was set back.
	versionStep = 1 << 32

	firstLateSeries = 500
	mostLateSeries  = 10_000
	// mostDays is how many days a statement is made to take where there is little in
	// them, as in a history of a point a day.
	mostDays = 31
	// livePeriod bounds the new hours of one pass, so that marks have their turn
	// while the hours of a long absence are caught up with.
	livePeriod = time.Minute
)

// RollupPass is what one pass of the rollups goes by.
type RollupPass struct {
	// Quiet is how long after an epoch was closed its marks are computed, and how
	// long an epoch is open.
	Quiet time.Duration
	// Late is how long after an hour the horizon passes over it. Points of an hour
	// that come later than that have to be marked.
	Late time.Duration
	// Proceed is asked before each statement; an error ends the pass. May be nil.
	Proceed func(context.Context) error
	// NowUS is the time by which the horizon rises; 0: that of ClickHouse's clock.
	NowUS int64
}

// RollupReport is what a pass found and did.
type RollupReport struct {
	Due     bool      // false: the open epoch is too young, and nothing was done
	Marks   int       // series that were marked, each counted once a stretch of days
	Minutes uint64    // rows of minutes that were written
	Points  uint64    // points that these stand for
	Clean   time.Time // up to which rollups hold now, except for marks
}

// rollup is a pass that runs.
type rollup struct {
	db      *DB
	pass    RollupPass
	version uint64 // of the last rows written
	report  RollupReport
	width   uint64 // of the ids of series that a statement of new hours takes
	late    int    // series that a statement of marked hours takes
	// Days that a statement takes of new hours, and of marked ones.
	newDays, lateDays int64
}

// RollUp does one pass: it closes the open epoch if it is old enough, computes what
// was closed before, and drops its marks. It may be cut short anywhere and done
// again, and does no harm if another process does one at the same time; only that
// a statement of a pass must not outlast it, which Proceed is for.
func (db *DB) RollUp(ctx context.Context, pass RollupPass) (RollupReport, error) {
	s, err := db.rollupState(ctx)
	if err != nil {
		return RollupReport{}, err
	}
	r := &rollup{db: db, pass: pass, width: 1 << 60, late: firstLateSeries, newDays: 1, lateDays: 1}
	r.report.Clean = TimeOf(s.clean)
	if s.now-s.opened < pass.Quiet.Microseconds() {
		return r.report, nil
	}
	r.report.Due = true
	next := s
	next.epoch, next.opened = s.epoch+1, s.now
	next.version = max(s.version+versionStep, uint64(max(s.now, 0))*1000)
	now := s.now
	if pass.NowUS != 0 {
		now = pass.NowUS
	}
	next.horizon = max(s.horizon, HourOf(now-pass.Late.Microseconds())*HourUS)
	// From here on anyone who has stored a point sees that it has to mark, before any
	// point is read below.
	if err := db.raiseRollupState(ctx, next); err != nil {
		return r.report, err
	}
	r.version = next.version
	if s.epoch > 0 {
		if err := r.marked(ctx, s.epoch-1, s.horizon); err != nil {
			return r.report, err
		}
	}
	clean, err := r.hours(ctx, s)
	r.report.Clean = TimeOf(clean)
	return r.report, err
}

// hours computes the hours from clean up to the horizon of the state, as many days at a
// time as take a statement some seconds, and reports how far it came.
func (r *rollup) hours(ctx context.Context, s rollupState) (clean int64, err error) {
	began := time.Now()
	for clean = s.clean; clean < s.horizon; {
		from, err := r.nextStored(ctx, clean, s.horizon)
		if err != nil {
			return clean, err
		}
		to, start := min(s.horizon, from-from%dayUS+r.newDays*dayUS), time.Now()
		err = r.everySeries(ctx, from, to)
		if tooMuch(err) && r.newDays > 1 {
			r.newDays = 1
			continue
		}
		if err != nil {
			return clean, err
		}
		r.newDays = suited(r.newDays, time.Since(start))
		clean = to
		if err := r.db.raiseRollupState(ctx, rollupState{clean: clean, version: r.version}); err != nil {
			return clean, err
		}
		if time.Since(began) > livePeriod {
			break
		}
	}
	return clean, nil
}

// suited returns how many days to take next after so many took so long.
func suited(days int64, took time.Duration) int64 {
	switch {
	case took < shortStatement:
		return min(2*days, mostDays)
	case took > longStatement:
		return max(days/2, 1)
	}
	return days
}

// nextStored returns the first full hour from a time on in a month that has points,
// or the end. It asks what is known of each part, not the points.
func (r *rollup) nextStored(ctx context.Context, from, end int64) (int64, error) {
	var (
		parts uint64
		first int64
	)
	err := r.db.conn.QueryRow(ctx, fmt.Sprintf(`
		SELECT toUInt64(count()), toUnixTimestamp64Micro(min(ts)) FROM points WHERE toYYYYMM(ts) >= toYYYYMM(%s)`,
		Moment(from),
	)).Scan(&parts, &first)
	if err != nil {
		return 0, fmt.Errorf("looking for points to roll up: %w", err)
	}
	if parts == 0 {
		return end, nil
	}
	return min(max(from, HourOf(first)*HourUS), end), nil
}

// everySeries computes the hours of all series, as many at a time as take a statement
// some seconds.
func (r *rollup) everySeries(ctx context.Context, from, to int64) error {
	if from >= to {
		return nil
	}
	for low := uint64(0); ; {
		high := low + (r.width - 1)
		if high < low {
			high = math.MaxUint64
		}
		took, err := r.compute(ctx, window{
			series: fmt.Sprintf("series >= %d AND series <= %d", low, high), from: from, to: to,
		})
		switch {
		case tooMuch(err) && r.width > 1:
			r.width /= 2
			continue
		case err != nil:
			return err
		case took > longStatement && r.width > 1:
			r.width /= 2
		case took < shortStatement && r.width <= math.MaxUint64/2:
			r.width *= 2
		}
		if high == math.MaxUint64 {
			return nil
		}
		low = high + 1
	}
}

// tooMuch reports whether a statement ended because it took too long or wanted too
// much memory, so that a smaller one may do.
func tooMuch(err error) bool {
	var exception *ch.Exception
	if !errors.As(err, &exception) {
		return false
	}
	switch exception.Code {
	case codeTimeout, codeTooSlow, codeMemoryLimit:
		return true
	}
	return false
}

// window is a stretch of full hours of some series.
type window struct {
	series   string // a condition
	from, to int64
	removal  bool // points may have gone
}

func (w window) condition() string {
	return fmt.Sprintf("%s AND ts >= %s AND ts < %s", w.series, Moment(w.from), Moment(w.to))
}

const rollupColumns = "(series, ts, points, total, lowest, highest, first, last, first_us, last_us, version)"

// compute writes the rollups of a window: minutes from points, then hours from
// minutes; where points may have gone, first that those are none which have none
// any more.
func (r *rollup) compute(ctx context.Context, w window) (took time.Duration, err error) {
	began := time.Now()
	where := w.condition()
	if w.removal {
		if err := r.write(ctx, TableMinutes, none(
			TableMinutes, where, "SELECT series, "+startOf("Minute")+" FROM points WHERE "+where,
		)); err != nil {
			return 0, err
		}
	}
	err = r.write(ctx, TableMinutes, `
		SELECT series, `+startOf("Minute")+` AS bucket,
			toUInt32(count()), sum(value), min(value), max(value), argMin(value, ts), argMax(value, ts),
			toUInt32(toUnixTimestamp64Micro(min(ts)) - toUnixTimestamp64Micro(bucket)),
			toUInt32(toUnixTimestamp64Micro(max(ts)) - toUnixTimestamp64Micro(bucket)), %d
		FROM points FINAL PREWHERE `+where+` GROUP BY series, bucket`)
	if err != nil {
		return 0, err
	}
	if err := r.count(ctx, where); err != nil {
		return 0, err
	}
	if w.removal {
		if err := r.write(ctx, TableHours, none(
			TableHours, where, "SELECT series, "+startOf("Hour")+" FROM rollup_1m FINAL PREWHERE "+where+" WHERE points > 0",
		)); err != nil {
			return 0, err
		}
	}
	err = r.write(ctx, TableHours, `
		SELECT series, `+startOf("Hour")+` AS bucket,
			toUInt32(sum(points)), sum(total), min(lowest), max(highest), argMin(first, ts), argMax(last, ts),
			toUInt32(min(toUnixTimestamp64Micro(ts) + first_us) - toUnixTimestamp64Micro(bucket)),
			toUInt32(max(toUnixTimestamp64Micro(ts) + last_us) - toUnixTimestamp64Micro(bucket)), %d
		FROM rollup_1m FINAL PREWHERE `+where+` WHERE points > 0 GROUP BY series, bucket`)
	return time.Since(began), err
}

// startOf returns the expression for the start of a time's minute or hour. Times are
// of UTC, whose hours are those of the Unix epoch.
func startOf(unit string) string { return "toDateTime64(toStartOf" + unit + "(ts), 6, 'UTC')" }

// none returns the rows that say of a table's rows that nothing is there any more,
// unless they are among those that are.
func none(table, where, there string) string {
	return `SELECT series, ts, 0, 0, 0, 0, 0, 0, 0, 0, %d FROM ` + table + ` FINAL PREWHERE ` + where +
		` WHERE points > 0 AND (series, ts) NOT IN (` + there + `)`
}

// write runs a statement that computes rows of a table; it has the place of their
// version. Each has a higher one than those before.
func (r *rollup) write(ctx context.Context, table, query string) (err error) {
	if r.pass.Proceed != nil {
		if err := r.pass.Proceed(ctx); err != nil {
			return err
		}
	}
	defer func(began time.Time) { r.db.metrics.observe(opRollup, began, 0, err) }(time.Now())
	ctx, cancel := context.WithTimeout(ctx, RollUpLimit+statementGrace)
	defer cancel()
	r.version++
	statement := "INSERT INTO " + table + " " + rollupColumns + fmt.Sprintf(query, r.version)
	if err := r.db.conn.Exec(ch.Context(ctx, ch.WithSettings(rollupSettings())), statement); err != nil {
		return fmt.Errorf("writing to %s: %w", table, err)
	}
	return nil
}

// rollupSettings hold for the statements of a pass. One thread, because they are
// never urgent. Rows of one time are of one month, so months need not be merged.
func rollupSettings() ch.Settings {
	return ch.Settings{
		"async_insert": 0, "optimize_on_insert": 0, "insert_deduplicate": 0, "max_partitions_per_insert_block": 0,
		"max_execution_time": int(RollUpLimit.Seconds()), "timeout_overflow_mode": "throw",
		"max_threads": 1, "max_insert_threads": 1, "max_query_size": maxStatement,
		"optimize_aggregation_in_order": 1, "do_not_merge_across_partitions_select_final": 1,
	}
}

// count adds to the report what the last statement of minutes wrote.
func (r *rollup) count(ctx context.Context, where string) error {
	var rows, points uint64
	err := r.db.conn.QueryRow(ch.Context(ctx, ch.WithSettings(settings())), fmt.Sprintf(
		"SELECT toUInt64(count()), toUInt64(sum(points)) FROM rollup_1m WHERE %s AND version = %d", where,
		r.version)).Scan(&rows, &points)
	if err != nil {
		return fmt.Errorf("counting rollups: %w", err)
	}
	r.report.Minutes += rows
	r.report.Points += points
	return nil
}
