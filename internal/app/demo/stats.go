package demo

import (
	"slices"
	"sync"
	"time"
)

const (
	maxLatencies = 120 // number of durations for a percentile
	rateWindow   = 10 * time.Second
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

// stats contains the measurements of the demo's goroutines.
type stats struct {
	mu        sync.Mutex
	began     time.Time
	sent      int64
	rejected  int64
	retries   int64
	unsent    int64  // points that were given up
	refusal   string // the last one
	ingest    latencies
	freshness latencies
	arrivals  []arrival
	waiting   string // why an ingest is retried, "" when none is
	waitUntil time.Time
	readError string // why nothing could be read back, "" when it could
	latest    latestValues
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

// latestValues are the values that were read back last.
type latestValues struct {
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

// recordIngest counts an answered ingest.
func (s *stats) recordIngest(now time.Time, accepted, rejected int, took time.Duration) {
	s.update(func(s *stats) {
		s.sent += int64(accepted)
		s.rejected += int64(rejected)
		s.ingest.add(took)
		s.waiting = ""
		s.arrivals = append(s.arrivals, arrival{now, accepted})
		s.arrivals = slices.DeleteFunc(s.arrivals, func(a arrival) bool { return now.Sub(a.at) > rateWindow })
	})
}

// setLatest stores the values that were read back. It appends to the history of the CPU.
func (s *stats) setLatest(read latestValues) {
	s.update(func(s *stats) {
		cpu := s.latest.cpu
		if read.newest.After(s.latest.newest) {
			cpu = append(cpu, read.cpu...)
		} else {
			read.newest = s.latest.newest
		}
		read.cpu = cpu[max(0, len(cpu)-maxHistory):]
		s.latest, s.readError = read, ""
	})
}

// rate returns the points a second over the last seconds. The lock is held.
func (s *stats) rate(now time.Time) float64 {
	from, points := now.Add(-rateWindow), 0
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
		ingest: s.ingest.latency(), freshness: s.freshness.latency(), latest: s.latest, graph: s.graph,
		lagKnown: !s.latest.newest.IsZero(), lag: max(0, now.Sub(s.latest.newest)),
	}
	switch {
	case s.waiting != "":
		v.trouble, v.retryIn = s.waiting, max(0, s.waitUntil.Sub(now))
	case s.readError != "":
		v.trouble = "reading back: " + s.readError
	case s.refusal != "":
		v.trouble = "last refusal: " + s.refusal
	}
	v.latest.cpu = slices.Clone(s.latest.cpu) // the reader appends to it
	return v
}
