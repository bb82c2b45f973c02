package clickhouse

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tracing"
)

// Tables of points. The one of a series follows from its kind.
const (
	TableNumbers = "points"
	TableTexts   = "states"
)

// ClickHouse's codes of errors that are told apart.
// https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp
const (
	codeTimeout     = 159
	codeTooSlow     = 160
	codeTooMany     = 202
	codeMemoryLimit = 241
	codeCancelled   = 394
)

const (
	queryRetryAfter = time.Second
	// The statement of 100,000 series with their groups is 3 MB.
	maxStatement = 8 << 20
	// Without a deadline of the caller's, seconds.
	defaultExecutionTime = 120
)

// settings hold for every query. In-order aggregation is done with one series before
// it begins with the next, so that of what is gathered by series (counters,
// downsampling) only a few are in memory. (The driver lowers max_execution_time to a
// little above the context's deadline.)
func settings() ch.Settings {
	return ch.Settings{
		"max_execution_time":            defaultExecutionTime,
		"optimize_aggregation_in_order": 1,
		"max_query_size":                maxStatement,
	}
}

// Query runs a statement and calls each for every row. Whatever comes from
// outside travels in the parameters; the statement itself is made of constants
// and numbers.
func (db *DB) Query(
	ctx context.Context, operation, statement string, parameters ch.Parameters, each func(scan func(...any) error) error,
) (err error) {
	defer func(began time.Time) { db.metrics.observe(operation, began, 0, err) }(time.Now())
	ctx, span := db.start(ctx, operation)
	defer func() { tracing.End(span, err) }()
	options := []ch.QueryOption{ch.WithSettings(settings())}
	if len(parameters) > 0 {
		options = append(options, ch.WithParameters(parameters))
	}
	rows, err := db.reads.Query(ch.Context(ctx, options...), statement)
	if err != nil {
		return explain(ctx, err)
	}
	defer func() { _ = rows.Close() }() // what it says, rows.Err has said
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return explain(ctx, err)
		}
	}
	return explain(ctx, rows.Err())
}

// explain returns a query's error with its kind: Timeout when it took too long, Invalid
// when it wants more memory than it may have, Unavailable when ClickHouse cannot
// be reached or is overloaded.
func explain(ctx context.Context, err error) error {
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
		return tooMany(err)
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
		return tooMany(err)
	}
	return err
}

func tooMany(err error) error {
	return fault.Wrap(err, fault.Unavailable, "Too many queries are running").After(queryRetryAfter)
}

// IDArray writes series ids as an array for an IN or transform. They are numbers of ours, and
// too many for a parameter, which travels in the URL.
func IDArray(ids []uint64) string { return NumberArray("UInt64", ids) }

// NumberArray writes numbers of a type of 64 bits as an array. It is one literal for all of
// them: thousands of literals take ClickHouse longer to read than the rows that they select.
func NumberArray[T int | int64 | uint64](kind string, numbers []T) string {
	raw := make([]byte, 0, 8*len(numbers))
	for _, n := range numbers {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(n))
	}
	return "reinterpret(unhex('" + hex.EncodeToString(raw) + "'), 'Array(" + kind + ")')"
}

// UUIDList writes ids for an IN, of which there may be too many for a parameter, too.
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

// UUIDArray writes ids as the text of an Array(UUID) parameter.
func UUIDArray(ids []uuid.UUID) string { return "[" + UUIDList(ids) + "]" }

// Moment writes a time, microseconds since the Unix epoch, for a statement.
func Moment(us int64) string { return fmt.Sprintf("fromUnixTimestamp64Micro(%d, 'UTC')", us) }
