package clickhouse

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/livegraph/livegraph/internal/platform/tracing"
	"github.com/livegraph/livegraph/storage/clickhouse/native"
)

// insertTimeout limits one insert. It is the same for all inserts, because the driver derives
// max_execution_time from it, and the embedded engine pools connections by their settings.
const insertTimeout = 60 * time.Second

// insertSettings are the settings of every insert.
var insertSettings = ch.Settings{
	"async_insert":                    0, // rows are stored when the insert returns
	"optimize_on_insert":              0, // merges remove duplicates, see Target.Compact
	"insert_deduplicate":              0, // versions do it
	"max_partitions_per_insert_block": 0, // a batch may contain points of many months
}

// compactSettings are the settings of the inserts of a Target with Compact.
var compactSettings = func() ch.Settings {
	s := maps.Clone(insertSettings)
	s["optimize_on_insert"] = 1
	return s
}()

// Target is a table into which rows are inserted.
type Target struct {
	Operation string // label of metrics
	Table     string
	Columns   []ch.ColumnNameAndType // saves the driver from querying them
	Bulk      bool                   // use the connections for large inserts, see bulkConns
	Compact   bool                   // keep only one of the rows of an insert that replace each other
}

func (t *Target) statement() string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	return "INSERT INTO " + t.Table + " (" + strings.Join(names, ", ") + ")"
}

// Insert stores rows with the columns of the target. When it returns, nothing reads data any
// longer. All inserts of rows from this process use it.
func (db *DB) Insert(ctx context.Context, into *Target, rows int, data ...native.Column) (err error) {
	if rows == 0 {
		return nil
	}
	defer func(began time.Time) { db.metrics.observe(into.Operation, began, rows, err) }(time.Now())
	ctx, span := db.start(ctx, into.Operation)
	defer func() { tracing.End(span, err) }()
	ctx, cancel := context.WithTimeout(ctx, insertTimeout)
	defer cancel()
	conn := db.conn
	if into.Bulk {
		conn = db.bulk
	}
	settings := insertSettings
	if into.Compact {
		settings = compactSettings
	}
	if err := db.send(ch.Context(ctx, ch.WithSettings(settings)), conn, into, rows, data); err != nil {
		return fmt.Errorf("%s: %d rows: %w", into.statement(), rows, err)
	}
	return nil
}

// sendFunc sends rows over one of the protocols.
type sendFunc func(ctx context.Context, conn driver.Conn, into *Target, rows int, data []native.Column) error

// sendBody sends rows over HTTP, directly from the memory of their columns. A batch of the
// driver would copy them twice and allocate 100 MB for a million points.
func sendBody(ctx context.Context, conn driver.Conn, into *Target, rows int, data []native.Column) error {
	ctx, cancel := context.WithCancel(ctx)
	body := native.NewBody(into.Columns, rows, data)
	err := conn.InsertFormat(ctx, "Native", into.statement(), body)
	cancel() // stops writing to a server that has failed
	body.Release()
	return err
}

// sendBatch sends rows over the native protocol, for which the driver has no call for an
// encoded block. A batch keeps a connection until it is sent or aborted, so sendBatch always
// does one of the two.
func sendBatch(ctx context.Context, conn driver.Conn, into *Target, _ int, data []native.Column) error {
	batch, err := conn.PrepareBatch(ch.Context(ctx, ch.WithColumnNamesAndTypes(into.Columns)), into.statement())
	if err != nil {
		return fmt.Errorf("preparing: %w", err)
	}
	if err := native.Fill(batch, data); err != nil {
		_ = batch.Abort()
		return err
	}
	return batch.Send()
}

// MapRows returns the value of each row.
func MapRows[R, V any](rows []R, value func(*R) V) []V {
	values := make([]V, len(rows))
	for i := range rows {
		values[i] = value(&rows[i])
	}
	return values
}
