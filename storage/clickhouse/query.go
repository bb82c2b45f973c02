package clickhouse

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tracing"
	"github.com/livegraph/livegraph/storage/clickhouse/native"
)

// Tables of points. The kind of a series determines its table. Exemplars are those of series of special values.
const (
	TablePoints    = "points"
	TableStates    = "states"
	TableExemplars = "exemplars"
)

// ClickHouse's codes of errors that are handled separately.
// https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp
const (
	codeTimeout     = 159
	codeTooSlow     = 160
	codeTooMany     = 202
	codeMemoryLimit = 241
	codeCancelled   = 394
	codeThrown      = 395 // by throwIf
)

const (
	queryRetryAfter = time.Second
	// maxStatement is in bytes. A statement over 100,000 series with their groups has 3 MB.
	maxStatement = 8 << 20
	// defaultExecutionTime applies if the caller has no deadline, in seconds.
	defaultExecutionTime = 120
)

// settings returns the settings of every query. In-order aggregation finishes one series
// before it begins the next, so that aggregation by series (counters, downsampling) has only
// few series in memory. (The driver lowers max_execution_time to slightly more than the
// deadline of the context.)
func settings() ch.Settings {
	return ch.Settings{
		"max_execution_time":            defaultExecutionTime,
		"optimize_aggregation_in_order": 1,
		"max_query_size":                maxStatement,
	}
}

// Query runs a statement and calls each for every row. All input of callers must be in
// parameters; the statement itself must consist of constants, numbers and UUIDs.
func (db *DB) Query(
	ctx context.Context, operation, statement string, parameters ch.Parameters, each func(scan func(...any) error) error,
) error {
	return db.observeQuery(ctx, operation, parameters, func(ctx context.Context) error {
		rows, err := db.reads.Query(ctx, statement)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }() // rows.Err returns its error
		for rows.Next() {
			if err := each(rows.Scan); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// QueryBlocks runs a statement and calls each for every block of its rows. columns are the names
// and types of the columns of the result. It is for results of many rows: it reads a column at a
// time, where Query converts every value of every row. A block is valid until each returns. The
// rules for input are those of Query.
func (db *DB) QueryBlocks(
	ctx context.Context, operation, statement string, parameters ch.Parameters, columns []ch.ColumnNameAndType,
	each func(*native.Block) error,
) error {
	return db.observeQuery(ctx, operation, parameters, func(ctx context.Context) error {
		return db.fetch(ctx, db.reads, statement, columns, each)
	})
}

// observeQuery runs a query in a context with its settings and parameters. It records the query in
// metrics and traces, and returns its error with the error's kind.
func (db *DB) observeQuery(
	ctx context.Context, operation string, parameters ch.Parameters, query func(context.Context) error,
) (err error) {
	defer func(began time.Time) { db.metrics.observe(operation, began, 0, err) }(time.Now())
	ctx, span := db.start(ctx, operation)
	defer func() { tracing.End(span, err) }()
	options := []ch.QueryOption{ch.WithSettings(settings())}
	if len(parameters) > 0 {
		options = append(options, ch.WithParameters(parameters))
	}
	return classifyError(ctx, query(ch.Context(ctx, options...)))
}

// blockRows is the number of rows of a block that is collected from single rows.
const blockRows = 10_000

// fetchFunc reads the blocks of a result over one of the protocols.
type fetchFunc func(
	ctx context.Context, conn driver.Conn, statement string, columns []ch.ColumnNameAndType,
	each func(*native.Block) error,
) error

// fetchBody reads the body of a response of ClickHouse's HTTP interface.
func fetchBody(
	ctx context.Context, conn driver.Conn, statement string, columns []ch.ColumnNameAndType,
	each func(*native.Block) error,
) error {
	body, err := conn.QueryFormat(ctx, "Native", statement)
	if err != nil {
		return fmt.Errorf("querying: %w", err)
	}
	defer func() { _ = body.Close() }() // Next returns its errors
	blocks := native.NewReader(body, columns)
	for {
		b, err := blocks.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = each(b)
		}
		if err != nil {
			return err
		}
	}
}

// fetchRows collects blocks from the rows of the native protocol, for which the driver has no call
// that returns blocks.
func fetchRows(
	ctx context.Context, conn driver.Conn, statement string, columns []ch.ColumnNameAndType,
	each func(*native.Block) error,
) error {
	rows, err := conn.Query(ctx, statement)
	if err != nil {
		return fmt.Errorf("querying: %w", err)
	}
	defer func() { _ = rows.Close() }() // rows.Err returns its error
	b := native.NewBlock(columns)
	targets := b.Targets()
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return fmt.Errorf("reading a row: %w", err)
		}
		if b.Keep(); b.Rows() == blockRows {
			if err := each(b); err != nil {
				return err
			}
			b.Reset()
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("reading rows: %w", err)
	}
	if b.Rows() == 0 {
		return nil
	}
	return each(b)
}

// classifyError returns the error of a query with its kind: Timeout if the query took too
// long, Invalid if it exceeded its memory limit, Unavailable if ClickHouse cannot be reached
// or is overloaded.
func classifyError(ctx context.Context, err error) error {
	var fe *fault.Error
	if err == nil || errors.As(err, &fe) {
		return err
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fault.Wrap(err, fault.Timeout, "The query took too long").After(queryRetryAfter)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, ch.ErrAcquireConnTimeout) {
		return overloaded(err)
	}
	var exception *ch.Exception
	if !errors.As(err, &exception) {
		return fault.Wrap(err, fault.Unavailable, "The store of points is not available").After(queryRetryAfter)
	}
	switch exception.Code {
	case codeTimeout, codeTooSlow, codeCancelled:
		return fault.Wrap(err, fault.Timeout, "The query took too long").After(queryRetryAfter)
	case codeMemoryLimit:
		return fault.Wrap(err, fault.Invalid, "The query needs too much memory")
	case codeTooMany:
		return overloaded(err)
	}
	return err
}

func overloaded(err error) error {
	return fault.Wrap(err, fault.Unavailable, "Too many queries are running").After(queryRetryAfter)
}

// IDArray returns series ids as an array for an IN or transform. They are too many for a
// parameter, which is part of the URL.
func IDArray(ids []uint64) string { return NumberArray("UInt64", ids) }

// NumberArray returns numbers of a 64-bit type as an array, encoded as one literal.
// ClickHouse needs more time to parse thousands of literals than to read the rows that they
// select.
func NumberArray[T int | int64 | uint64](kind string, numbers []T) string {
	raw := make([]byte, 0, 8*len(numbers))
	for _, n := range numbers {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(n))
	}
	return "reinterpret(unhex('" + hex.EncodeToString(raw) + "'), 'Array(" + kind + ")')"
}

// UUIDList returns a list of ids for an IN. They may be too many for a parameter.
func UUIDList(ids []uuid.UUID) string {
	var list strings.Builder
	for i, id := range ids {
		if i > 0 {
			list.WriteByte(',')
		}
		list.WriteString("'" + id.String() + "'")
	}
	return list.String()
}

// UUIDArray returns ids in the text format of an Array(UUID) parameter.
func UUIDArray(ids []uuid.UUID) string { return "[" + UUIDList(ids) + "]" }

// TimeExpression returns the SQL expression of a time in microseconds since the Unix epoch.
func TimeExpression(us int64) string { return fmt.Sprintf("fromUnixTimestamp64Micro(%d, 'UTC')", us) }
