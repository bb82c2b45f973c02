package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
)

// RollUpLimit is the time limit of one statement of a pass in ClickHouse. When
// RollupPass.Proceed allows a statement, no other process may take over the passes within
// this time.
const RollUpLimit = time.Minute

const (
	// statementGrace is the time that a pass waits for a statement beyond RollUpLimit.
	statementGrace = 5 * time.Second
	// Range of the duration of a statement. The size of statements is adapted to it.
	shortStatement = 500 * time.Millisecond
	longStatement  = 4 * time.Second

	// versionStep is larger than the number of statements of a pass, each of which has its
	// own version. Versions follow the clock in nanoseconds, so that versionStep matters only
	// if the clock was set back.
	versionStep = 1 << 32

	firstLateSeries = 500
	maxLateSeries   = 10_000
	// maxStatementDays is the maximum number of days in a statement. It is reached when days
	// have few points, as in a history with one point a day.
	maxStatementDays = 31
	// maxCatchUpTime limits the time that a pass spends on new hours, so that marks are
	// processed even while the hours of a long downtime are computed.
	maxCatchUpTime = time.Minute
)

// RollupPass configures one pass of the rollups.
type RollupPass struct {
	// Quiet is the minimum time for which an epoch is open, and the minimum time between
	// closing an epoch and computing its marks.
	Quiet time.Duration
	// Late is the time after which the horizon passes an hour. Points of an hour that are
	// stored later must be marked.
	Late time.Duration
	// Proceed is called before each statement. An error ends the pass. May be nil.
	Proceed func(context.Context) error
	// NowUS is the current time for the horizon; 0: the time of ClickHouse's clock.
	NowUS int64
}

// RollupReport is the result of a pass.
type RollupReport struct {
	Due     bool      // false: the open epoch is too young, and nothing was done
	Marks   int       // marked series that were computed, counted once for each run of days
	Minutes uint64    // rows of minutes that were written
	Points  uint64    // points in these rows
	Clean   time.Time // time up to which rollups are valid now, unless they are marked
}

// passRun is a running pass.
type passRun struct {
	db         *DB
	pass       RollupPass
	version    uint64 // of the last written rows
	report     RollupReport
	idRange    uint64 // size of the range of series ids in a statement of new hours
	lateSeries int    // number of series in a statement of marked hours
	newDays    int64  // days in a statement of new hours
	lateDays   int64  // days in a statement of marked hours
}

// RollUp runs one pass: it closes the open epoch if it is old enough, computes what was
// closed before, and drops the marks of that. A pass may be interrupted anywhere and
// repeated, and several processes may run passes at the same time. Only a statement must not
// run on after its pass has ended, for which there is Proceed.
func (db *DB) RollUp(ctx context.Context, pass RollupPass) (RollupReport, error) {
	s, err := db.rollupState(ctx)
	if err != nil {
		return RollupReport{}, err
	}
	r := &passRun{db: db, pass: pass, idRange: 1 << 60, lateSeries: firstLateSeries, newDays: 1, lateDays: 1}
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
	// After this statement, every writer of a point sees that it must mark. This comes before
	// the points are read below.
	if err := db.raiseRollupState(ctx, next); err != nil {
		return r.report, err
	}
	r.version = next.version
	if s.epoch > 0 {
		if err := r.computeMarked(ctx, s.epoch-1, s.horizon); err != nil {
			return r.report, err
		}
	}
	clean, err := r.computeNewHours(ctx, s)
	r.report.Clean = TimeOf(clean)
	return r.report, err
}

// computeNewHours computes the hours from clean up to the horizon of the state. It adapts the
// number of days in a statement so that the statement takes a few seconds. It returns the new
// value of clean.
func (r *passRun) computeNewHours(ctx context.Context, s rollupState) (clean int64, err error) {
	began := time.Now()
	for clean = s.clean; clean < s.horizon; {
		from, err := r.nextStored(ctx, clean, s.horizon)
		if err != nil {
			return clean, err
		}
		to, start := min(s.horizon, from-from%dayUS+r.newDays*dayUS), time.Now()
		err = r.computeAllSeries(ctx, from, to)
		if exceededLimit(err) && r.newDays > 1 {
			r.newDays = 1
			continue
		}
		if err != nil {
			return clean, err
		}
		r.newDays = nextDays(r.newDays, time.Since(start))
		clean = to
		if err := r.db.raiseRollupState(ctx, rollupState{clean: clean, version: r.version}); err != nil {
			return clean, err
		}
		if time.Since(began) > maxCatchUpTime {
			break
		}
	}
	return clean, nil
}

// nextDays returns the number of days for the next statement, given the number of days of the
// last one and its duration.
func nextDays(days int64, took time.Duration) int64 {
	switch {
	case took < shortStatement:
		return min(2*days, maxStatementDays)
	case took > longStatement:
		return max(days/2, 1)
	}
	return days
}

// nextStored returns the first full hour, from a time on, that is in a month with points, or
// end if there is none. It reads only the metadata of parts.
func (r *passRun) nextStored(ctx context.Context, from, end int64) (int64, error) {
	var (
		parts uint64
		first int64
	)
	err := r.db.conn.QueryRow(ctx, fmt.Sprintf(`
		SELECT toUInt64(count()), toUnixTimestamp64Micro(min(ts)) FROM points WHERE toYYYYMM(ts) >= toYYYYMM(%s)`,
		TimeExpression(from),
	)).Scan(&parts, &first)
	if err != nil {
		return 0, fmt.Errorf("looking for points to roll up: %w", err)
	}
	if parts == 0 {
		return end, nil
	}
	return min(max(from, HourOf(first)*HourUS), end), nil
}

// computeAllSeries computes the hours of all series. It adapts the number of series in a
// statement so that the statement takes a few seconds.
func (r *passRun) computeAllSeries(ctx context.Context, from, to int64) error {
	if from >= to {
		return nil
	}
	for low := uint64(0); ; {
		high := low + (r.idRange - 1)
		if high < low {
			high = math.MaxUint64
		}
		took, err := r.compute(ctx, window{
			series: fmt.Sprintf("series >= %d AND series <= %d", low, high), from: from, to: to,
		})
		switch {
		case exceededLimit(err) && r.idRange > 1:
			r.idRange /= 2
			continue
		case err != nil:
			return err
		case took > longStatement && r.idRange > 1:
			r.idRange /= 2
		case took < shortStatement && r.idRange <= math.MaxUint64/2:
			r.idRange *= 2
		}
		if high == math.MaxUint64 {
			return nil
		}
		low = high + 1
	}
}

// exceededLimit reports whether a statement exceeded its limit of time or memory, so that a
// smaller one may succeed.
func exceededLimit(err error) bool {
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

// window is a range of full hours of some series.
type window struct {
	series   string // condition that selects the series
	from, to int64
	removal  bool // points may have been deleted
}

func (w window) condition() string {
	return fmt.Sprintf("%s AND ts >= %s AND ts < %s", w.series, TimeExpression(w.from), TimeExpression(w.to))
}

const rollupColumns = "(series, ts, points, total, lowest, highest, first, last, first_us, last_us, increase, spread," +
	" version)"

// The increase of a row is the sum of the steps between its consecutive points, as of a counter; see
// timeseries.Delta. That of an hour is the sum of those of its minutes and of the steps between them.
// The spread is the sum of the squared distances of the values from their mean.
const (
	minuteIncrease = `arraySum((a, b) -> if(b.2 >= a.2, b.2 - a.2, b.2),
				arrayPopBack(arraySort(groupArray((toUnixTimestamp64Micro(ts), value))) AS rows), arrayPopFront(rows))`
	hourIncrease = `sum(increase) + arraySum((a, b) -> if(b.2 >= a.3, b.2 - a.3, b.2),
				arrayPopBack(arraySort(groupArray((toUnixTimestamp64Micro(ts), first, last))) AS rows), arrayPopFront(rows))`
	minuteSpread = `varPopStable(value) * count()`
)

// compute writes the rollups of a window: minutes from points, then hours from minutes. If
// points may have been deleted, it first writes empty rows for the minutes and hours that no
// longer have points.
func (r *passRun) compute(ctx context.Context, w window) (took time.Duration, err error) {
	began := time.Now()
	where := w.condition()
	if w.removal {
		if err := r.write(ctx, TableMinutes, emptyRows(
			TableMinutes, where, "SELECT series, "+startOf("Minute")+" FROM points WHERE "+where,
		)); err != nil {
			return 0, err
		}
	}
	err = r.write(ctx, TableMinutes, `
		SELECT series, `+startOf("Minute")+` AS bucket,
			toUInt32(count()), sum(value), min(value), max(value), argMin(value, ts), argMax(value, ts),
			toUInt32(toUnixTimestamp64Micro(min(ts)) - toUnixTimestamp64Micro(bucket)),
			toUInt32(toUnixTimestamp64Micro(max(ts)) - toUnixTimestamp64Micro(bucket)), `+minuteIncrease+`,
			`+minuteSpread+`, %d
		FROM points FINAL PREWHERE `+where+` GROUP BY series, bucket`)
	if err != nil {
		return 0, err
	}
	if err := r.countWritten(ctx, where); err != nil {
		return 0, err
	}
	if w.removal {
		if err := r.write(ctx, TableHours, emptyRows(
			TableHours, where, "SELECT series, "+startOf("Hour")+" FROM rollup_1m FINAL PREWHERE "+where+" WHERE points > 0",
		)); err != nil {
			return 0, err
		}
	}
	err = r.write(ctx, TableHours, `
		SELECT series, `+startOf("Hour")+` AS bucket,
			toUInt32(sum(points)), sum(total), min(lowest), max(highest), argMin(first, ts), argMax(last, ts),
			toUInt32(min(toUnixTimestamp64Micro(ts) + first_us) - toUnixTimestamp64Micro(bucket)),
			toUInt32(max(toUnixTimestamp64Micro(ts) + last_us) - toUnixTimestamp64Micro(bucket)), `+hourIncrease+`,
			`+MergeSpread("points", "total", "spread")+`, %d
		FROM rollup_1m FINAL PREWHERE `+where+` WHERE points > 0 GROUP BY series, bucket`)
	return time.Since(began), err
}

// MergeSpread returns the expression for the spread of the values of several rows, each of which has
// the number, the sum and the spread of its values in the given columns.
func MergeSpread(count, total, spread string) string {
	return fmt.Sprintf("sum(%[3]s) + arraySum((count_, mean_) -> count_ * pow(mean_ - sum(%[2]s) / sum(%[1]s), 2),"+
		" groupArray(%[1]s), groupArray(%[2]s / %[1]s))", count, total, spread)
}

// startOf returns the expression for the start of the minute or hour of a time. Times are in
// UTC, whose hours are those of the Unix epoch.
func startOf(unit string) string { return "toDateTime64(toStartOf" + unit + "(ts), 6, 'UTC')" }

// emptyRows returns the query for rows without points that replace rows of a table, except for
// those that existing, a query of series and ts, returns.
func emptyRows(table, where, existing string) string {
	return `SELECT series, ts, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, %d FROM ` + table + ` FINAL PREWHERE ` + where +
		` WHERE points > 0 AND (series, ts) NOT IN (` + existing + `)`
}

// write runs a query that computes rows of a table, and inserts them. The query has a
// placeholder for their version. Each call uses a higher version.
func (r *passRun) write(ctx context.Context, table, query string) (err error) {
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

// rollupSettings returns the settings of the statements of a pass. They use one thread,
// because they are never urgent. Rows of one time are in one month, so that FINAL need not
// merge across months.
func rollupSettings() ch.Settings {
	return ch.Settings{
		"async_insert": 0, "optimize_on_insert": 0, "insert_deduplicate": 0, "max_partitions_per_insert_block": 0,
		"max_execution_time": int(RollUpLimit.Seconds()), "timeout_overflow_mode": "throw",
		"max_threads": 1, "max_insert_threads": 1, "max_query_size": maxStatement,
		"optimize_aggregation_in_order": 1, "do_not_merge_across_partitions_select_final": 1,
	}
}

// countWritten adds the rows of the last statement of minutes to the report.
func (r *passRun) countWritten(ctx context.Context, where string) error {
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
