package clickhouse

import (
	"context"
	"fmt"
	"math"
	"time"
)

// RollUpLimit is the time limit of one statement of a pass in ClickHouse. When
// RollupPass.Proceed allows a statement, no other process may take over the passes within
// this time.
const RollUpLimit = time.Minute

const (
	// statementGrace is the time that a pass waits for a statement beyond RollUpLimit.
	statementGrace = 5 * time.Second
	// Range of the duration of a statement. The size of statements is adapted to it.
	shortStatement = 250 * time.Millisecond
	longStatement  = 2 * time.Second

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
	// Memory is the limit of the memory of a statement in bytes; 0: 512 MiB.
	Memory int
}

// RollupReport is the result of a pass.
type RollupReport struct {
	Due     bool   // false: the open epoch is too young, and nothing was done
	Marks   int    // marked series that were computed, counted once for each run of days
	Minutes uint64 // rows of minutes that were written
	Points  uint64 // points in these rows
	// Repeated is the number of statements that were repeated with FINAL, because points had several
	// rows or the statement exceeded its memory.
	Repeated int
	Clean    time.Time // time up to which rollups are valid now, unless they are marked
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
	// How the points of new and of marked hours are read.
	newHours, markedHours pointReading
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
		took, err := r.computeUnmatched(ctx, window{
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
	return hasCode(err, codeTimeout) || hasCode(err, codeTooSlow) || hasCode(err, codeMemoryLimit)
}

// window is a range of full hours of some series.
type window struct {
	series   string // condition that selects the series
	from, to int64
	marked   bool // points were added late, overwritten or deleted
	removal  bool // points may have been deleted
}

func (w window) condition() string {
	return fmt.Sprintf("%s AND ts >= %s AND ts < %s", w.series, TimeExpression(w.from), TimeExpression(w.to))
}
