package timeseries

import (
	"context"
	"fmt"
	"slices"
	"strings"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

// Function is an aggregation of values.
type Function string

// The functions. Percentiles are exact and interpolate linearly between the closest
// values. StdDev is the sample standard deviation; a single value has none. Rate and Delta
// are functions of counters, see counter.go.
const (
	Avg    Function = "avg"
	Min    Function = "min"
	Max    Function = "max"
	Sum    Function = "sum"
	Count  Function = "count"
	First  Function = "first"
	Last   Function = "last"
	StdDev Function = "stddev"
	P50    Function = "p50"
	P90    Function = "p90"
	P95    Function = "p95"
	P99    Function = "p99"
	Rate   Function = "rate"
	Delta  Function = "delta"
)

// Functions lists the functions.
func Functions() []Function {
	return []Function{Avg, Min, Max, Sum, Count, First, Last, StdDev, P50, P90, P95, P99, Rate, Delta}
}

// FunctionNames returns the names of the functions.
func FunctionNames() (names []string) {
	for _, f := range Functions() {
		names = append(names, string(f))
	}
	return names
}

// SupportsStrings reports whether the function applies to strings.
func (f Function) SupportsStrings() bool { return f == Count || f.ReturnsStrings() }

// ReturnsStrings reports whether the values of the function are strings, if it is applied to strings.
func (f Function) ReturnsStrings() bool { return f == First || f == Last }

// expressions returns the SQL of the functions over value, us (the timestamp) and series,
// each preceded by a comma. In a group of several series, points of one time are ordered
// by series, so that first and last are deterministic.
func expressions(functions []Function, multiSeries bool) string {
	order := "us"
	if multiSeries {
		order = "(us, series)" // three times as slow
	}
	var levels []string // of the percentiles
	for _, f := range functions {
		if level, ok := percentileLevels[f]; ok {
			levels = append(levels, level)
		}
	}
	var list strings.Builder
	for i, f := range functions {
		list.WriteString(", ")
		if level, ok := percentileLevels[f]; ok {
			// ClickHouse computes all percentiles at once if their expressions are equal.
			fmt.Fprintf(
				&list, "quantilesExactInclusive(%s)(value)[%d]", strings.Join(levels, ", "), slices.Index(levels, level)+1,
			)
		} else {
			list.WriteString(f.expression(order))
		}
		fmt.Fprintf(&list, " AS answer%d", i)
	}
	return list.String()
}

// percentileLevels are the levels of the percentiles, as the SQL function expects them.
var percentileLevels = map[Function]string{P50: "0.50", P90: "0.90", P95: "0.95", P99: "0.99"}

// expression returns the SQL of a function that is not a percentile. It panics for functions that
// have none, so that a new one is not sent to ClickHouse by its name.
func (f Function) expression(order string) string {
	switch f {
	case Avg, Min, Max, Sum:
		return string(f) + "(value)"
	case Count:
		return "toFloat64(count())"
	case First:
		return "argMin(value, " + order + ")"
	case Last:
		return "argMax(value, " + order + ")"
	case StdDev:
		return "stddevSampStable(value)"
	}
	panic("function " + f + " has no expression")
}

// AggregateQuery selects aggregates of series, with a row for each group and bucket.
type AggregateQuery struct {
	Series    []uint64 // all of numbers, or all of strings
	Groups    []int    // groups of Series, by the same index, from 0
	IsString  bool
	Range     Range
	Grid      *Grid // nil: one row for each group, with the start of the range as its time
	Functions []Function
	Limit     int // maximum number of rows in all
	// PointsOnly disables rollups: the query reads only points.
	PointsOnly bool
	// FineFrom is the number of buckets from which on points are grouped in this process if rollups
	// do not apply; 0: 50,000, and for ranges of few points any number.
	FineFrom int

	multiSeries bool // a group has more than one series
	layout      clickhouse.Layout
}

// Aggregate returns the rows of each group that has points, with a column for each function,
// in the order of time. It reports whether there are more rows than the limit; these are
// missing. A result that is not a finite number, such as a sum beyond float64, is a missing
// value; so is a function that does not apply to strings.
func (r *Reader) Aggregate(ctx context.Context, q AggregateQuery) (found map[int]*Points, more bool, err error) {
	if len(q.Series) == 0 {
		return map[int]*Points{}, false, nil
	}
	if err := q.Range.applyHidden(q.counterRange().FromUS, q.Series); err != nil {
		return nil, false, err
	}
	q.multiSeries, q.layout = hasMultiSeriesGroup(q.Groups), r.db.Layout()
	var plain, counters []Function
	for _, f := range q.Functions {
		switch {
		case q.IsString && !f.SupportsStrings():
		case f.isCounter():
			counters = append(counters, f)
		default:
			plain = append(plain, f)
		}
	}
	if len(counters) == 0 {
		return r.aggregatePlain(ctx, &q, plain)
	}
	increases, more, err := r.aggregateCounters(ctx, &q, counters)
	if len(plain) == 0 || more || err != nil {
		return increases, more, err
	}
	found, more, err = r.aggregatePlain(ctx, &q, plain)
	q.mergeCounters(found, increases)
	return found, more, err
}

// aggregatePlain returns the functions that are not functions of counters.
func (r *Reader) aggregatePlain(
	ctx context.Context, q *AggregateQuery, requested []Function,
) (found map[int]*Points, more bool, err error) {
	plan, err := r.plan(ctx, q, requested)
	if err != nil {
		return nil, false, err
	}
	rows, err := r.aggregateHere(ctx, q, requested, plan)
	if err != nil {
		return nil, false, err
	}
	if rows != nil {
		return rows.found, rows.remaining < 0, nil
	}
	return r.aggregateBy(ctx, q, requested, plan, q.statementFor, q.Range.parameters())
}

// aggregateCounters returns the functions of counters.
func (r *Reader) aggregateCounters(
	ctx context.Context, q *AggregateQuery, requested []Function,
) (found map[int]*Points, more bool, err error) {
	plan, err := r.counterPlan(ctx, q, requested)
	if err != nil {
		return nil, false, err
	}
	if plan != nil {
		rows, err := r.rollupCounters(ctx, q, requested, plan)
		if err != nil {
			return nil, false, err
		}
		if rows != nil {
			return rows.found, rows.remaining < 0, nil
		}
	}
	return r.aggregateBy(ctx, q, requested, plan, q.counterStatement, q.counterRange().parameters())
}

// aggregateBy runs the statement for a plan, which may be nil. If rollups were computed before they
// had a requested column, it reads points instead.
func (r *Reader) aggregateBy(
	ctx context.Context, q *AggregateQuery, requested []Function, plan *rollupPlan,
	statement func([]Function, *rollupPlan, reading) string, parameters ch.Parameters,
) (found map[int]*Points, more bool, err error) {
	for {
		source := clickhouse.SourcePoints
		if plan != nil {
			source = plan.table
		}
		r.db.CountAggregate(source)
		rows, err := r.aggregate(
			ctx, q, requested, func(how reading) string { return statement(requested, plan, how) }, parameters,
		)
		if err != nil {
			return nil, false, err
		}
		if plan == nil || !rows.lacking {
			return rows.found, rows.remaining < 0, nil
		}
		plan = nil
	}
}

// aggregate runs a statement that returns a row for each group and bucket, with a column
// for each requested function. The other functions of the query have no value.
func (r *Reader) aggregate(
	ctx context.Context, q *AggregateQuery, requested []Function, statement func(reading) string, parameters ch.Parameters,
) (rows *aggregateRows, err error) {
	err = r.untilCertain(func(how reading) (repeated bool, err error) {
		rows, err = r.aggregateAs(ctx, q, requested, statement(how), parameters)
		return rows.repeated, err
	})
	return rows, err
}

// aggregateAs runs one statement, see aggregate.
func (r *Reader) aggregateAs(
	ctx context.Context, q *AggregateQuery, requested []Function, statement string, parameters ch.Parameters,
) (*aggregateRows, error) {
	rows := newAggregateRows(q, requested)
	return rows, r.db.QueryBlocks(ctx, clickhouse.OpAggregate, statement, parameters, rows.columns(), rows.add)
}

func (q *AggregateQuery) statement(requested []Function) string {
	with, bucket := q.bucketSQL("us")
	bucketed := fmt.Sprintf(`
		SELECT series, %s AS grp, toUnixTimestamp64Micro(ts) AS us, %s%s AS bucket, value FROM (%s)`,
		q.groupSQL(), with, bucket, currentPoints(q.table(), q.Series, &q.Range))
	return fmt.Sprintf(
		`SELECT grp, bucket%s, toUInt8(0) AS repeated FROM (%s) GROUP BY grp, bucket ORDER BY grp, bucket LIMIT %d`,
		expressions(requested, q.multiSeries), bucketed, q.Limit+1)
}

func (q *AggregateQuery) table() string {
	if q.IsString {
		return clickhouse.TableStates
	}
	return clickhouse.TablePoints
}

// hasMultiSeriesGroup reports whether a group has more than one series.
func hasMultiSeriesGroup(groups []int) bool {
	seen := make(map[int]bool, len(groups))
	for _, g := range groups {
		if seen[g] {
			return true
		}
		seen[g] = true
	}
	return false
}

// groupSQL returns the expression by which rows are grouped; groupOf converts its values to
// groups. If each series has its own group, it is the series, so that the order of the table
// can be used.
func (q *AggregateQuery) groupSQL() string {
	if !q.multiSeries {
		return "series"
	}
	if len(slices.Compact(slices.Clone(q.Groups))) == 1 {
		return fmt.Sprintf("%d::UInt64", q.Groups[0])
	}
	return fmt.Sprintf(
		"transform(series, %s, %s, 0::UInt64)",
		clickhouse.IDArray(q.Series),
		clickhouse.NumberArray("UInt64", q.Groups),
	)
}

// groupOf returns a function that converts a value of groupSQL to the group.
func (q *AggregateQuery) groupOf() func(grp uint64) int {
	if q.multiSeries {
		return func(grp uint64) int { return int(grp) }
	}
	groups := make(map[uint64]int, len(q.Series))
	for i, id := range q.Series {
		groups[id] = q.Groups[i]
	}
	return func(grp uint64) int { return groups[grp] }
}
