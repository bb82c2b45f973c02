package query

import (
	"time"

	"github.com/livegraph/livegraph/api/livedata/value"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

// resolution says in how few points a series is shown.
type resolution struct {
	auto       bool // the interval is chosen so that no series has more rows than most
	downsample bool // of raw points, those that keep the shape
	most       int  // points or rows a series, see perSeries
}

const (
	// leastMaxPoints keeps a series' first and last point.
	leastMaxPoints = 2
	// mostByDefault is about what a chart on a screen can show.
	mostByDefault = 1000
	autoInterval  = "auto"
	lttb          = "lttb"
)

// autoIntervals are the intervals that one is chosen from: each is a part of the
// hour, of the day, or days, so that charts begin at round times.
var autoIntervals = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	value.Day, 2 * value.Day, 5 * value.Day, 10 * value.Day, maxInterval,
}

// readResolution reads downsample and maxPoints; interval has been read.
func (q *queryParams) readResolution(p *request.Params) {
	q.resolution.downsample = p.OneOf("downsample", "", lttb) == lttb
	q.resolution.most = p.Int("maxPoints", 0, leastMaxPoints, maxPoints)
}

// perSeries returns the maximum number of points or rows of a series: what is asked for, else as
// many as fit the answer when the page is full of series.
func (q *queryParams) perSeries() int {
	if q.resolution.most > 0 {
		return q.resolution.most
	}
	return min(max(q.rows()/q.limit, leastMaxPoints), mostByDefault)
}

// chooseInterval puts the smallest interval in the place of auto with which the
// range has no more buckets than a series may have rows.
func (q *queryParams) chooseInterval() error {
	if !q.resolution.auto {
		return nil
	}
	most := q.perSeries()
	for _, interval := range autoIntervals {
		grid := timeseries.NewGrid(interval, q.zone, q.span.FromUS, q.span.ToUS)
		if grid.Count(q.span.FromUS, q.span.ToUS, most) <= most {
			q.interval = interval
			return nil
		}
	}
	return fault.Newf(
		fault.Invalid,
		"The range has more than %d intervals of the longest, %s: ask for a shorter range or more rows a series (maxPoints)",
		most, value.FormatDuration(maxInterval),
	).
		With("field", "maxPoints").With("reason", "the range has more intervals").With("limit", most).With("narrow", []string{
		"from", "to", "maxPoints",
	})
}
