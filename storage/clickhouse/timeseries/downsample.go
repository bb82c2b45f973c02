package timeseries

import (
	"context"
	"fmt"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

// DownsampleQuery asks for the shape of series of numbers in few points.
type DownsampleQuery struct {
	Series []uint64
	Range  Range
	Most   int // points a series, at least 2
	Limit  int // most points in all
}

// Downsample returns at most so many of each series' own points, in one column and in
// the order of time, chosen by "largest triangle three buckets" (Sveinn Steinarsson,
// "Downsampling Time Series for Visual Representation", 2013): the first and the
// last, and between them, out of each of Most-2 buckets of equally many points, the
// one that makes the largest triangle with the point chosen before it and the mean
// of the next bucket. It reports whether there are more points than the limit; then
// some are missing. A series with no more points than Most has them all.
func (r *Reader) Downsample(ctx context.Context, q DownsampleQuery) (found map[uint64]*Points, more bool, err error) {
	found = map[uint64]*Points{}
	if len(q.Series) == 0 {
		return found, false, nil
	}
	if err := q.Range.hide(q.Range.FromUS, q.Series); err != nil {
		return found, false, err
	}
	// lttb computes in float64. Counted from the middle of the range, every
	// microsecond that can be stored is one exactly.
	middle := q.Range.FromUS + (q.Range.ToUS-q.Range.FromUS)/2
	statement := fmt.Sprintf(`
		SELECT series, toInt64(point.1) + %[1]d AS us, point.2 FROM (
			SELECT series, arrayJoin(lttb(%[2]d)(toUnixTimestamp64Micro(ts) - %[1]d, value)) AS point FROM (%[3]s)
			GROUP BY series)
		ORDER BY series, us LIMIT %[4]d`, middle, q.Most, standing(clickhouse.TableNumbers, q.Series, &q.Range), q.Limit+1)
	left := q.Limit
	err = r.db.Query(ctx, clickhouse.OpDownsample, statement, q.Range.parameters(), takeNumbers(found, &left))
	return found, left < 0, err
}
