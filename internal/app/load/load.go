// Package load sends a load of points to a running server and measures it. It uses only
// the public API, so that it measures what a client sees.
//
// A [Fleet] is a set of sources with their series that are created for the load. Its Run
// sends points of them according to a [Plan], as fast as the server accepts them or at a
// fixed rate. It measures how fast points are accepted (the log contains them), how fast
// they become visible (a query returns them), and for single requests the time to the
// answer (latency) and from the answer to visibility (freshness).
//
// At a fixed rate each request has a time at which it is due, and its latency counts from
// then. A server that stalls also delays the requests after the stall, and the latency
// includes that delay.
//
// The package defines the shape of the load, the measurement and its bounds. The caller
// provides the permissions and prints the results.
package load

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"
)

// The bounds of a load.
const (
	maxSources = 10_000
	maxSeries  = 1_000_000
	maxBatch   = 1_000_000
	maxCallers = 256
	maxPoints  = 1_000_000_000_000
	maxRate    = 1_000_000_000
	// maxGroups is the maximum number of requests for one point of every series. It bounds
	// the number of checkpoints.
	maxGroups = 10_000
)

// Defaults and internal limits.
const (
	defaultInterval = time.Second
	// watchers is the number of requests whose freshness is measured concurrently. If all
	// watchers are busy, a request's freshness is not measured, because a wait that begins
	// late would be wrong.
	watchers = 64
	// requestRetryTimeout bounds the retries of a request that fails for a transient reason.
	requestRetryTimeout = time.Minute
	// defaultWaitTimeout bounds the wait for the last points to be visible.
	defaultWaitTimeout = 2 * time.Minute
	// gracePeriod bounds the requests in flight when the load is interrupted, and the wait
	// for their points after that.
	gracePeriod = 10 * time.Second
)

// Plan describes the load that a fleet sends.
type Plan struct {
	Points   int64     // approximate, because requests are full
	Batch    int       // approximate points per request: the same number of each series
	Callers  int       // concurrent requests
	Rate     float64   // points per second; 0: as fast as the server accepts them
	Format   Format    // default: series
	Values   Values    // default: gauge
	Start    time.Time // of the first point; zero: chosen so that the last point is recent
	Interval time.Duration
	// WaitTimeout bounds the wait for the last points to be visible after all requests are
	// answered; default: two minutes.
	WaitTimeout time.Duration
	// Prepared encodes all bodies before the clock starts, so that encoding takes no CPU time
	// from a server on the same machine. All bodies are kept in memory.
	Prepared bool
	// SkipFreshness disables the measurement of freshness: no queries are sent before all points
	// are sent.
	SkipFreshness bool
	Started       func() // called when the clock starts; may be nil
	// Progress is called each second with the progress of the load; may be nil.
	Progress func(Progress)
}

// Progress is the progress of a load.
type Progress struct {
	Elapsed  time.Duration
	Accepted int64
	Refusals int64
	Waiting  bool // all points are sent; the run waits for visibility
}

// Check returns an error if the plan is out of bounds for the number of series. Each line
// of the error begins with the field in lower case.
func (p Plan) Check(series int) error {
	_, err := p.complete(series)
	return err
}

// complete returns the plan with its defaults, or an error if it is out of bounds.
func (p Plan) complete(series int) (Plan, error) {
	p.Interval, p.WaitTimeout = cmp.Or(p.Interval, defaultInterval), cmp.Or(p.WaitTimeout, defaultWaitTimeout)
	p.Format, p.Values = cmp.Or(p.Format, FormatSeries), cmp.Or(p.Values, ValuesGauge)
	err := errors.Join(
		checkRange("points", p.Points, 1, maxPoints),
		checkRange("batch", p.Batch, 1, maxBatch),
		checkRange("callers", p.Callers, 1, maxCallers),
		p.Format.check(), p.Values.check(),
	)
	if p.Rate != 0 && (math.IsNaN(p.Rate) || p.Rate < 1 || p.Rate > maxRate) {
		err = errors.Join(err, fmt.Errorf("rate must be 0 (no limit) or from 1 to %d", maxRate))
	}
	if p.Interval < time.Millisecond || p.Interval%time.Millisecond != 0 {
		err = errors.Join(err, errors.New("interval must be whole milliseconds"))
	}
	if err != nil {
		return p, err
	}
	if groups := newLayout(series, p.Batch).groups; groups > maxGroups {
		return p, fmt.Errorf("batch must be at least %d for %d series", (series+maxGroups-1)/maxGroups, series)
	}
	if p.steps(series) > int64(math.MaxInt64)/int64(p.Interval) {
		return p, p.tooManyPoints()
	}
	if p.Start.IsZero() {
		p.Start = time.Now().Add(-time.Duration(p.steps(series)) * p.Interval).Truncate(p.Interval)
	}
	if p.Start.Before(time.Unix(0, 0)) {
		return p, p.tooManyPoints()
	}
	return p, nil
}

func (p Plan) tooManyPoints() error {
	return fmt.Errorf(
		"points must be fewer, or have more series: at one per series every %s they would begin before 1970", p.Interval,
	)
}

// steps returns the number of timestamps of each series.
func (p Plan) steps(series int) int64 {
	l := newLayout(series, p.Batch)
	cycles := (l.requests(p.Points) + int64(l.groups) - 1) / int64(l.groups)
	return cycles * int64(l.points)
}

func checkRange[N int | int64](name string, value, minimum, maximum N) error {
	if value < minimum || value > maximum {
		return fmt.Errorf("%s must be from %d to %d", name, minimum, maximum)
	}
	return nil
}

// layout distributes series and their points over requests. A request contains a group of
// series with the same number of points each, and the next request the next group. After
// the last group the first follows again, with later timestamps.
type layout struct {
	series int // all
	width  int // series per request
	points int // points per series and request
	groups int
}

func newLayout(series, batch int) layout {
	width := min(series, batch)
	return layout{series: series, width: width, points: batch / width, groups: (series + width - 1) / width}
}

// requests returns the number of requests for approximately this number of points.
func (l layout) requests(points int64) int64 {
	cycle := int64(l.series) * int64(l.points) // the points of one request of each group
	cycles, remainder := points/cycle, points%cycle
	size := int64(l.width) * int64(l.points)
	return cycles*int64(l.groups) + (remainder+size-1)/size
}

// requestSpec describes the points of one request.
type requestSpec struct {
	first, end int   // series
	step       int64 // of the first point, from the plan's start
	points     int   // of each series
}

func (s requestSpec) size() int64 { return int64(s.end-s.first) * int64(s.points) }

// request returns request number n and its group.
func (l layout) request(n int64) (group int, s requestSpec) {
	group = int(n % int64(l.groups))
	first := group * l.width
	return group, requestSpec{
		first: first, end: min(first+l.width, l.series),
		step: n / int64(l.groups) * int64(l.points), points: l.points,
	}
}
