package timeseries

import (
	"fmt"
	"strings"
	"time"
)

// Delta and Rate are of counters, values that go up and restart from zero now and then.
//
// Two points of a series that follow each other make a step. A step goes up by the
// difference; where the value falls, the counter restarted, and the step goes up by
// the new value. A step belongs to the bucket of its later point, whole: so no
// increase is lost between buckets, and those of small buckets add up to those of
// large ones. The first step of a range begins at the last point before it, up to
// lookBack away.
//
// Delta is the sum of a bucket's steps. Rate is that sum by the seconds that the
// steps took, from the point before the bucket's first to its last; nothing is
// extrapolated, so a bucket that has only begun has the rate it had until now. A
// bucket without a step, one point with none before it, has no value. In a group it
// is the sum of the series' own deltas and rates: points of two series never make a
// step.

// ofCounters reports whether the function is about the steps between points.
func (f Function) ofCounters() bool { return f == Rate || f == Delta }

const (
	leastLookBack = time.Hour
	// mostLookBack is of queries without buckets, which would read twice as much.
	mostLookBack = 24 * time.Hour
)

// lookBack is how far before the range a point may be that its first step begins
// at: the length of a bucket, so that it is there whenever each bucket has a point,
// but an hour at least.
func (q *AggregateQuery) lookBack() int64 {
	length := min(q.Range.ToUS-q.Range.FromUS, mostLookBack.Microseconds())
	if q.Grid != nil {
		length = q.Grid.step
	}
	return max(length, leastLookBack.Microseconds())
}

// counterRange is what is read: the range with the look-back before it.
func (q *AggregateQuery) counterRange() Range {
	r := q.Range
	r.FromUS = max(r.FromUS-q.lookBack(), 0)
	return r
}

// counterStatement is of the range counterRange. It sets each point beside the one before it
// in its series, and adds up the steps of each series and bucket.
func (q *AggregateQuery) counterStatement(asked []Function) string {
	read := q.counterRange()
	bucket, with := fmt.Sprintf("%d::Int64", q.Range.FromUS), ""
	if q.Grid != nil {
		bucket, with = q.Grid.sql("us"), q.Grid.with("us")
	}
	points := fmt.Sprintf(
		"SELECT series, toUnixTimestamp64Micro(ts) AS us, value FROM (%s)", standing(q.table(), q.Series, &read),
	)
	steps := fmt.Sprintf(`
		SELECT series, us, value, lagInFrame(value, 1, nan) OVER w AS prior, lagInFrame(us, 1, us) OVER w AS since
		FROM (%s) WINDOW w AS (PARTITION BY series ORDER BY us ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)`, points)
	placed := fmt.Sprintf(
		"SELECT series, us, value, prior, since, %s%s AS bucket FROM (%s) WHERE us >= %d", with, bucket, steps,
		q.Range.FromUS,
	)
	increases := fmt.Sprintf(`
		SELECT series, bucket, sum(multiIf(isNaN(prior), 0, value >= prior, value - prior, value)) AS increase,
			(max(us) - min(since)) / 1e6 AS seconds, seconds > 0 AS known
		FROM (%s) GROUP BY series, bucket`, placed)
	// A group of one series has one row a bucket already.
	sum, grouped := ", if(known, %s, nan)", ""
	if q.several {
		sum, grouped = ", if(max(known), sumIf(%s, known), nan)", "GROUP BY grp, bucket"
	}
	var columns strings.Builder
	for _, f := range asked {
		value := "increase"
		if f == Rate {
			value = "increase / seconds"
		}
		fmt.Fprintf(&columns, sum, value)
	}
	return fmt.Sprintf(`SELECT %s AS grp, bucket%s FROM (%s) %s ORDER BY grp, bucket LIMIT %d`,
		q.groupSQL(), columns.String(), increases, grouped, q.Limit+1)
}

// takeCounters puts the counters' columns of some rows into those of the same
// groups and buckets.
func (q *AggregateQuery) takeCounters(found, increases map[int]*Points) {
	for group, p := range found {
		from := increases[group]
		if from == nil {
			continue
		}
		next := 0
		for i, bucket := range p.TS {
			// The two may differ by what came in between their statements.
			for next < len(from.TS) && from.TS[next] < bucket {
				next++
			}
			if next == len(from.TS) || from.TS[next] != bucket {
				continue
			}
			for column, f := range q.Functions {
				if f.ofCounters() {
					p.Columns[column].Numbers[i] = from.Columns[column].Numbers[next]
				}
			}
		}
	}
}
