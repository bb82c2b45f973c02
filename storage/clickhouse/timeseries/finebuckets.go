package timeseries

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/native"
)

// A query with many buckets of few points, such as hours of a hundred series by ten seconds, takes
// ClickHouse longer to group than to read. A query of few points, such as minutes of ten series, takes it longer to
// plan the groups than to read. Both are grouped in this process, see docs/adr/0074-fine-buckets.md.

const (
	// minFineBuckets is the number of buckets of a result from which on points are grouped in this
	// process.
	minFineBuckets = 50_000
	// maxBucketRuns is the maximum number of runs that are read, with 72 bytes each.
	maxBucketRuns = 500_000
	// After coarseRows rows, a query with more than maxPointsPerRun points a run is left to ClickHouse,
	// which groups as fast as it sends if buckets have many points.
	coarseRows      = 1 << 20
	maxPointsPerRun = 64
	// fewPoints is the number of points up to which a query reads few points, if its series have one a second.
	fewPoints = 36_000
	// maxFewRows is the maximum number of rows of such a query. With more it is left to ClickHouse.
	maxFewRows = 100_000
)

// bucketRuns aggregates points. A run is consecutive rows of one series and bucket in the order of
// time. It is ranked by the time of its first row.
//
// No part of the table has two rows of one point, and ClickHouse sends the rows of a part in their
// order. So a point has several rows only if runs of one series and bucket overlap.
type bucketRuns struct {
	rowOrder
	grid *Grid

	limit       int64 // maximum number of rows; 0: none
	rows        int64 // that were read
	to          []int64
	count, sum  []float64
	low, high   []float64
	first, last []float64
}

var pointColumns = []ch.ColumnNameAndType{
	{Name: "series", Type: "UInt64"}, {Name: "us", Type: "Int64"}, {Name: "value", Type: "Float64"},
}

// canGroup reports whether the points of a query can be grouped in this process.
func (q *AggregateQuery) canGroup(requested []Function) bool {
	if q.IsString || q.PointsOnly || q.multiSeries || q.Grid == nil {
		return false
	}
	for _, f := range requested {
		if runFunctions[f] == nil {
			return false
		}
	}
	return true
}

// hasFineBuckets reports whether a query has many buckets, of probably few points.
func (q *AggregateQuery) hasFineBuckets() bool {
	rows := q.maxRows()
	return rows >= cmp.Or(q.FineFrom, minFineBuckets) && rows <= maxBucketRuns
}

// hasFewPoints reports whether a query probably reads few points.
func (q *AggregateQuery) hasFewPoints() bool {
	seconds := float64(q.Range.ToUS-q.Range.FromUS) / 1e6
	return q.FineFrom == 0 && seconds*float64(len(q.Series)) <= fewPoints
}

// aggregateHere returns the functions of a query whose rows are grouped in this process. The plan is nil if the
// query reads only points. It returns nil if ClickHouse must group the rows.
func (r *Reader) aggregateHere(
	ctx context.Context, q *AggregateQuery, requested []Function, plan *rollupPlan,
) (rows *aggregateRows, err error) {
	if !q.canGroup(requested) {
		return nil, nil
	}
	source := clickhouse.SourcePoints
	var group func() (*aggregateRows, error)
	switch {
	case plan != nil && plan.hasFewRows(q):
		source = plan.table
		group = func() (*aggregateRows, error) { return r.groupMixed(ctx, q, requested, plan) }
	case plan != nil:
		return nil, nil
	case q.hasFewPoints():
		group = func() (*aggregateRows, error) { return r.groupPoints(ctx, q, requested, maxFewRows) }
	case q.hasFineBuckets():
		group = func() (*aggregateRows, error) { return r.groupPoints(ctx, q, requested, 0) }
	default:
		return nil, nil
	}
	err = r.untilCertain(func(how reading) (repeated bool, err error) {
		if how == byPart {
			rows, err = group()
		} else {
			rows, err = r.aggregateAs(ctx, q, requested, q.statementFor(requested, plan, how), q.Range.parameters())
		}
		return rows != nil && rows.repeated, err
	})
	if rows != nil && err == nil {
		r.db.CountAggregate(source)
	}
	return rows, err
}

// groupPoints reads the rows of the points and groups them. It returns nil if they are more than the limit, unless
// that is 0, or too many for their buckets.
func (r *Reader) groupPoints(
	ctx context.Context, q *AggregateQuery, requested []Function, limit int64,
) (*aggregateRows, error) {
	statement := selectPoints(microsecondColumns, clickhouse.TablePoints, q.Series, &q.Range)
	if limit > 0 {
		statement = fmt.Sprintf("%s LIMIT %d", statement, limit+1)
	}
	b := newBucketRuns(q, limit)
	return r.groupRuns(ctx, q, requested, b, statement, pointColumns, b.add)
}

// groupRuns runs a statement whose blocks add adds to runs, and combines these. It returns nil if the rows are too
// many.
func (r *Reader) groupRuns(
	ctx context.Context, q *AggregateQuery, requested []Function, b *bucketRuns, statement string,
	columns []ch.ColumnNameAndType, add func(*native.Block) error,
) (*aggregateRows, error) {
	err := r.db.QueryBlocks(ctx, clickhouse.OpAggregate, statement, q.Range.parameters(), columns, add)
	if errors.Is(err, errTooManyRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rows := newAggregateRows(q, requested)
	b.combine(rows)
	return rows, nil
}

// newBucketRuns returns runs with the capacity for the buckets of a query, and for the runs that blocks and parts
// divide: to grow takes a quarter of the time. limit is the maximum number of rows, 0 for none.
func newBucketRuns(q *AggregateQuery, limit int64) *bucketRuns {
	n := q.maxRows()
	if limit > 0 {
		n = min(n, fewPoints)
	}
	n += n / 8
	column := func() []float64 { return make([]float64, 0, n) }
	return &bucketRuns{
		rowOrder: rowOrder{series: make([]uint64, 0, n), times: make([]int64, 0, n), ranks: make([]uint64, 0, n)},
		grid:     q.Grid, limit: limit, to: make([]int64, 0, n), count: column(), sum: column(), low: column(),
		high: column(), first: column(), last: column(),
	}
}

// add adds the rows of a block.
func (b *bucketRuns) add(block *native.Block) error {
	series, times, values := block.UInt64(0), block.Int64(1), block.Float64(2)
	before := len(b.series)
	for from := 0; from < len(series); {
		from = b.addRun(series, times, values, from)
	}
	return b.endBlock(before, len(series))
}

// endBlock ends the runs of a block, which had some rows and begin at an index. It returns errTooManyRows if
// ClickHouse must group the rows.
func (b *bucketRuns) endBlock(before, rows int) error {
	b.findRuns(before)
	b.rows += int64(rows)
	runs := int64(len(b.series))
	if runs > maxBucketRuns || b.limit > 0 && b.rows > b.limit ||
		b.rows > coarseRows && b.rows > runs*maxPointsPerRun {
		return errTooManyRows
	}
	return nil
}

// addRun adds the run that starts with a row. It returns the row after the run.
func (b *bucketRuns) addRun(series []uint64, times []int64, values []float64, row int) (next int) {
	id, from, first := series[row], times[row], values[row]
	bucket := b.grid.Start(from)
	end, to := b.grid.Next(bucket), from
	sum, low, high := first, first, first
	for next = row + 1; next < len(series) && series[next] == id && times[next] > to && times[next] < end; next++ {
		value := values[next]
		to, sum, low, high = times[next], sum+value, min(low, value), max(high, value)
	}
	b.appendRun(id, bucket, from, to, float64(next-row), sum, low, high, first, values[next-1])
	return next
}

// appendRun adds a run with its functions.
func (b *bucketRuns) appendRun(series uint64, bucket, from, to int64, count, sum, low, high, first, last float64) {
	b.series, b.times, b.ranks = append(b.series, series), append(b.times, bucket), append(b.ranks, rankOf(from))
	b.to, b.count, b.sum = append(b.to, to), append(b.count, count), append(b.sum, sum)
	b.low, b.high = append(b.low, low), append(b.high, high)
	b.first, b.last = append(b.first, first), append(b.last, last)
}

// combine adds a row to the result for each bucket. If runs of one bucket overlap, it marks the result
// as repeated and stops.
func (b *bucketRuns) combine(rows *aggregateRows) {
	order := b.sorted()
	var functions []func(*bucketRuns, int32) float64
	for _, f := range rows.requested {
		functions = append(functions, runFunctions[f])
	}
	for i := 0; i < len(order) && !rows.repeated; {
		row := order[i]
		for i++; i < len(order) && b.comparePlace(row, order[i]) == 0; i++ {
			other := order[i]
			if b.ranks[other] <= rankOf(b.to[row]) {
				rows.repeated = true
			}
			b.to[row], b.last[row] = b.to[other], b.last[other]
			b.count[row], b.sum[row] = b.count[row]+b.count[other], b.sum[row]+b.sum[other]
			b.low[row], b.high[row] = min(b.low[row], b.low[other]), max(b.high[row], b.high[other])
		}
		rows.addRow(b.series[row], b.times[row], func(k int) float64 { return functions[k](b, row) })
	}
}

// rankOf returns a number that orders runs by a time.
func rankOf(us int64) uint64 { return uint64(us) ^ 1<<63 }

// runFunctions are the functions of a run.
var runFunctions = map[Function]func(b *bucketRuns, row int32) float64{
	Avg:   func(b *bucketRuns, row int32) float64 { return b.sum[row] / b.count[row] },
	Sum:   func(b *bucketRuns, row int32) float64 { return b.sum[row] },
	Count: func(b *bucketRuns, row int32) float64 { return b.count[row] },
	Min:   func(b *bucketRuns, row int32) float64 { return b.low[row] },
	Max:   func(b *bucketRuns, row int32) float64 { return b.high[row] },
	First: func(b *bucketRuns, row int32) float64 { return b.first[row] },
	Last:  func(b *bucketRuns, row int32) float64 { return b.last[row] },
}
