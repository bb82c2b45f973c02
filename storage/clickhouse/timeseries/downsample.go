package timeseries

import (
	"context"
	"fmt"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

// DownsampleQuery selects few points that represent the shape of series of numbers.
type DownsampleQuery struct {
	Series    []uint64
	Range     Range
	MaxPoints int // maximum number of points of a series, at least 2
	Limit     int // maximum number of points in all
}

// Downsample returns at most MaxPoints points of each series, in one column and in the order of
// time. They are chosen by "largest triangle three buckets" (Sveinn Steinarsson,
// "Downsampling Time Series for Visual Representation", 2013): the first and the last
// point, and between them one point from each of MaxPoints-2 buckets with equal numbers of
// points: the one that forms the largest triangle with the point chosen before it and the
// mean of the next bucket. Downsample reports whether there are more points than the limit;
// then some are missing. All points of a series are returned if there are at most MaxPoints.
func (r *Reader) Downsample(ctx context.Context, q DownsampleQuery) (found map[uint64]*Points, more bool, err error) {
	found = map[uint64]*Points{}
	if len(q.Series) == 0 {
		return found, false, nil
	}
	if err := q.Range.applyHidden(q.Range.FromUS, q.Series); err != nil {
		return found, false, err
	}
	// lttb computes in float64. Relative to the middle of the range, every time that can be
	// stored is exact.
	middle := q.Range.FromUS + (q.Range.ToUS-q.Range.FromUS)/2
	statement := fmt.Sprintf(`
		SELECT series AS id, toInt64(toInt64(point.1) + %[1]d) AS us, point.2 AS result FROM (
			SELECT series, arrayJoin(lttb(%[2]d)(toUnixTimestamp64Micro(ts) - %[1]d, value)) AS point FROM (%[3]s)
			GROUP BY series)
		ORDER BY id, us LIMIT %[4]d`, middle, q.MaxPoints, currentPoints(clickhouse.TablePoints, q.Series, &q.Range),
		q.Limit+1)
	c := collector{found: found, remaining: q.Limit, add: addNumbers}
	err = r.db.QueryBlocks(ctx, clickhouse.OpDownsample, statement, q.Range.parameters(), numberColumns, c.collect)
	return found, c.remaining < 0, err
}
