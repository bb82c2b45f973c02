// Package load makes a measured load of points on a running server, through the
// public interface alone: what it measures is what a client sees.
//
// A [Fleet] is what sends: sources with their series, made for the purpose. Its
// Run sends points of them as a [Plan] says, as fast as they are taken or at a
// fixed rate, and measures three things: how fast points are accepted (the log
// has them), how fast they are visible (a query finds them), and for single
// requests the time to the answer (latency) and from the answer to visibility
// (freshness).
//
// At a fixed rate requests have a time at which they are due, and latency counts
// from then: a server that stalls delays what is sent after the stall, and that is
// the server's doing too (otherwise the measurement would be kindest to those who
// stall longest).
//
// The package owns the shape of the load, the measurement and its bounds. Who may
// write where, and what is printed, is the caller's.
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
	mostSources = 10_000
	mostSeries  = 1_000_000
	mostBatch   = 1_000_000
	mostCallers = 256
	mostPoints  = 1_000_000_000_000
	mostRate    = 1_000_000_000
	// mostGroups is how many requests it may take to have sent a point of every
	// series: so many checkpoints are kept.
	mostGroups = 10_000
)

// Defaults of what is seldom chosen.
const (
	defaultInterval = time.Second
	// watchers is how many requests' freshness is measured at a time. When all are
	// busy, that of a request is not measured: a wait that begins late says nothing.
	watchers = 64
	// requestPatience is how long a request is tried that the server refuses for a
	// passing reason.
	requestPatience = time.Minute
	// defaultPatience bounds the wait for the last points to be visible.
	defaultPatience = 2 * time.Minute
	// grace is what requests in flight may take when the load is interrupted, and
	// then again what the wait for their points may take.
	grace = 10 * time.Second
)

// Plan says what a fleet sends.
type Plan struct {
	Points   int64     // about so many: requests are whole
	Batch    int       // points a request, about: as many of each series
	Callers  int       // requests at a time
	Rate     float64   // points a second; 0: as fast as they are taken
	Format   Format    // default: series
	Values   Values    // default: gauge
	Start    time.Time // of the first point; zero: so that the last is a moment old
	Interval time.Duration
	// Patience is how long the wait for the last points to be visible may take, once
	// all are answered; default: two minutes.
	Patience time.Duration
	// Prepared makes all bodies before the clock starts, so that making them takes
	// nothing from the server beside it. They are all in memory then.
	Prepared bool
	// Unwatched leaves freshness out: nothing is asked of the server before all is sent.
	Unwatched bool
	Started   func() // called when the clock starts; may be nil
	// Progress is told how far the load is, each second; may be nil.
	Progress func(Progress)
}

// Progress is how far a load is.
type Progress struct {
	Elapsed  time.Duration
	Accepted int64
	Refusals int64
	Waiting  bool // all is sent; only visibility is waited for
}

// Check refuses a plan for so many series that is out of bounds. Each line of the
// error begins with the field in lower case.
func (p Plan) Check(series int) error {
	_, err := p.complete(series)
	return err
}

// complete returns the plan with its defaults, checked.
func (p Plan) complete(series int) (Plan, error) {
	p.Interval, p.Patience = cmp.Or(p.Interval, defaultInterval), cmp.Or(p.Patience, defaultPatience)
	p.Format, p.Values = cmp.Or(p.Format, FormatSeries), cmp.Or(p.Values, ValuesGauge)
	err := errors.Join(
		between("points", p.Points, 1, mostPoints),
		between("batch", p.Batch, 1, mostBatch),
		between("callers", p.Callers, 1, mostCallers),
		p.Format.check(), p.Values.check(),
	)
	if p.Rate != 0 && (math.IsNaN(p.Rate) || p.Rate < 1 || p.Rate > mostRate) {
		err = errors.Join(err, fmt.Errorf("rate must be 0 (no limit) or from 1 to %d", mostRate))
	}
	if p.Interval < time.Millisecond || p.Interval%time.Millisecond != 0 {
		err = errors.Join(err, errors.New("interval must be whole milliseconds"))
	}
	if err != nil {
		return p, err
	}
	if groups := newLayout(series, p.Batch).groups; groups > mostGroups {
		return p, fmt.Errorf("batch must be at least %d for %d series", (series+mostGroups-1)/mostGroups, series)
	}
	if p.steps(series) > int64(math.MaxInt64)/int64(p.Interval) {
		return p, p.tooMany()
	}
	if p.Start.IsZero() {
		p.Start = time.Now().Add(-time.Duration(p.steps(series)) * p.Interval).Truncate(p.Interval)
	}
	if p.Start.Before(time.Unix(0, 0)) {
		return p, p.tooMany()
	}
	return p, nil
}

func (p Plan) tooMany() error {
	return fmt.Errorf(
		"points must be fewer, or of more series: at one each %s they would reach back before 1970", p.Interval,
	)
}

// steps returns how many timestamps each series has.
func (p Plan) steps(series int) int64 {
	l := newLayout(series, p.Batch)
	cycles := (l.requests(p.Points) + int64(l.groups) - 1) / int64(l.groups)
	return cycles * int64(l.points)
}

func between[N int | int64](name string, value, least, most N) error {
	if value < least || value > most {
		return fmt.Errorf("%s must be from %d to %d", name, least, most)
	}
	return nil
}

// layout says how series and their points are laid out over requests. One request
// holds a group of series, with equally many points each; the next request holds
// the next group, and after the last comes the first again, later in time.
type layout struct {
	series int // all
	width  int // series a request
	points int // points of each of them
	groups int
}

func newLayout(series, batch int) layout {
	width := min(series, batch)
	return layout{series: series, width: width, points: batch / width, groups: (series + width - 1) / width}
}

// requests returns how many requests hold so many points, about.
func (l layout) requests(points int64) int64 {
	cycle := int64(l.series) * int64(l.points) // the points of one request of each group
	whole, rest := points/cycle, points%cycle
	size := int64(l.width) * int64(l.points)
	return whole*int64(l.groups) + (rest+size-1)/size
}

// slice is what one request holds.
type slice struct {
	first, end int   // series
	step       int64 // of the first point, from the plan's start
	points     int   // of each series
}

func (s slice) size() int64 { return int64(s.end-s.first) * int64(s.points) }

// request returns request number n.
func (l layout) request(n int64) (group int, s slice) {
	group = int(n % int64(l.groups))
	first := group * l.width
	return group, slice{
		first: first, end: min(first+l.width, l.series),
		step: n / int64(l.groups) * int64(l.points), points: l.points,
	}
}
