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
	// markRounds bounds how often one write marks again because an epoch was closed
	// under it. They are closed a minute apart.
	markRounds = 10
	// markedSeries bounds how many series' marks are remembered, some 50 bytes each.
	markedSeries = 1_000_000
)

// stretch is the hours of a series that are marked, from inclusive to exclusive,
// counted from the Unix epoch. One of points lies within one day of UTC.
type stretch struct {
	series   uint64
	from, to uint32
}

// marker remembers what this process has marked, so that a steady stream of late
// points writes few marks.
type marker struct {
	mu sync.Mutex
	// marked holds the last stretch of each series that was marked in an epoch.
	marked map[uint64]stretch
	epoch  uint64
}

var marksTarget = Target{
	Operation: opInsertMarks, Table: "rollup_marks", Columns: []ch.ColumnNameAndType{
		{Name: "epoch", Type: "UInt64"}, {Name: "series", Type: "UInt64"},
		{Name: "from_hour", Type: "UInt32"}, {Name: "to_hour", Type: "UInt32"}, {Name: "removal", Type: "UInt8"},
	},
}

// lateStretches lists the hours of rows below the horizon. Rows that are sorted give
// one a series and day; those that are not give more of the same. Without late rows
// it costs a comparison a row.
func lateStretches(series *native.Runs, ts []int64, horizon int64) []stretch {
	var late []stretch
	var last stretch
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
				last = stretch{series: s, from: hour, to: hour + 1}
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

// markLate marks the hours of rows that are below the horizon, and returns when the
// marks are in an epoch that was open after the call began.
func (db *DB) markLate(ctx context.Context, series *native.Runs, ts []int64) error {
	if len(ts) == 0 {
		return nil
	}
	horizon, late := int64(0), []stretch(nil)
	return db.mark(ctx, false, func(s rollupState) []stretch {
		if s.horizon != horizon {
			horizon, late = s.horizon, lateStretches(series, ts, s.horizon)
		}
		return late
	})
}

// mark writes marks for the stretches that are due in a state, until it has seen
// the epoch that they are in to be open.
func (db *DB) mark(ctx context.Context, removal bool, due func(rollupState) []stretch) error {
	var written *rollupState
	for range markRounds {
		s, err := db.rollupState(ctx)
		if err != nil {
			return err
		}
		if written != nil && written.epoch == s.epoch && written.horizon == s.horizon {
			return nil
		}
		missing := due(s)
		if !removal {
			missing = db.marker.missing(s.epoch, missing)
		}
		if len(missing) == 0 {
			return nil
		}
		if err := db.insertMarks(ctx, s.epoch, missing, removal); err != nil {
			return err
		}
		if !removal {
			db.marker.remember(s.epoch, missing)
		}
		written = &s
	}
	return errors.New("marking rollups: the epoch was closed each time")
}

func (db *DB) insertMarks(ctx context.Context, epoch uint64, marks []stretch, removal bool) error {
	flag := uint8(0)
	if removal {
		flag = 1
	}
	return db.Insert(ctx, &marksTarget, len(marks),
		native.Fixed[uint64](Each(marks, func(*stretch) uint64 { return epoch })),
		native.Fixed[uint64](Each(marks, func(m *stretch) uint64 { return m.series })),
		native.Fixed[uint32](Each(marks, func(m *stretch) uint32 { return m.from })),
		native.Fixed[uint32](Each(marks, func(m *stretch) uint32 { return m.to })),
		native.Fixed[uint8](Each(marks, func(*stretch) uint8 { return flag })))
}

// missing returns the stretches that are not known to be marked in the epoch.
func (m *marker) missing(epoch uint64, due []stretch) []stretch {
	if len(due) == 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.epoch != epoch {
		return due
	}
	var missing []stretch
	for _, d := range due {
		if have, ok := m.marked[d.series]; !ok || d.from < have.from || d.to > have.to {
			missing = append(missing, d)
		}
	}
	return missing
}

// remember notes stretches that are marked in an epoch.
func (m *marker) remember(epoch uint64, marks []stretch) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if epoch < m.epoch {
		return
	}
	if epoch > m.epoch || m.marked == nil || len(m.marked)+len(marks) > markedSeries {
		m.marked, m.epoch = make(map[uint64]stretch, min(len(marks), markedSeries)), epoch
	}
	for _, d := range marks {
		have, ok := m.marked[d.series]
		if ok && d.from <= have.to && d.to >= have.from {
			d.from, d.to = min(d.from, have.from), max(d.to, have.to)
		}
		m.marked[d.series] = d
	}
}

// removal are the marks of a deletion.
type removal struct {
	db    *DB
	marks []stretch // none: there is nothing to mark
}

// beginRemoval marks what deletions take from series, unless neither points nor
// rollups are there: a replay repeats deletions that were done long ago. What was
// marked has to be marked once more when the points are gone, by done.
func (db *DB) beginRemoval(ctx context.Context, parts []part) (removal, error) {
	r := removal{db: db}
	var timed []part
	for _, p := range parts {
		if from, to := p.hours(); from < to {
			timed = append(timed, p)
		}
	}
	if len(timed) == 0 {
		return r, nil
	}
	hours := anyPart(timed, func(p *part) string {
		from, to := p.hours()
		return fmt.Sprintf(
			"series IN (%s) AND ts >= %s AND ts < %s", joinIDs(p.series), Moment(from*HourUS), Moment(to*HourUS),
		)
	})
	for _, rows := range []string{
		"points WHERE " + anyPart(timed, (*part).where),
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
		for _, p := range timed {
			from, to := p.hours()
			for _, id := range p.series {
				r.marks = append(r.marks, stretch{series: id, from: uint32(from), to: uint32(to)})
			}
		}
		return r, r.done(ctx)
	}
	return r, nil
}

// hours are those that a deletion has to do with, from inclusive to exclusive, counted
// from the Unix epoch.
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

// done marks in an epoch that is open now.
func (r removal) done(ctx context.Context) error {
	return r.db.mark(ctx, true, func(rollupState) []stretch { return r.marks })
}

// maxHour is later than any hour of a point that is taken: the year 2200.
const maxHour = 230 * 8766
