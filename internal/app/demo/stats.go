package demo

import (
	"slices"
	"sync"
	"time"
)

const (
	maxLatencies = 120 // of which a percentile is taken
	rateOver     = 10 * time.Second
	maxHistory   = 120 // values of the sparkline
)

// latencies are the last measured durations.
type latencies []time.Duration

func (l *latencies) add(d time.Duration) {
	*l = append(*l, d)
	*l = (*l)[max(0, len(*l)-maxLatencies):]
}

// latency is the last duration and the 95th percentile; known is false before the first.
type latency struct {
	last, p95 time.Duration
	known     bool
}

func (l latencies) latency() latency {
	if len(l) == 0 {
		return latency{}
	}
	sorted := slices.Sorted(slices.Values(l))
	return latency{last: l[len(l)-1], p95: sorted[(len(sorted)*95+99)/100-1], known: true} // nearest rank
}

// stats is what the demo's goroutines measured.
type stats struct {
	mu        sync.Mutex
	began     time.Time
	sent      int64
	rejected  int64
	retries   int64
	unsent    int64  // given up
	refusal   string // the last one
	ingest    latencies
	fresh     latencies
	arrivals  []arrival
	waiting   string // why an ingest is repeated, "" when none is
	waitUntil time.Time
	unread    string // why nothing could be read back, "" when it could
	shown     shown
	graph     graphSize
}

type graphSize struct {
	nodes, edges int
	changes      int64 // by this demo
}

type arrival struct {
	at     time.Time
	points int
}

// shown is what was read back last.
type shown struct {
	newest    time.Time // of all values; zero: nothing was read yet
	values    []value
	processes []program
	cpu       []float64 // percent, oldest first
}

type value struct {
	label  string
	unit   string
	number float64
}

type program struct {
	name     string
	cpu, rss float64
}

func (s *stats) update(change func(*stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// delivered counts an answered ingest.
func (s *stats) delivered(now time.Time, accepted, rejected int, took time.Duration) {
	s.update(func(s *stats) {
		s.sent += int64(accepted)
		s.rejected += int64(rejected)
		s.ingest.add(took)
		s.waiting = ""
		s.arrivals = append(s.arrivals, arrival{now, accepted})
		s.arrivals = slices.DeleteFunc(s.arrivals, func(a arrival) bool { return now.Sub(a.at) > rateOver })
	})
}

// show stores what was read back; the CPU's history continues.
func (s *stats) show(read shown) {
	s.update(func(s *stats) {
		cpu := s.shown.cpu
		if read.newest.After(s.shown.newest) {
			cpu = append(cpu, read.cpu...)
		} else {
			read.newest = s.shown.newest
		}
		read.cpu = cpu[max(0, len(cpu)-maxHistory):]
		s.shown, s.unread = read, ""
	})
}

// rate returns the points a second over the last seconds. The lock is held.
func (s *stats) rate(now time.Time) float64 {
	from, points := now.Add(-rateOver), 0
	if s.began.After(from) {
		from = s.began
	}
	for _, a := range s.arrivals {
		if a.at.After(from) {
			points += a.points
		}
	}
	return float64(points) / max(1, now.Sub(from).Seconds())
}

// snapshot returns the view of this moment.
func (s *stats) snapshot(now time.Time, address string, pending int, dropped int64) view {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := view{
		address: address, up: now.Sub(s.began), sent: s.sent, rate: s.rate(now), pending: pending,
		rejected: s.rejected, dropped: dropped + s.unsent, retries: s.retries,
		ingest: s.ingest.latency(), fresh: s.fresh.latency(), shown: s.shown, graph: s.graph,
		lagKnown: !s.shown.newest.IsZero(), lag: max(0, now.Sub(s.shown.newest)),
	}
	switch {
	case s.waiting != "":
		v.trouble, v.retryIn = s.waiting, max(0, s.waitUntil.Sub(now))
	case s.unread != "":
		v.trouble = "reading back: " + s.unread
	case s.refusal != "":
		v.trouble = "last refusal: " + s.refusal
	}
	v.shown.cpu = slices.Clone(s.shown.cpu) // the reader appends to it
	return v
}
