package timeseries

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

// Function is an aggregation of values.
type Function string

// The functions. Percentiles are exact and interpolate linearly between the
// closest values. StdDev is the sample's: none for a single value. Rate and Delta
// are those of counters, see querycounter.go.
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

// OfTexts reports whether the function has a meaning for texts.
func (f Function) OfTexts() bool { return f == Count || f == First || f == Last }

// expressions returns the functions' SQL over value, us (the timestamp) and series,
// each with a comma before it. In a group of several series, points of one time are
// put in the order of the series, so that first and last are the same each time.
func expressions(functions []Function, several bool) string {
	order := "us"
	if several {
		order = "(us, series)" // three times as slow
	}
	var shares []string // of the percentiles
	for _, f := range functions {
		if share, ok := shareOf[f]; ok {
			shares = append(shares, share)
		}
	}
	var list strings.Builder
	for _, f := range functions {
		list.WriteString(", ")
		if share, ok := shareOf[f]; ok {
			// Written the same each time, all percentiles are computed at once.
			fmt.Fprintf(
				&list, "quantilesExactInclusive(%s)(value)[%d]", strings.Join(shares, ", "), slices.Index(shares, share)+1,
			)
			continue
		}
		list.WriteString(f.expression(order))
	}
	return list.String()
}

// shareOf says which share of the values is below a percentile.
var shareOf = map[Function]string{P50: "0.50", P90: "0.90", P95: "0.95", P99: "0.99"}

func (f Function) expression(order string) string {
	switch f {
	case Count:
		return "toFloat64(count())"
	case First:
		return "argMin(value, " + order + ")"
	case Last:
		return "argMax(value, " + order + ")"
	case StdDev:
		return "stddevSampStable(value)"
	}
	return string(f) + "(value)"
}

// AggregateQuery asks for aggregates of series, a row a group and bucket.
type AggregateQuery struct {
	Series    []uint64 // all of numbers, or all of texts
	Groups    []int    // index for index the group of a series, from 0
	Texts     bool
	Range     Range
	Grid      *Grid // nil: one row a group, stamped with the range's start
	Functions []Function
	Limit     int // most rows in all
	// Raw has points read alone, where rollups would give the same answer.
	Raw bool

	several bool // a group has more than one series
}

// Aggregate returns the rows of each group that has points, a column a function, in
// the order of time, and whether there are more rows than the limit (then the
// rest is missing). What is not a finite number, such as a sum beyond float64, is
// no value; so is a function that texts do not have.
func (r *Reader) Aggregate(ctx context.Context, q AggregateQuery) (found map[int]*Points, more bool, err error) {
	if len(q.Series) == 0 {
		return map[int]*Points{}, false, nil
	}
	if err := q.Range.hide(q.counterRange().FromUS, q.Series); err != nil {
		return nil, false, err
	}
	q.several = severalOfAGroup(q.Groups)
	var plain, counters []Function
	for _, f := range q.Functions {
		switch {
		case q.Texts && !f.OfTexts():
		case f.ofCounters():
			counters = append(counters, f)
		default:
			plain = append(plain, f)
		}
	}
	if len(counters) == 0 {
		return r.aggregatePlain(ctx, &q, plain)
	}
	increases, more, err := r.aggregate(ctx, &q, counters, q.counterStatement(counters), q.counterRange().parameters())
	if len(plain) == 0 || more || err != nil {
		return increases, more, err
	}
	found, more, err = r.aggregatePlain(ctx, &q, plain)
	q.takeCounters(found, increases)
	return found, more, err
}

// aggregatePlain returns functions that are not of counters.
func (r *Reader) aggregatePlain(
	ctx context.Context, q *AggregateQuery, asked []Function,
) (found map[int]*Points, more bool, err error) {
	statement, err := r.statementFor(ctx, q, asked)
	if err != nil {
		return nil, false, err
	}
	return r.aggregate(ctx, q, asked, statement, q.Range.parameters())
}

// aggregate runs a statement that gives a row a group and bucket with a column for
// each of the functions asked for; the other functions have no value.
func (r *Reader) aggregate(
	ctx context.Context, q *AggregateQuery, asked []Function, statement string, parameters ch.Parameters,
) (found map[int]*Points, more bool, err error) {
	found = map[int]*Points{}
	row := newAggregateRow(q.Functions, asked, q.Texts)
	left, groupOf := q.Limit, q.groupOf()
	var p *Points // of the row's group
	at := uint64(0)
	err = r.db.Query(ctx, clickhouse.OpAggregate, statement, parameters, func(scan func(...any) error) error {
		if err := scan(row.targets...); err != nil {
			return err
		}
		if left--; left < 0 {
			return nil
		}
		if p == nil || row.group != at { // groups come one after the other
			p, at = &Points{Columns: make([]Column, len(q.Functions))}, row.group
			found[groupOf(at)] = p
		}
		p.TS = append(p.TS, row.bucket)
		row.appendTo(p)
		return nil
	})
	return found, left < 0, err
}

func (q *AggregateQuery) statement(asked []Function) string {
	bucket, with := "{from:Int64}", ""
	if q.Grid != nil {
		bucket, with = q.Grid.sql("us"), q.Grid.with("us")
	}
	placed := fmt.Sprintf(`
		SELECT series, %s AS grp, toUnixTimestamp64Micro(ts) AS us, %s%s AS bucket, value FROM (%s)`,
		q.groupSQL(), with, bucket, standing(q.table(), q.Series, &q.Range))
	return fmt.Sprintf(`SELECT grp, bucket%s FROM (%s) GROUP BY grp, bucket ORDER BY grp, bucket LIMIT %d`,
		expressions(asked, q.several), placed, q.Limit+1)
}

func (q *AggregateQuery) table() string {
	if q.Texts {
		return clickhouse.TableTexts
	}
	return clickhouse.TableNumbers
}

// severalOfAGroup reports whether a group is there more than once.
func severalOfAGroup(groups []int) bool {
	seen := make(map[int]bool, len(groups))
	for _, g := range groups {
		if seen[g] {
			return true
		}
		seen[g] = true
	}
	return false
}

// groupSQL returns the expression by which rows are grouped, which groupOf turns into the
// group: the series where each has its own group, so that the table's order serves.
func (q *AggregateQuery) groupSQL() string {
	if !q.several {
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

// groupOf returns a function that tells the group of what groupSQL says of a row.
func (q *AggregateQuery) groupOf() func(grp uint64) int {
	if q.several {
		return func(grp uint64) int { return int(grp) }
	}
	of := make(map[uint64]int, len(q.Series))
	for i, id := range q.Series {
		of[id] = q.Groups[i]
	}
	return func(grp uint64) int { return of[grp] }
}

// aggregateRow is where a row is scanned into.
type aggregateRow struct {
	group   uint64 // as groupSQL has it
	bucket  int64
	answers []answer // of the functions, index for index
	targets []any    // of the statement's columns
}

// answer is where the value of a function is scanned into; both are nil where the function
// was not asked for.
type answer struct {
	number *float64
	text   *string
}

// newAggregateRow creates a row of a statement that has columns for what is asked of all the
// functions.
func newAggregateRow(functions, asked []Function, texts bool) *aggregateRow {
	row := &aggregateRow{answers: make([]answer, len(functions))}
	row.targets = []any{&row.group, &row.bucket}
	for _, f := range asked {
		a := &answer{}
		if texts && f != Count {
			a.text = new(string)
			row.targets = append(row.targets, a.text)
		} else {
			a.number = new(float64)
			row.targets = append(row.targets, a.number)
		}
		for i := range functions {
			if functions[i] == f {
				row.answers[i] = *a
			}
		}
	}
	return row
}

func (r *aggregateRow) appendTo(p *Points) {
	for i := range r.answers {
		a, column := &r.answers[i], &p.Columns[i]
		switch {
		case a.text != nil:
			value := *a.text
			column.Texts = append(column.Texts, &value)
		case a.number != nil && !math.IsInf(*a.number, 0):
			column.Numbers = append(column.Numbers, *a.number)
		default:
			column.Numbers = append(column.Numbers, math.NaN())
		}
	}
}
