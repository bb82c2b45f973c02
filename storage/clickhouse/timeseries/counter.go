package timeseries

import (
	"fmt"
	"strings"
	"time"
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

// counterStatement returns the statement for functions of counters, which reads counterRange.
// It joins each point with the previous one of its series, and sums the steps of each series
// and bucket. A step between two rows of one time shows that a point has several rows.
func (q *AggregateQuery) counterStatement(requested []Function, how reading) string {
	read := q.counterRange()
	with, bucket := q.bucketSQL("us")
	points := fmt.Sprintf(
		"SELECT series, toUnixTimestamp64Micro(ts) AS us, value FROM (%s)", q.storedPoints(&read, how),
	)
	steps := fmt.Sprintf(`
		SELECT series, us, value, lagInFrame(value, 1, nan) OVER w AS prior, lagInFrame(us, 1, us) OVER w AS since
		FROM (%s) WINDOW w AS (PARTITION BY series ORDER BY us ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)`, points)
	bucketed := fmt.Sprintf(`SELECT series, us, value, prior, since, toUInt8(us = since AND NOT isNaN(prior)) AS again,
			%s%s AS bucket
		FROM (%s) WHERE us >= %d OR again`, with, bucket, steps, q.Range.FromUS)
	increases := fmt.Sprintf(`
		SELECT series, bucket, sum(multiIf(isNaN(prior), 0, value >= prior, value - prior, value)) AS increase,
			(max(us) - min(since)) / 1e6 AS seconds, seconds > 0 AS known, max(again) AS uncertain
		FROM (%s) GROUP BY series, bucket`, bucketed)
	// A group of one series already has one row for each bucket.
	sum, repeated, grouped := ", if(known, %s, nan) AS answer%d", "uncertain", ""
	if q.multiSeries {
		sum, repeated = ", if(max(known), sumIf(%s, known), nan) AS answer%d", "max(uncertain)"
		grouped = "GROUP BY grp, bucket"
	}
	var columns strings.Builder
	for i, f := range requested {
		value := "increase"
		if f == Rate {
			value = "increase / seconds"
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
