package clickhouse

import (
	"context"
	"fmt"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/livegraph/livegraph/storage/clickhouse/native"
)

// Rollups aggregate the numbers of a series in each minute and each hour, so that a query of
// a long range reads few rows. They are computed from the points, and computed again whenever
// points were added late, overwritten or deleted. They have these invariants (see
// docs/adr/0016-rollups.md for the reasons):
//
//   - State: a horizon, which rises with the clock; an epoch, which is raised regularly; and
//     a time up to which rollups are clean, which is not above the horizon. Each is the
//     maximum over rows whose values only rise.
//   - Writers: a writer that stores or deletes points below the horizon marks their hours in
//     the open epoch. It marks before it writes, and reads the state again afterwards: if the
//     horizon has passed its points since, or the epoch of its marks was closed, it marks
//     again. When the write returns, the marks are therefore in an epoch that was open after
//     the points became visible. The state for the marks before the write may be a few seconds
//     old: until the write returns, queries may answer without its points.
//   - Pass: it closes the epoch and raises the horizon. Then it reads the points for what an
//     earlier pass closed: marked hours, and the time from clean up to the earlier horizon.
//     Only after that it drops the marks and raises clean.
//   - Queries: they first read clean and the marks, then rollups below clean that are not
//     marked, and points for everything else. Because clean only rises, a value that was read
//     earlier is valid, too.
//
// No invariant depends on clocks or locks.
const (
	TableMinutes = "rollup_1m"
	TableHours   = "rollup_1h"

	MinuteUS = int64(time.Minute / time.Microsecond)
	HourUS   = int64(time.Hour / time.Microsecond)
	dayHours = 24
	dayUS    = dayHours * HourUS

	// maxStateAge is the maximum age of the state by which a write marks before it writes.
	maxStateAge = 5 * time.Second
)

// rollupState is the state of the rollups. Times are microseconds since the Unix epoch.
type rollupState struct {
	epoch   uint64 // open epoch
	opened  int64  // time at which epoch was opened
	horizon int64  // writes below it are marked; a full hour
	clean   int64  // below it, rollups are valid unless they are marked; a full hour
	version uint64 // lower bound of the versions of the rows of the last pass
	now     int64  // time of ClickHouse's clock
}

// rollupState reads the state. Before the first pass all fields except now are zero.
func (db *DB) rollupState(ctx context.Context) (s rollupState, err error) {
	err = db.conn.QueryRow(ctx, `
		SELECT max(epoch), max(opened), max(horizon), max(clean), max(version), toUnixTimestamp64Micro(now64(6))
		FROM rollup_state`).
		Scan(&s.epoch, &s.opened, &s.horizon, &s.clean, &s.version, &s.now)
	if err != nil {
		return rollupState{}, fmt.Errorf("reading how far the rollups are: %w", err)
	}
	db.lastState.Store(&readState{rollupState: s, at: time.Now()})
	return s, nil
}

// readState is a state and the time at which it was read.
type readState struct {
	rollupState
	at time.Time
}

// recentState returns the state that was read last if that was at most maxStateAge ago, or else
// reads the state.
func (db *DB) recentState(ctx context.Context) (rollupState, error) {
	if last := db.lastState.Load(); last != nil && time.Since(last.at) < maxStateAge {
		return last.rollupState, nil
	}
	return db.rollupState(ctx)
}

// CleanUntil returns a time in microseconds below which rollups are valid unless they are marked. It is at
// most maxStateAge old. Marks must be read after it.
func (db *DB) CleanUntil(ctx context.Context) (int64, error) {
	s, err := db.recentState(ctx)
	return s.clean, classifyError(ctx, err)
}

var stateTarget = Target{
	Operation: opRollupState, Table: "rollup_state", Columns: []ch.ColumnNameAndType{
		{Name: "id", Type: "UInt8"}, {Name: "epoch", Type: "UInt64"}, {Name: "opened", Type: "Int64"},
		{Name: "horizon", Type: "Int64"}, {Name: "clean", Type: "Int64"}, {Name: "version", Type: "UInt64"},
	},
}

// raiseRollupState writes the state. Values that are already higher do not change.
func (db *DB) raiseRollupState(ctx context.Context, s rollupState) error {
	type times = native.Fixed[int64]
	defer db.lastState.Store(nil) // this process reads what it wrote
	return db.Insert(ctx, &stateTarget, 1, native.Fixed[uint8]{0}, native.Fixed[uint64]{s.epoch}, times{s.opened},
		times{s.horizon}, times{s.clean}, native.Fixed[uint64]{s.version})
}

// RollupStatus is the progress of the rollups.
type RollupStatus struct {
	Clean time.Time     // queries read unmarked rollups before it; zero: there was no pass
	Age   time.Duration // of Clean, by ClickHouse's clock
}

// RollupStatus returns the progress of the rollups.
func (db *DB) RollupStatus(ctx context.Context) (RollupStatus, error) {
	s, err := db.rollupState(ctx)
	if err != nil || s.epoch == 0 {
		return RollupStatus{}, err
	}
	return RollupStatus{Clean: TimeOf(s.clean), Age: time.Duration(s.now-s.clean) * time.Microsecond}, nil
}

// HourOf returns the hour of a time, counted from the Unix epoch.
func HourOf(us int64) int64 {
	if us < 0 {
		return 0
	}
	return us / HourUS
}
