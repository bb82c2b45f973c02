package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"sync"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/livegraph/livegraph/storage/clickhouse/native"
)

const (
	// maxMarkAttempts limits how often a write marks again because the epoch was closed
	// meanwhile. An epoch is open for a minute.
	maxMarkAttempts = 10
	// maxCachedMarks is the maximum number of series whose marks are cached, with about 50
	// bytes each.
	maxCachedMarks = 1_000_000
)

// hourRange is a range of marked hours of a series, from inclusive to exclusive, counted
// from the Unix epoch. The range of stored points is within one day of UTC.
type hourRange struct {
	series   uint64
	from, to uint32
}

// markCache caches the marks that this process has written, so that a steady stream of late
// points writes few marks.
type markCache struct {
	mu sync.Mutex
	// marked is the last range of each series that was marked in the epoch.
	marked map[uint64]hourRange
	epoch  uint64
}

var marksTarget = Target{
	Operation: opInsertMarks, Table: "rollup_marks", Columns: []ch.ColumnNameAndType{
		{Name: "epoch", Type: "UInt64"}, {Name: "series", Type: "UInt64"},
		{Name: "from_hour", Type: "UInt32"}, {Name: "to_hour", Type: "UInt32"}, {Name: "removal", Type: "UInt8"},
	},
}

// lateHours returns the hours of rows below the horizon. Sorted rows result in one range for
// each series and day; unsorted rows may result in several overlapping ones. Rows above the
// horizon cost one comparison each.
func lateHours(series *native.Runs, ts []int64, horizon int64) []hourRange {
	var late []hourRange
	var last hourRange
	var from, to, dayFrom, dayTo int64 // of last, microseconds
	row := 0
	for s, rows := range series.All() {
		for _, t := range ts[row : row+rows] {
			if t >= horizon {
				continue
			}
			if len(late) > 0 && s == last.series && t >= dayFrom && t < dayTo {
				if t >= from && t < to {
					continue
				}
				hour := uint32(HourOf(t))
				last.from, last.to = min(last.from, hour), max(last.to, hour+1)
				late[len(late)-1] = last
			} else {
				hour := uint32(HourOf(t))
				last = hourRange{series: s, from: hour, to: hour + 1}
				late = append(late, last)
				dayFrom = int64(hour-hour%dayHours) * HourUS
				dayTo = dayFrom + dayUS
			}
			from, to = int64(last.from)*HourUS, int64(last.to)*HourUS
		}
		row += rows
	}
	return late
}

// markBefore marks the hours of rows below the horizon of a recent state.
func (db *DB) markBefore(ctx context.Context, series *native.Runs, ts []int64) error {
	s, err := db.recentState(ctx)
	if err != nil {
		return err
	}
	if len(db.markCache.missing(s.epoch, lateHours(series, ts, s.horizon))) == 0 {
		return nil
	}
	return db.markLate(ctx, series, ts)
}

// markLate marks the hours of rows below the horizon. When it returns, the marks are in an
// epoch that was open after the call began.
func (db *DB) markLate(ctx context.Context, series *native.Runs, ts []int64) error {
	horizon, late := int64(0), []hourRange(nil)
	return db.mark(ctx, false, func(s rollupState) []hourRange {
		if s.horizon != horizon {
			horizon, late = s.horizon, lateHours(series, ts, s.horizon)
		}
		return late
	})
}

// mark writes marks for the ranges that are due in a state. It repeats this until it has
// read that the epoch of the marks is still open.
func (db *DB) mark(ctx context.Context, removal bool, due func(rollupState) []hourRange) error {
	var written *rollupState
	for range maxMarkAttempts {
		s, err := db.rollupState(ctx)
		if err != nil {
			return err
		}
		if written != nil && written.epoch == s.epoch && written.horizon == s.horizon {
			return nil
		}
		missing := due(s)
		if !removal {
			missing = db.markCache.missing(s.epoch, missing)
		}
		if len(missing) == 0 {
			return nil
		}
		if err := db.insertMarks(ctx, s.epoch, missing, removal); err != nil {
			return err
		}
		if !removal {
			db.markCache.add(s.epoch, missing)
		}
		written = &s
	}
	return errors.New("marking rollups: the epoch was closed each time")
}

func (db *DB) insertMarks(ctx context.Context, epoch uint64, marks []hourRange, removal bool) error {
	flag := uint8(0)
	if removal {
		flag = 1
	}
	return db.Insert(ctx, &marksTarget, len(marks),
		native.Fixed[uint64](MapRows(marks, func(*hourRange) uint64 { return epoch })),
		native.Fixed[uint64](MapRows(marks, func(m *hourRange) uint64 { return m.series })),
		native.Fixed[uint32](MapRows(marks, func(m *hourRange) uint32 { return m.from })),
		native.Fixed[uint32](MapRows(marks, func(m *hourRange) uint32 { return m.to })),
		native.Fixed[uint8](MapRows(marks, func(*hourRange) uint8 { return flag })))
}

// missing returns the ranges that are not cached as marked in the epoch.
func (m *markCache) missing(epoch uint64, due []hourRange) []hourRange {
	if len(due) == 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.epoch != epoch {
		return due
	}
	var missing []hourRange
	for _, d := range due {
		if cached, ok := m.marked[d.series]; !ok || d.from < cached.from || d.to > cached.to {
			missing = append(missing, d)
		}
	}
	return missing
}

// add caches ranges that are marked in an epoch.
func (m *markCache) add(epoch uint64, marks []hourRange) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if epoch < m.epoch {
		return
	}
	if epoch > m.epoch || m.marked == nil || len(m.marked)+len(marks) > maxCachedMarks {
		m.marked, m.epoch = make(map[uint64]hourRange, min(len(marks), maxCachedMarks)), epoch
	}
	for _, d := range marks {
		cached, ok := m.marked[d.series]
		if ok && d.from <= cached.to && d.to >= cached.from {
			d.from, d.to = min(d.from, cached.from), max(d.to, cached.to)
		}
		m.marked[d.series] = d
	}
}

// removalMarks are the marks of a deletion.
type removalMarks struct {
	db    *DB
	marks []hourRange // empty: nothing to mark
}

// markRemoval marks the hours from which deletions remove points, unless there are neither
// points nor rollups: a replay repeats deletions that were executed long ago. The caller must
// call markAgain when the points are deleted.
func (db *DB) markRemoval(ctx context.Context, parts []partialDeletion) (removalMarks, error) {
	r := removalMarks{db: db}
	var nonEmpty []partialDeletion
	for _, p := range parts {
		if from, to := p.hours(); from < to {
			nonEmpty = append(nonEmpty, p)
		}
	}
	if len(nonEmpty) == 0 {
		return r, nil
	}
	hours := anyCondition(nonEmpty, func(p *partialDeletion) string {
		from, to := p.hours()
		return fmt.Sprintf(
			"series IN (%s) AND ts >= %s AND ts < %s", joinIDs(p.series), TimeExpression(from*HourUS), TimeExpression(to*HourUS),
		)
	})
	for _, rows := range []string{
		"points WHERE " + anyCondition(nonEmpty, (*partialDeletion).where),
		"rollup_1h FINAL WHERE " + hours + " AND points > 0",
		"rollup_1m FINAL WHERE " + hours + " AND points > 0",
	} {
		found, err := db.anyRow(ctx, rows)
		if err != nil {
			return r, fmt.Errorf("looking for rollups of what is deleted: %w", err)
		}
		if !found {
			continue
		}
		for _, p := range nonEmpty {
			from, to := p.hours()
			for _, id := range p.series {
				r.marks = append(r.marks, hourRange{series: id, from: uint32(from), to: uint32(to)})
			}
		}
		return r, r.markAgain(ctx)
	}
	return r, nil
}

// hours returns the range of hours that a deletion affects, from inclusive to exclusive,
// counted from the Unix epoch.
func (d *Deletion) hours() (from, to int64) {
	to = maxHour
	if d.FromUS != nil {
		from = min(HourOf(*d.FromUS), maxHour)
	}
	if d.ToUS != nil {
		to = min(HourOf(*d.ToUS)+1, maxHour)
	}
	return from, to
}

// markAgain writes the marks in the epoch that is open now.
func (r removalMarks) markAgain(ctx context.Context) error {
	return r.db.mark(ctx, true, func(rollupState) []hourRange { return r.marks })
}

// maxHour is later than the hour of any accepted point: the year 2200.
const maxHour = 230 * 8766
