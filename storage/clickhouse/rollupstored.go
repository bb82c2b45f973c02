package clickhouse

import (
	"context"
	"math"
	"slices"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/livegraph/livegraph/storage/clickhouse/native"
)

// RollupColumns are rows of the rollups by minute or by hour by column, all of one length. The order
// does not matter.
type RollupColumns struct {
	Series                               native.Runs
	TS                                   []int64 // start of the minute or hour, microseconds since the Unix epoch
	Points                               []uint32
	Totals, Lowest, Highest, First, Last []float64
	FirstUS, LastUS                      []uint32 // times of the first and last point, microseconds since TS
	Increases, Spreads                   []float64
}

// Len returns the number of rows.
func (c *RollupColumns) Len() int { return len(c.TS) }

// Rollups are rollups that were computed from points before these were stored.
type Rollups struct {
	// Minutes has the minutes of Hours, and of hours that are not complete.
	Minutes, Hours RollupColumns
	// Fingerprints has the sum of the fingerprints of the points of each hour, and MinuteFingerprints that
	// of the rows of its minutes; see RollupColumns.Fingerprint.
	Fingerprints, MinuteFingerprints []uint64
}

// Fingerprint returns the sum of the fingerprints of points of one version, modulo 2⁶⁴. Sets of points
// with the same sum have the same times and versions, and therefore the same values.
func Fingerprint(ts []int64, version uint64) (sum uint64) {
	seed := intHash64(version)
	for _, t := range ts {
		sum += intHash64(uint64(t) ^ seed)
	}
	return sum
}

// fingerprintSum is the expression for the sum of the fingerprints of rows.
const fingerprintSum = "sum(intHash64(bitXor(toUInt64(toUnixTimestamp64Micro(ts)), intHash64(version))))"

// Fingerprint returns the fingerprint of a row, which depends on its time, and on all values that points
// of the same number and times can have differently.
func (c *RollupColumns) Fingerprint(row int) uint64 {
	sum := intHash64(uint64(c.TS[row]))
	for _, v := range [...]float64{c.Totals[row], c.First[row], c.Last[row], c.Increases[row], c.Spreads[row]} {
		sum = intHash64(sum ^ math.Float64bits(v))
	}
	return sum
}

// rowFingerprintSum returns the expression for the sum of the fingerprints of rows that have points.
func rowFingerprintSum() string {
	sum := "intHash64(toUInt64(toUnixTimestamp64Micro(ts)))"
	for _, column := range []string{"total", "first", "last", "increase", "spread"} {
		sum = "intHash64(bitXor(" + sum + ", reinterpretAsUInt64(" + column + ")))"
	}
	return "sumIf(" + sum + ", points > 0)"
}

// intHash64 is ClickHouse's function of this name: the finalizer of MurmurHash3, after another step.
func intHash64(x uint64) uint64 {
	x ^= 0x4CF2D2BAAE6DA887
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// versionOfStored is added to the version of the state: the version of stored rollups is above those
// of the last pass and below those of the next one.
const versionOfStored = versionStep / 2

var (
	minutesTarget = Target{Operation: opInsertAggregates, Table: TableMinutes, Columns: rollupTypes}
	hoursTarget   = Target{
		Operation: opInsertAggregates, Table: TableHours, Columns: slices.Concat(rollupTypes, []ch.ColumnNameAndType{
			{Name: "fingerprint", Type: "UInt64"}, {Name: "minutes_fingerprint", Type: "UInt64"},
		}),
	}
	rollupTypes = []ch.ColumnNameAndType{
		{Name: "series", Type: "UInt64"}, {Name: "ts", Type: "DateTime64(6, 'UTC')"}, {Name: "points", Type: "UInt32"},
		{Name: "total", Type: "Float64"}, {Name: "lowest", Type: "Float64"}, {Name: "highest", Type: "Float64"},
		{Name: "first", Type: "Float64"}, {Name: "last", Type: "Float64"},
		{Name: "first_us", Type: "UInt32"}, {Name: "last_us", Type: "UInt32"},
		{Name: "increase", Type: "Float64"}, {Name: "spread", Type: "Float64"}, {Name: "version", Type: "UInt64"},
	}
)

// InsertRollups stores rollups. They need not be correct: it marks their hours, as if points were
// stored, so that queries read points until a pass has compared the rollups with the points.
//
// Their version is above those of all passes that began before InsertRollups returned, so that no row
// of such a pass hides one of them: it stores them again if a pass began meanwhile.
func (db *DB) InsertRollups(ctx context.Context, r *Rollups) error {
	if r.Minutes.Len() == 0 {
		return nil
	}
	minutes := &r.Minutes
	if err := db.markBefore(ctx, &minutes.Series, minutes.TS); err != nil {
		return err
	}
	for range maxMarkAttempts {
		s, err := db.recentState(ctx)
		if err != nil {
			return err
		}
		if err := db.insertRollups(ctx, r, s.version+versionOfStored); err != nil {
			return err
		}
		if err := db.markLate(ctx, &minutes.Series, minutes.TS); err != nil {
			return err
		}
		now, err := db.rollupState(ctx)
		if err != nil || now.epoch == s.epoch {
			return err
		}
	}
	return nil // a pass finds rows of another version, and computes the hours
}

func (db *DB) insertRollups(ctx context.Context, r *Rollups, version uint64) error {
	if err := db.Insert(ctx, &minutesTarget, r.Minutes.Len(), r.Minutes.columns(version)...); err != nil {
		return err
	}
	hours := append(
		r.Hours.columns(version), native.Fixed[uint64](r.Fingerprints), native.Fixed[uint64](r.MinuteFingerprints),
	)
	return db.Insert(ctx, &hoursTarget, r.Hours.Len(), hours...)
}

func (c *RollupColumns) columns(version uint64) []native.Column {
	type floats = native.Fixed[float64]
	var versions native.Runs
	versions.Append(version, c.Len())
	return []native.Column{
		&c.Series, native.Fixed[int64](c.TS), native.Fixed[uint32](c.Points), floats(c.Totals), floats(c.Lowest),
		floats(c.Highest), floats(c.First), floats(c.Last), native.Fixed[uint32](c.FirstUS),
		native.Fixed[uint32](c.LastUS), floats(c.Increases), floats(c.Spreads), &versions,
	}
}
