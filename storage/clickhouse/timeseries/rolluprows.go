package timeseries

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

// maxPointSeconds is the maximum time of points, of all series together, that counters are read with. At
// one point a second, ClickHouse sums the steps of more points faster than it sends them.
const maxPointSeconds = 100_000

// rollupCounters computes functions of counters from the rows of a plan. It returns nil if the result is
// not certain or has too many rows, if many points are read, or if several series are one group: it must
// then be read with aggregateBy.
func (r *Reader) rollupCounters(
	ctx context.Context, q *AggregateQuery, requested []Function, plan *rollupPlan,
) (*aggregateRows, error) {
	read := *q
	read.Range = q.counterRange()
	if q.multiSeries || plan.pointSeconds(&read) > maxPointSeconds ||
		plan.rollupRows() > maxVersionedRows {
		return nil, nil
	}
	all := *plan
	all.allVersions = true
	subqueries := all.subqueries(&read, counterColumns, func(series []uint64, where string) string {
		return read.pointRows(counterColumns, clickhouse.TablePoints, series, where)
	})
	const numbers = "SELECT series, us, head AS answer0, toFloat64(head_at) AS answer1, tail AS answer2," +
		" toFloat64(tail_at) AS answer3, increase AS answer4, uncertain AS state, "
	statement := numbers + "version FROM (" + subqueries[0] + ")"
	if points := subqueries[1:]; len(points) > 0 {
		statement += " UNION ALL " + numbers + "toUInt64(0) FROM (" + strings.Join(points, " UNION ALL ") + ")"
	}
	v, err := r.readVersioned(ctx, "SELECT * FROM ("+statement+")", read.Range.parameters())
	if v == nil || err != nil {
		return nil, err
	}
	s := steps{query: q, requested: requested, rows: newAggregateRows(q, requested), tail: math.NaN()}
	for row := range v.newest() {
		s.add(v, row)
	}
	s.end()
	if v.repeated || v.lacking {
		return nil, nil
	}
	r.db.CountAggregate(plan.table)
	return s.rows, nil
}

// pointSeconds returns the time of the points that the plan reads, of all series together, in seconds.
func (p *rollupPlan) pointSeconds(q *AggregateQuery) int64 {
	const second, hour = int64(time.Second / time.Microsecond), int64(time.Hour / time.Second)
	return int64(len(q.Series))*((p.from-q.Range.FromUS+q.Range.ToUS-p.to)/second) +
		int64(len(p.pointSeries))*((p.to-p.from)/second) + int64(len(p.markedHours))*hour
}

// rollupRows returns the number of rows of the rollup in the range of the plan.
func (p *rollupPlan) rollupRows() int64 {
	return int64(len(p.rollupSeries)) * ((p.to - p.from) / p.unit)
}

// steps sums the steps of counters, see Delta, between and within the rows of each series and bucket.
type steps struct {
	query     *AggregateQuery
	requested []Function
	rows      *aggregateRows

	series  uint64
	tail    float64 // last value of the row before; not a number: there is none
	tailAt  float64 // its time, microseconds
	started bool    // bucket is set
	bucket  int64
	from    float64 // time from which the steps of the bucket are, microseconds
	rise    float64 // sum of the steps
}

// add adds the next row: its columns are the first value and its time, the last value and its time, and
// the increase between them. Times are whole numbers of microseconds, which are exact in float64.
func (s *steps) add(v *versionedRows, row int32) {
	head, headAt, increase := v.values[0][row], v.values[1][row], v.values[4][row]
	if series := v.series[row]; series != s.series {
		s.end()
		s.series, s.tail = series, math.NaN()
	}
	step, since := increase, s.tailAt
	switch {
	case math.IsNaN(s.tail):
		since = headAt
	case head >= s.tail:
		step += head - s.tail
	default: // the counter restarted
		step += head
	}
	if headAt >= float64(s.query.Range.FromUS) {
		if bucket := s.bucketOf(int64(headAt)); !s.started || bucket != s.bucket {
			s.end()
			s.started, s.bucket, s.from, s.rise = true, bucket, since, 0
		}
		s.rise += step
	}
	s.tail, s.tailAt = v.values[2][row], v.values[3][row]
}

// bucketOf returns the start of the bucket of a time.
func (s *steps) bucketOf(us int64) int64 {
	if s.query.Grid == nil {
		return s.query.Range.FromUS
	}
	return s.query.Grid.Start(us)
}

// end adds the bucket to the result.
func (s *steps) end() {
	if !s.started {
		return
	}
	seconds := (s.tailAt - s.from) / 1e6
	s.rows.addRow(s.series, s.bucket, func(k int) float64 {
		switch {
		case seconds <= 0:
			return math.NaN()
		case s.requested[k] == Rate:
			return s.rise / seconds
		}
		return s.rise
	})
	s.started = false
}
