package clickhouse

import (
	"context"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/clickhouse/native"
)

// Targets of the tables of points.
var (
	PointsTarget = Target{
		Operation: opInsertPoints, Table: "points", Bulk: true, Columns: []ch.ColumnNameAndType{
			{Name: "series", Type: "UInt64"}, {Name: "ts", Type: "DateTime64(6, 'UTC')"},
			{Name: "value", Type: "Float64"}, {Name: "version", Type: "UInt64"},
		},
	}
	StatesTarget = Target{
		Operation: opInsertStates, Table: "states", Bulk: true, Columns: []ch.ColumnNameAndType{
			{Name: "series", Type: "UInt64"}, {Name: "ts", Type: "DateTime64(6, 'UTC')"},
			{Name: "value", Type: "String"}, {Name: "version", Type: "UInt64"},
		},
	}
	ExemplarsTarget = Target{
		Operation: opInsertExemplars, Table: TableExemplars, Columns: []ch.ColumnNameAndType{
			{Name: "series", Type: "UInt64"}, {Name: "ts", Type: "DateTime64(6, 'UTC')"}, {Name: "labels", Type: "String"},
			{Name: "value", Type: "Float64"}, {Name: "version", Type: "UInt64"},
		},
	}
	LatestTarget = Target{
		Operation: opInsertLatest, Table: "latest", Columns: []ch.ColumnNameAndType{
			{Name: "workspace", Type: "UUID"}, {Name: "source", Type: "UUID"}, {Name: "series", Type: "UInt64"},
			{Name: "ts", Type: "DateTime64(6, 'UTC')"}, {Name: "value", Type: "Float64"},
			{Name: "text", Type: "String"}, {Name: "version", Type: "UInt64"},
		},
	}
	ActivityTarget = Target{
		Operation: opInsertActivity, Table: "source_activity", Columns: []ch.ColumnNameAndType{
			{Name: "workspace", Type: "UUID"}, {Name: "source", Type: "UUID"},
			{Name: "received_at", Type: "DateTime64(6, 'UTC')"},
		},
	}
	SeriesTarget = Target{
		Operation: opInsertSeries, Table: "series", Columns: []ch.ColumnNameAndType{
			{Name: "id", Type: "UInt64"}, {Name: "workspace", Type: "UUID"}, {Name: "source", Type: "UUID"},
			{Name: "metric", Type: "String"}, {Name: "tags", Type: "Map(String, String)"}, {Name: "kind", Type: "UInt8"},
		},
	}
)

// unorderedPoints is PointsTarget for rows in any order, with several rows of one point.
var unorderedPoints = func() Target {
	t := PointsTarget
	t.Compact = true
	return t
}()

// InsertPoints stores numbers. When it returns nil, they are visible, and the rollups that
// they invalidate are marked. It marks before and after the insert, see rollup.go. No part of
// the table gets two rows of one point, on which queries rely (docs/adr/0048): the rows are
// in the order of the table, or ClickHouse sorts them and keeps one of each point.
func (db *DB) InsertPoints(ctx context.Context, c *PointColumns) error {
	if c.Len() == 0 {
		return nil
	}
	if err := db.markBefore(ctx, &c.Series, c.TS); err != nil {
		return err
	}
	if err := db.insertPoints(ctx, c); err != nil {
		return err
	}
	return db.markLate(ctx, &c.Series, c.TS)
}

func (db *DB) insertPoints(ctx context.Context, c *PointColumns) error {
	into := &PointsTarget
	if !c.ordered() {
		into = &unorderedPoints
	}
	return db.Insert(ctx, into, c.Len(),
		&c.Series, native.Fixed[int64](c.TS), native.Fixed[float64](c.Values), &c.Versions)
}

// InsertStates stores strings. When it returns nil, they are visible.
func (db *DB) InsertStates(ctx context.Context, c *StateColumns) error {
	return db.Insert(ctx, &StatesTarget, c.Len(),
		&c.Series, native.Fixed[int64](c.TS), native.Strings(c.Values), &c.Versions)
}

// InsertExemplars stores exemplars. When it returns nil, they are visible. The table keeps the row of each series, time
// and label set with the highest version.
func (db *DB) InsertExemplars(ctx context.Context, rows []ExemplarRow) error {
	return db.Insert(ctx, &ExemplarsTarget, len(rows),
		native.Fixed[uint64](MapRows(rows, func(r *ExemplarRow) uint64 { return r.Series })),
		native.Fixed[int64](MapRows(rows, func(r *ExemplarRow) int64 { return r.TS })),
		native.Strings(MapRows(rows, func(r *ExemplarRow) string { return r.Labels })),
		native.Fixed[float64](MapRows(rows, func(r *ExemplarRow) float64 { return r.Value })),
		native.Fixed[uint64](MapRows(rows, func(r *ExemplarRow) uint64 { return r.Version })))
}

// InsertLatest inserts rows of table latest. The table keeps the row of each series with the
// highest time, and of equal times the one with the highest version.
func (db *DB) InsertLatest(ctx context.Context, c *LatestColumns) error {
	return db.Insert(ctx, &LatestTarget, c.Len(),
		native.UUIDs(c.Workspaces), native.UUIDs(c.Sources), native.Fixed[uint64](c.Series), native.Fixed[int64](c.TS),
		native.Fixed[float64](c.Values), native.Strings(c.Texts), native.Fixed[uint64](c.Versions))
}

// InsertActivity stores the times of the newest requests of sources. The table keeps the
// latest time of each source.
func (db *DB) InsertActivity(ctx context.Context, rows []ActivityRow) error {
	return db.Insert(ctx, &ActivityTarget, len(rows),
		native.UUIDs(MapRows(rows, func(r *ActivityRow) uuid.UUID { return r.Workspace })),
		native.UUIDs(MapRows(rows, func(r *ActivityRow) uuid.UUID { return r.Source })),
		native.Fixed[int64](MapRows(rows, func(r *ActivityRow) int64 { return r.ReceivedAtUS })))
}

// InsertSeries stores identities of series, for joins.
func (db *DB) InsertSeries(ctx context.Context, rows []SeriesRow) error {
	return db.Insert(ctx, &SeriesTarget, len(rows),
		native.Fixed[uint64](MapRows(rows, func(r *SeriesRow) uint64 { return r.ID })),
		native.UUIDs(MapRows(rows, func(r *SeriesRow) uuid.UUID { return r.Workspace })),
		native.UUIDs(MapRows(rows, func(r *SeriesRow) uuid.UUID { return r.Source })),
		native.Strings(MapRows(rows, func(r *SeriesRow) string { return r.Metric })),
		native.Maps(MapRows(rows, func(r *SeriesRow) *native.Pairs { return native.Sorted(r.Tags) })),
		native.Fixed[uint8](MapRows(rows, func(r *SeriesRow) uint8 { return r.Kind })))
}
