package clickhouse

import (
	"context"
	"fmt"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/livegraph/livegraph/storage/clickhouse/native"
)

// Rollups say what the numbers of a series come to in each minute and each hour, so
// that a query of a long range reads few rows. They are computed from the points, and
// again whenever points of theirs came, were overwritten or went. This is what holds
// (docs/adr/0016-rollups.md says why):
//
//   - State. There is a horizon, which rises with the clock; an epoch, which is
//     raised every so often; and a time up to which rollups are clean, at or below the
//     horizon. Each is a maximum over rows that only rise.
//   - Writers. Who stores or deletes points below the horizon marks their hours in the
//     open epoch. It does so before, and it looks again after: if the horizon passed
//     over its points meanwhile, or the epoch of its marks was closed, it marks once
//     more. So when the writing is over, the marks are in an epoch that was open after
//     the points were visible.
//   - The pass. It closes the epoch and raises the horizon, and then reads the points
//     of what an earlier pass closed: marked hours, and the time from clean up to the
//     earlier horizon. Only then the marks are dropped and clean rises.
//   - Queries. They read clean and the marks first, then rollups below clean that
//     are not marked, and points for everything else.
//
// Nothing of it rests on clocks or on who holds a lock.
const (
	TableMinutes = "rollup_1m"
	TableHours   = "rollup_1h"

	MinuteUS = int64(time.Minute / time.Microsecond)
	HourUS   = int64(time.Hour / time.Microsecond)
	dayHours = 24
	dayUS    = dayHours * HourUS
)

// rollupState is how far the rollups are. Times are microseconds since the Unix epoch.
type rollupState struct {
	epoch   uint64 // the one that is open
	opened  int64  // when it was
	horizon int64  // what is stored below is marked; a full hour
	clean   int64  // below, rollups hold except for what is marked; a full hour
	version uint64 // of the last pass: versions of its rows are at least this
	now     int64  // ClickHouse's clock
}

// rollupState reads the state. Before the first pass everything is zero.
func (db *DB) rollupState(ctx context.Context) (s rollupState, err error) {
	err = db.conn.QueryRow(ctx, `
		SELECT max(epoch), max(opened), max(horizon), max(clean), max(version), toUnixTimestamp64Micro(now64(6))
		FROM rollup_state`).
		Scan(&s.epoch, &s.opened, &s.horizon, &s.clean, &s.version, &s.now)
	if err != nil {
		return rollupState{}, fmt.Errorf("reading how far the rollups are: %w", err)
	}
	return s, nil
}

var stateTarget = Target{
	Operation: opRollupState, Table: "rollup_state", Columns: []ch.ColumnNameAndType{
		{Name: "id", Type: "UInt8"}, {Name: "epoch", Type: "UInt64"}, {Name: "opened", Type: "Int64"},
		{Name: "horizon", Type: "Int64"}, {Name: "clean", Type: "Int64"}, {Name: "version", Type: "UInt64"},
	},
}

// raiseRollupState writes the state; what is higher already stays.
func (db *DB) raiseRollupState(ctx context.Context, s rollupState) error {
	type times = native.Fixed[int64]
	return db.Insert(ctx, &stateTarget, 1, native.Fixed[uint8]{0}, native.Fixed[uint64]{s.epoch}, times{s.opened},
		times{s.horizon}, times{s.clean}, native.Fixed[uint64]{s.version})
}

// RollupStatus is how far the rollups are.
type RollupStatus struct {
	Clean time.Time     // before, queries read rollups, except for what is marked; zero: no pass yet
	Age   time.Duration // of Clean, by ClickHouse's clock
}

// RollupStatus reports how far the rollups are.
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
