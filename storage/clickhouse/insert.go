package clickhouse

import (
	"context"
	"fmt"
	"strings"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/livegraph/livegraph/internal/platform/tracing"
	"github.com/livegraph/livegraph/storage/clickhouse/native"
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

// Target is where rows are inserted.
type Target struct {
	Operation string // as metrics name it
	Table     string
	Columns   []ch.ColumnNameAndType // so that the driver need not ask
	Bulk      bool                   // many rows at once: see bulkConns
}

func (t *Target) statement() string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	return "INSERT INTO " + t.Table + " (" + strings.Join(names, ", ") + ")"
}

// Insert stores rows of the target's columns. When it returns, nothing reads the data any
// more. It is the only way by which rows come into ClickHouse.
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
	if err := db.send(ch.Context(ctx, ch.WithSettings(insertSettings)), conn, into, rows, data); err != nil {
		return fmt.Errorf("%s: %d rows: %w", into.statement(), rows, err)
	}
	return nil
}

// sendFunc sends rows over one of the protocols.
type sendFunc func(ctx context.Context, conn driver.Conn, into *Target, rows int, data []native.Column) error

// sendBody sends rows over HTTP, from the memory of their columns. A batch of the driver
// would copy them twice, and what it grows into as well: for a million points 100 MB.
func sendBody(ctx context.Context, conn driver.Conn, into *Target, rows int, data []native.Column) error {
	ctx, cancel := context.WithCancel(ctx)
	body := native.NewBody(into.Columns, rows, data)
	err := conn.InsertFormat(ctx, "Native", into.statement(), body)
	cancel() // what is still being written to a server that has failed ends with it
	body.Release()
	return err
}

// sendBatch sends rows over the native protocol, which has no call for an encoded block. A
// batch holds a connection until it is sent or aborted, so it is always one or the other.
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

// Each returns what take returns of each row.
func Each[R, V any](rows []R, take func(*R) V) []V {
	values := make([]V, len(rows))
	for i := range rows {
		values[i] = take(&rows[i])
	}
	return values
}
