package clickhouse

import (
	"context"
	"fmt"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/tracing"
)

// insertTimeout bounds one insert. It is one value for all, because the driver
// makes max_execution_time of it, and the embedded engine keeps connections by
// their settings.
const insertTimeout = 60 * time.Second

// insertSettings hold for every insert.
var insertSettings = ch.Settings{
	"async_insert":                    0, // an insert that returned is stored
	"optimize_on_insert":              0, // duplicates go in merges
	"insert_deduplicate":              0, // versions see to it
	"max_partitions_per_insert_block": 0, // a batch may hold points of many months
}

// The columns of each table that is inserted into, so that the driver need not ask.
var (
	pointsColumns = []ch.ColumnNameAndType{
		{Name: "series", Type: "UInt64"}, {Name: "ts", Type: "DateTime64(6, 'UTC')"},
		{Name: "value", Type: "Float64"}, {Name: "version", Type: "UInt64"},
	}
	statesColumns = []ch.ColumnNameAndType{
		{Name: "series", Type: "UInt64"}, {Name: "ts", Type: "DateTime64(6, 'UTC')"},
		{Name: "value", Type: "String"}, {Name: "version", Type: "UInt64"},
	}
	latestColumns = []ch.ColumnNameAndType{
		{Name: "workspace", Type: "UUID"}, {Name: "source", Type: "UUID"}, {Name: "series", Type: "UInt64"},
		{Name: "ts", Type: "DateTime64(6, 'UTC')"}, {Name: "value", Type: "Float64"},
		{Name: "text", Type: "String"}, {Name: "version", Type: "UInt64"},
	}
	activityColumns = []ch.ColumnNameAndType{
		{Name: "workspace", Type: "UUID"}, {Name: "source", Type: "UUID"},
		{Name: "received_at", Type: "DateTime64(6, 'UTC')"},
	}
	seriesColumns = []ch.ColumnNameAndType{
		{Name: "id", Type: "UInt64"}, {Name: "workspace", Type: "UUID"}, {Name: "source", Type: "UUID"},
		{Name: "metric", Type: "String"}, {Name: "tags", Type: "Map(String, String)"}, {Name: "kind", Type: "UInt8"},
	}
)

// InsertPoints stores numbers. When it returns nil they are visible, and rollups that
// do not hold any more for them are marked: before as well as after, see rollup.go.
func (db *DB) InsertPoints(ctx context.Context, c *PointColumns) error {
	if err := db.markLate(ctx, &c.Series, c.TS); err != nil {
		return err
	}
	if err := db.insertPoints(ctx, c); err != nil {
		return err
	}
	return db.markLate(ctx, &c.Series, c.TS)
}

func (db *DB) insertPoints(ctx context.Context, c *PointColumns) error {
	const statement = "INSERT INTO points (series, ts, value, version)"
	return db.insertWire(ctx, db.bulk, opInsertPoints, statement, pointsColumns, c.Len(),
		&c.Series, words[int64](c.TS), words[float64](c.Values), &c.Versions)
}

// InsertStates stores texts. When it returns nil they are visible.
func (db *DB) InsertStates(ctx context.Context, c *StateColumns) error {
	const statement = "INSERT INTO states (series, ts, value, version)"
	return db.insertWire(ctx, db.bulk, opInsertStates, statement, statesColumns, c.Len(),
		&c.Series, words[int64](c.TS), texts(c.Values), &c.Versions)
}

// InsertLatest offers newest points; of those offered for a series the one with
// the highest time, and then the highest version, stays.
func (db *DB) InsertLatest(ctx context.Context, rows []LatestRow) error {
	const statement = "INSERT INTO latest (workspace, source, series, ts, value, text, version)"
	return db.insertWire(ctx, db.conn, opInsertLatest, statement, latestColumns, len(rows),
		uuids(each(rows, func(r *LatestRow) uuid.UUID { return r.Workspace })),
		uuids(each(rows, func(r *LatestRow) uuid.UUID { return r.Source })),
		words[uint64](each(rows, func(r *LatestRow) uint64 { return r.Series })),
		words[int64](each(rows, func(r *LatestRow) int64 { return r.TS })),
		words[float64](each(rows, func(r *LatestRow) float64 { return r.Value })),
		texts(each(rows, func(r *LatestRow) string { return r.Text })),
		words[uint64](each(rows, func(r *LatestRow) uint64 { return r.Version })))
}

// InsertActivity reports when sources were heard from; the latest time of each stays.
func (db *DB) InsertActivity(ctx context.Context, rows []ActivityRow) error {
	const statement = "INSERT INTO source_activity (workspace, source, received_at)"
	return db.insertWire(ctx, db.conn, opInsertActivity, statement, activityColumns, len(rows),
		uuids(each(rows, func(r *ActivityRow) uuid.UUID { return r.Workspace })),
		uuids(each(rows, func(r *ActivityRow) uuid.UUID { return r.Source })),
		words[int64](each(rows, func(r *ActivityRow) int64 { return r.ReceivedAtUS })))
}

// InsertSeries copies identities of series for joins.
func (db *DB) InsertSeries(ctx context.Context, rows []SeriesRow) error {
	const statement = "INSERT INTO series (id, workspace, source, metric, tags, kind)"
	return db.insertWire(ctx, db.conn, opInsertSeries, statement, seriesColumns, len(rows),
		words[uint64](each(rows, func(r *SeriesRow) uint64 { return r.ID })),
		uuids(each(rows, func(r *SeriesRow) uuid.UUID { return r.Workspace })),
		uuids(each(rows, func(r *SeriesRow) uuid.UUID { return r.Source })),
		texts(each(rows, func(r *SeriesRow) string { return r.Metric })),
		textMaps(each(rows, func(r *SeriesRow) *pairs { return sorted(r.Tags) })),
		octets(each(rows, func(r *SeriesRow) uint8 { return r.Kind })))
}

// each gives what is taken of each row.
func each[R, V any](rows []R, take func(*R) V) []V {
	values := make([]V, len(rows))
	for i := range rows {
		values[i] = take(&rows[i])
	}
	return values
}

// insert sends one batch. A batch holds a connection until it is sent or aborted,
// so it is always one or the other.
func (db *DB) insert(
	ctx context.Context, conn driver.Conn, operation, statement string, columns []ch.ColumnNameAndType, rows int,
	fill func(driver.Batch) error,
) error {
	return db.inserting(ctx, operation, rows, func(ctx context.Context) error {
		batch, err := conn.PrepareBatch(ch.Context(ctx, ch.WithColumnNamesAndTypes(columns)), statement)
		if err != nil {
			return fmt.Errorf("%s: preparing: %w", statement, err)
		}
		if err := fill(batch); err != nil {
			_ = batch.Abort()
			return fmt.Errorf("%s: %w", statement, err)
		}
		if err := batch.Send(); err != nil {
			return fmt.Errorf("%s: %d rows: %w", statement, rows, err)
		}
		return nil
	})
}

// inserting has send insert so many rows, if any, in the time and with the settings that
// an insert has.
func (db *DB) inserting(ctx context.Context, operation string, rows int, send func(context.Context) error) (err error) {
	if rows == 0 {
		return nil
	}
	defer func(began time.Time) { db.metrics.observe(operation, began, rows, err) }(time.Now())
	ctx, span := db.start(ctx, operation)
	defer func() { tracing.End(span, err) }()
	ctx, cancel := context.WithTimeout(ctx, insertTimeout)
	defer cancel()
	return send(ch.Context(ctx, ch.WithSettings(insertSettings)))
}

// appendEach fills column i of a batch with what is taken of each row.
func appendEach[R, V any](batch driver.Batch, i int, rows []R, take func(*R) V) error {
	return batch.Column(i).Append(each(rows, take))
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
