package promstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/schema"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

// WindowCall is a call of a function over the samples of a window, at the times of a range. Times and lengths
// are in milliseconds.
type WindowCall struct {
	Function string // one of WindowFunctions
	Start    int64  // first time
	Step     int64  // positive
	Count    int64  // number of times
	Length   int64  // of the window, which ends at the time before which Offset is, and does not contain its begin
	Offset   int64
	// NonCounter returns the annotation for a metric whose name is not that of a counter.
	NonCounter func(metric string) error
}

// ErrNoWindows means that the function must be computed from the samples.
var ErrNoWindows = errors.New("the function cannot be computed from windows")

const (
	// windowRows is how many times more samples are read as a stream than in memory.
	windowRows = 40
	// maxJoins is the maximum number of windows that are joined for a call, which takes about a second.
	maxJoins = 50_000_000
	// maxSpecials is the maximum number of special samples that are read, to find out that they are stale markers.
	maxSpecials = 100_000
)

// Windows returns the results of a call for the series that match all matchers, with a sample at each time:
// a stale marker if the window has no result. The points are read as a stream and never all in memory. The
// results are those of Prometheus' engine, except for the rounding of sums. The error is ErrNoWindows
// if they could differ otherwise.
func (q *Query) Windows(ctx context.Context, call *WindowCall, matchers []*labels.Matcher) (storage.SeriesSet, error) {
	list, err := q.selectSeries(ctx, matchers)
	if err != nil || len(list) == 0 {
		return newSeriesSet(nil), err
	}
	sortSeries(list) // by the labels with the name, which the results do not have
	numbers, err := q.onlyNumbers(ctx, call, list)
	if err != nil {
		return nil, err
	}
	results := int64(len(numbers)) * call.Count
	if results > int64(q.store.MaxSamples) {
		return nil, ErrNoWindows
	}
	share, err := q.store.Reserve(results)
	if err != nil {
		return nil, err
	}
	q.shares = append(q.shares, share)
	found, pieces, err := q.readWindows(ctx, call, numbers)
	if err != nil {
		return nil, err
	}
	return call.results(numbers, found, pieces)
}

// onlyNumbers returns the series of numbers. It returns ErrNoWindows if several have the same labels, or if a
// series has special samples that are not stale markers, which functions ignore.
func (q *Query) onlyNumbers(ctx context.Context, call *WindowCall, list []*series) (numbers []*series, err error) {
	var special []*series
	seen := map[uint64]bool{}
	for _, s := range list {
		if s.registered.Kind == pointblock.KindSpecial {
			special = append(special, s)
			continue
		}
		hash := s.labels.Hash()
		if seen[hash] {
			return nil, ErrNoWindows
		}
		seen[hash] = true
		numbers = append(numbers, s)
	}
	if len(special) == 0 {
		return numbers, nil
	}
	query, err := q.rawQuery(ctx, special, call.from(), call.to())
	if err != nil {
		return nil, err
	}
	query.Limit = maxSpecials
	found, more, err := q.store.Points.RawPoints(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("reading special samples: %w", err)
	}
	for _, points := range found {
		for _, text := range points.Columns[0].Strings {
			more = more || *text != pointblock.SpecialStale
		}
	}
	if more {
		return nil, ErrNoWindows
	}
	return numbers, nil
}

// from and to return the first and the last millisecond of all windows.
func (c *WindowCall) from() int64 { return c.Start - c.Offset - c.Length + 1 }
func (c *WindowCall) to() int64   { return c.Start - c.Offset + (c.Count-1)*c.Step }

// layout is how the windows of a call consist of pieces: each is the buckets that end at its time, and the
// second piece of the bucket before them, if its length is not a multiple of the step.
type layout struct {
	timeseries.Pieces
	buckets int64 // whole buckets of a window
	rest    bool
}

func (c *WindowCall) layout() layout {
	l := layout{buckets: c.Length / c.Step, rest: c.Length%c.Step != 0}
	l.Step, l.Split = c.Step, c.Step
	first := l.buckets
	if l.rest {
		l.Split = c.Step - c.Length%c.Step
		first++
	}
	l.Start = c.Start - c.Offset - first*c.Step
	l.LateOnly = l.buckets == 0
	return l
}

// readWindows reads the windows of the pieces of each series.
func (q *Query) readWindows(
	ctx context.Context, call *WindowCall, numbers []*series,
) (found map[uint64][]timeseries.PieceWindow, l layout, err error) {
	l = call.layout()
	if float64(call.Count)*float64(l.buckets+1)*2*float64(len(numbers)) > maxJoins { // float64: it may be huge
		return nil, l, ErrNoWindows
	}
	query, err := q.rawQuery(ctx, numbers, call.from(), call.to())
	if err != nil {
		return nil, l, err
	}
	found, err = q.store.Points.Windows(ctx, timeseries.WindowQuery{
		Series: query.Numbers, Range: query.Range, Pieces: l.Pieces, MaxRows: windowRows * int64(q.store.MaxSamples),
	})
	switch {
	case errors.Is(err, timeseries.ErrTooManyRows) || errors.Is(err, timeseries.ErrInexact):
		return nil, l, ErrNoWindows
	case err != nil:
		return nil, l, fmt.Errorf("reading windows: %w", err)
	}
	return found, l, nil
}

// results computes the function for each series and time.
func (c *WindowCall) results(
	numbers []*series, found map[uint64][]timeseries.PieceWindow, l layout,
) (storage.SeriesSet, error) {
	set := &windowSet{seriesSet: seriesSet{next: -1}}
	compute, names := windowFunctions[c.Function], map[uint64]bool{}
	for _, s := range numbers {
		pieces := found[s.registered.ID]
		if len(pieces) == 0 {
			continue
		}
		metric := s.labels.Get(model.MetricNameLabel)
		if c.Function != lastOverTime {
			s.labels = s.labels.DropReserved(schema.IsMetadataLabel)
		}
		hash := s.labels.Hash()
		if names[hash] {
			return nil, ErrNoWindows // the engine has an error for this
		}
		names[hash] = true
		some, err := c.fill(s, pieces, l, compute)
		if err != nil {
			return nil, err
		}
		if !some {
			continue
		}
		if set.list = append(set.list, s); c.needsCounter() && !isCounterName(metric) {
			set.annotations.Add(c.NonCounter(metric))
		}
	}
	return set, nil
}

// fill computes the samples of a series, and reports whether there are any results.
func (c *WindowCall) fill(
	s *series, pieces []timeseries.PieceWindow, l layout, compute windowFunction,
) (found bool, err error) {
	s.times, s.values = make([]int64, c.Count), make([]float64, c.Count)
	first := 0 // of the pieces that are in the window or after it
	for i := range c.Count {
		from := 2 * i
		if l.rest {
			from++ // the second piece of the bucket
		}
		end := 2 * (i + l.buckets)
		if l.rest {
			end += 2
		}
		for first < len(pieces) && pieces[first].Piece < from {
			first++
		}
		var w timeseries.Window
		for n := first; n < len(pieces) && pieces[n].Piece < end; n++ {
			w.Join(&pieces[n].Window)
		}
		s.times[i], s.values[i] = c.Start+i*c.Step, math.Float64frombits(value.StaleNaN)
		if w.Count == 0 {
			continue
		}
		end = s.times[i] - c.Offset
		if v, ok := compute(&w, end-c.Length, end); ok {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return false, ErrNoWindows // a sum that overflowed, which the engine computes in another way
			}
			s.values[i], found = v, true
		}
	}
	return found, nil
}

// needsCounter reports whether the function is for counters.
func (c *WindowCall) needsCounter() bool { return c.Function == "rate" || c.Function == "increase" }

// isCounterName reports whether a metric's name ends as those of counters do.
func isCounterName(metric string) bool {
	for _, suffix := range []string{"_total", "_sum", "_count", "_bucket"} {
		if strings.HasSuffix(metric, suffix) {
			return true
		}
	}
	return metric == ""
}

// windowSet is a set of results. It implements storage.SeriesSet.
type windowSet struct {
	seriesSet
	annotations annotations.Annotations
}

// Warnings implements storage.SeriesSet.
func (s *windowSet) Warnings() annotations.Annotations { return s.annotations }

// windowFunction computes a function of the window from one time, exclusive, to another, in milliseconds. It
// returns false if the window has no result.
type windowFunction func(w *timeseries.Window, from, to int64) (v float64, ok bool)

const lastOverTime = "last_over_time"

var windowFunctions = map[string]windowFunction{
	"sum_over_time":     of(func(w *timeseries.Window) float64 { return w.Total() }),
	"avg_over_time":     of(func(w *timeseries.Window) float64 { return w.Total() / float64(w.Count) }),
	"count_over_time":   of(func(w *timeseries.Window) float64 { return float64(w.Count) }),
	"min_over_time":     of(func(w *timeseries.Window) float64 { return w.Min }),
	"max_over_time":     of(func(w *timeseries.Window) float64 { return w.Max }),
	"present_over_time": of(func(*timeseries.Window) float64 { return 1 }),
	lastOverTime:        of(func(w *timeseries.Window) float64 { return w.Last }),
	"changes":           of(func(w *timeseries.Window) float64 { return float64(w.Changes) }),
	"resets":            of(func(w *timeseries.Window) float64 { return float64(w.Resets) }),
	"delta": func(w *timeseries.Window, from, to int64) (float64, bool) {
		return growth(w, from, to, false, 1)
	},
	"increase": func(w *timeseries.Window, from, to int64) (float64, bool) {
		return growth(w, from, to, true, 1)
	},
	"rate": func(w *timeseries.Window, from, to int64) (float64, bool) {
		return growth(w, from, to, true, (time.Duration(to-from) * time.Millisecond).Seconds())
	},
}

// IsWindowFunction reports whether a function can be computed from windows.
func IsWindowFunction(name string) bool { return windowFunctions[name] != nil }

func of(compute func(*timeseries.Window) float64) windowFunction {
	return func(w *timeseries.Window, _, _ int64) (float64, bool) { return compute(w), true }
}

// growth returns how much the samples grew, extrapolated to the ends of the window as Prometheus does: to an
// end from which the nearest sample is less than 1.1 times the average distance of samples, or else by half of
// that distance. A counter is not extrapolated below zero, and a lower sample is a reset. The result is per a
// number of seconds. The order of the operations is that of Prometheus, so that they round alike.
func growth(w *timeseries.Window, from, to int64, counter bool, per float64) (float64, bool) {
	if w.Count < 2 {
		return 0, false
	}
	grown := w.Last - w.First
	if counter {
		grown += w.Dropped
	}
	seconds := func(ms int64) float64 { return float64(ms) / 1000 }
	sampled := seconds(w.LastMS - w.FirstMS)
	distance := sampled / float64(w.Count-1)
	extrapolated := func(gap float64) float64 {
		if gap >= distance*1.1 {
			return distance / 2
		}
		return gap
	}
	before, after := extrapolated(seconds(w.FirstMS-from)), extrapolated(seconds(to-w.LastMS))
	if counter && grown > 0 && w.First >= 0 {
		before = min(before, sampled*(w.First/grown))
	}
	return grown * ((sampled + before + after) / sampled / per), true
}
