package query

import (
	"time"

	"github.com/livegraph/livegraph/api/livedata/value"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

// resolution limits the points of a series.
type resolution struct {
	auto            bool // the interval is chosen so that no series has more rows than most
	downsample      bool // select the raw points that preserve the shape
	pointsPerSeries int  // points or rows a series, see perSeries
}

const (
	// minMaxPoints is sufficient for the first and the last point of a series.
	minMaxPoints = 2
	// defaultMaxPoints is about the number of points that a chart can show.
	defaultMaxPoints = 1000
	autoInterval     = "auto"
	lttb             = "lttb"
)

// autoIntervals are the candidates for interval=auto: divisors of an hour or a day, or whole
// days, so that buckets begin at round times.
var autoIntervals = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	value.Day, 2 * value.Day, 5 * value.Day, 10 * value.Day, maxInterval,
}

// readResolution parses downsample and maxPoints. It must be called after readBuckets.
func (q *queryParams) readResolution(p *request.Params) {
	q.resolution.downsample = p.OneOf("downsample", "", lttb) == lttb
	q.resolution.pointsPerSeries = p.Int("maxPoints", 0, minMaxPoints, maxPoints)
}

// perSeries returns the maximum number of points or rows of a series: the parameter maxPoints,
// else the number that fits into the answer if the page is full.
func (q *queryParams) perSeries() int {
	if q.resolution.pointsPerSeries > 0 {
		return q.resolution.pointsPerSeries
	}
	return min(max(q.rows()/q.limit, minMaxPoints), defaultMaxPoints)
}

// chooseInterval replaces auto by the smallest interval with which the range has no more
// buckets than a series may have rows.
func (q *queryParams) chooseInterval() error {
	if !q.resolution.auto {
		return nil
	}
	maxBuckets := q.perSeries()
	for _, interval := range autoIntervals {
		grid := timeseries.NewGrid(interval, q.zone, q.span.FromUS, q.span.ToUS)
		if grid.Count(q.span.FromUS, q.span.ToUS, maxBuckets) <= maxBuckets {
			q.interval = interval
			return nil
		}
	}
	return fault.Newf(
		fault.Invalid,
		"The range has more than %d intervals of the longest, %s: ask for a shorter range or more rows a series (maxPoints)",
		maxBuckets, value.FormatDuration(maxInterval),
	).
		With("field", "maxPoints").With("reason", "the range has more intervals").With("limit", maxBuckets).
		With("narrow", []string{"from", "to", "maxPoints"})
}
