package clickhouse

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tracing"
)

// Range is a stretch of time, from FromUS inclusive to ToUS exclusive,
// microseconds since the Unix epoch, of which each series has what is kept of it and not
// deleted.
type Range struct {
	FromUS, ToUS int64
	Kept         Kept
	Hidden       Hidden

	visible string // the condition that a row is not hidden, see hide; empty: none is
}

// Points are the points of one series, or the rows of one group, by column.
type Points struct {
	TS      []int64 // microseconds since the Unix epoch, in the order of the query
	Columns []Column
}

// Column holds one value a timestamp: numbers, where NaN says that there is
// none, or texts, where nil does.
type Column struct {
	Numbers []float64
	Texts   []*string
}

// Tables of points. The one of a series follows from its kind.
const (
	tableNumbers = "points"
	tableTexts   = "states"
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

// query runs a statement and calls each for every row. Whatever comes from
// outside travels in the parameters; the statement itself is made of constants
// and numbers.
func (db *DB) query(
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

// idArray writes series ids as an array for an IN or transform. They are numbers of ours, and
// too many for a parameter, which travels in the URL.
func idArray(ids []uint64) string { return numberArray("UInt64", ids) }

// numberArray writes numbers of a type of 64 bits as an array. It is one literal for all of
// them: thousands of literals take ClickHouse longer to read than the rows that they select.
func numberArray[T int | int64 | uint64](kind string, numbers []T) string {
	raw := make([]byte, 0, 8*len(numbers))
	for _, n := range numbers {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(n))
	}
	return "reinterpret(unhex('" + hex.EncodeToString(raw) + "'), 'Array(" + kind + ")')"
}

// uuidList writes ids for an IN, of which there may be too many for a parameter, too.
func uuidList(ids []uuid.UUID) string {
	var list strings.Builder
	for i, id := range ids {
		if i > 0 {
			list.WriteByte(',')
		}
		list.WriteString("'" + id.String() + "'")
	}
	return list.String()
}

// uuidArray writes ids as the text of an Array(UUID) parameter.
func uuidArray(ids []uuid.UUID) string { return "[" + uuidList(ids) + "]" }

// parameters returns the range's bounds, as {from:Int64} and {to:Int64}.
func (r Range) parameters() ch.Parameters {
	return ch.Parameters{
		"from": strconv.FormatInt(r.FromUS, 10),
		"to":   strconv.FormatInt(r.ToUS, 10),
	}
}

// standing returns the points of series that stand in a range, as series, ts and value:
// of one time only the newest version, so that an overwritten value counts nowhere.
// FINAL with PREWHERE takes half the time of aggregating versions away
// (docs/adr/0019-reading-points.md). A condition that not all versions of a point pass
// together would be wrong there; those of a range are about series and ts alone. That on
// what is hidden comes after it.
func standing(table string, series []uint64, r *Range) string {
	return fmt.Sprintf(`SELECT series, ts, value FROM %s FINAL PREWHERE series IN (%s) AND %s%s`,
		table, idArray(series), r.where(series), r.leavingOut("WHERE"))
}
