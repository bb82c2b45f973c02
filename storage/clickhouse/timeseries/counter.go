package timeseries

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

// Delta and Rate are functions of counters: values that increase, and sometimes restart
// from zero.
//
// Two consecutive points of a series form a step. The increase of a step is the difference
// of the values. Where the value decreases, the counter restarted, and the increase is the
// new value. A step belongs entirely to the bucket of its later point. No increase is
// therefore lost between buckets, and the increases of small buckets add up to those of
// large ones. The first step of a range begins at the last point before the range, up to
// lookBack before it.
//
// Delta is the sum of the increases in a bucket. Rate is this sum divided by the duration
// of the steps in seconds, from the point before the bucket's first point to its last
// point. Nothing is extrapolated: a bucket that is not over has the rate up to its last
// point. A bucket without a step, which has one point and none before it, has no value. The
// values of a group are the sums of the deltas and rates of its series: two points of
// different series never form a step.

// isCounter reports whether the function is computed from the steps between points.
func (f Function) isCounter() bool { return f == Rate || f == Delta }

const (
	minLookBack = time.Hour
	// maxLookBack applies to queries without buckets, which would otherwise read twice as
	// much.
	maxLookBack = 24 * time.Hour
)

// lookBack returns the maximum distance between the range and the point before it at which
// the first step begins, in microseconds. It is the length of a bucket, so that there is
// such a point whenever each bucket has a point, but at least an hour.
func (q *AggregateQuery) lookBack() int64 {
	length := min(q.Range.ToUS-q.Range.FromUS, maxLookBack.Microseconds())
	if q.Grid != nil {
		length = q.Grid.step
	}
	return max(length, minLookBack.Microseconds())
}

// counterRange returns the range to read: the range of the query, extended by lookBack.
func (q *AggregateQuery) counterRange() Range {
	r := q.Range
	r.FromUS = max(r.FromUS-q.lookBack(), 0)
	return r
}

// counterPlan returns the part of counterRange that is read from rollups, nil if there is none.
func (r *Reader) counterPlan(ctx context.Context, q *AggregateQuery, requested []Function) (*rollupPlan, error) {
	read := *q
	read.Range = q.counterRange()
	p, err := r.plan(ctx, &read, requested)
	if p == nil || err != nil {
		return nil, err
	}
	if start := q.Range.FromUS; mod(start, p.unit) != 0 && start > p.from && start < p.to {
		p.divided = start - mod(start, p.unit)
	}
	return p, nil
}

// counterColumns are the columns of the rows that steps are computed from. Each row is a point, or
// the consecutive points of a minute or an hour.
var counterColumns = []rollupColumn{firstColumn, firstAtColumn, lastColumn, lastAtColumn, increaseColumn}

// counterRows returns a statement for these rows.
func (q *AggregateQuery) counterRows(p *rollupPlan, how reading) string {
	table := clickhouse.TablePoints
	if how == onlyCurrent || q.PointsOnly {
		table += " FINAL"
	}
	read := *q
	read.Range = q.counterRange()
	if p == nil {
		p = &rollupPlan{from: read.Range.FromUS, to: read.Range.ToUS, pointSeries: q.Series}
	}
	return strings.Join(p.subqueries(&read, counterColumns, func(series []uint64, where string) string {
		return read.pointRows(counterColumns, table, series, where)
	}), " UNION ALL ")
}

// counterStatement returns the statement for functions of counters, which reads counterRange.
// It joins each row with the previous one of its series, and sums the steps between and within
// the rows of each series and bucket. A row that does not begin after the end of the previous one
// shows that a point has several rows.
func (q *AggregateQuery) counterStatement(requested []Function, p *rollupPlan, how reading) string {
	with, bucket := q.bucketSQL("head_at")
	steps := fmt.Sprintf(`
		SELECT series, head, head_at, tail_at, increase, uncertain, lagInFrame(tail, 1, nan) OVER w AS prior,
			lagInFrame(tail_at, 1, head_at) OVER w AS since
		FROM (%s) WINDOW w AS (PARTITION BY series ORDER BY head_at ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)`,
		q.counterRows(p, how))
	bucketed := fmt.Sprintf(`
		SELECT series, tail_at, since, increase + multiIf(isNaN(prior), 0, head >= prior, head - prior, head) AS step,
			toUInt8(head_at <= since AND NOT isNaN(prior)) AS again, uncertain, %s%s AS bucket
		FROM (%s) WHERE head_at >= %d OR again`, with, bucket, steps, q.Range.FromUS)
	increases := fmt.Sprintf(`
		SELECT series, bucket, sum(step) AS rise, (max(tail_at) - min(since)) / 1e6 AS seconds, seconds > 0 AS known,
			toUInt8(max(again) + max(uncertain)) AS state
		FROM (%s) GROUP BY series, bucket`, bucketed)
	// A group of one series already has one row for each bucket.
	sum, repeated, grouped := ", if(known, %s, nan) AS answer%d", "state", ""
	if q.multiSeries {
		sum, repeated = ", if(max(known), sumIf(%s, known), nan) AS answer%d", "max(state)"
		grouped = "GROUP BY grp, bucket"
	}
	var columns strings.Builder
	for i, f := range requested {
		value := "rise"
		if f == Rate {
			value = "rise / seconds"
		}
		fmt.Fprintf(&columns, sum, value, i)
	}
	return fmt.Sprintf(`SELECT %s AS grp, bucket%s, %s AS repeated FROM (%s) %s ORDER BY grp, bucket LIMIT %d`,
		q.groupSQL(), columns.String(), repeated, increases, grouped, q.Limit+1)
}

// mergeCounters copies the columns of counter functions from increases to the rows of found
// that have the same group and bucket.
func (q *AggregateQuery) mergeCounters(found, increases map[int]*Points) {
	for group, p := range found {
		from := increases[group]
		if from == nil {
			continue
		}
		next := 0
		for i, bucket := range p.TS {
			// The two may differ by points that were stored between the statements.
			for next < len(from.TS) && from.TS[next] < bucket {
				next++
			}
			if next == len(from.TS) || from.TS[next] != bucket {
				continue
			}
			for column, f := range q.Functions {
				if f.isCounter() {
					p.Columns[column].Numbers[i] = from.Columns[column].Numbers[next]
				}
			}
		}
	}
}
