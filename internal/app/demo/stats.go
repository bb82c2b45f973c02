package demo

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/livegraph/livegraph/internal/app/demo/mirror"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

const (
	// remembered is how many latencies a percentile is taken over.
	remembered = 120
	// rateOver is the time over which the rate is taken.
	rateOver = 10 * time.Second
	// mostArrivals bounds what is remembered for the rate, at any interval.
	mostArrivals = 256
	// mostHistory is how many values the sparkline can show.
	mostHistory = 120
)

// window holds the last latencies.
type window struct {
	values [remembered]time.Duration
	count  int
}

func (w *window) add(d time.Duration) {
	w.values[w.count%remembered] = d
	w.count++
}

// latency is what a window says; known is false before the first value.
type latency struct {
	last, p95 time.Duration
	known     bool
}

func (w *window) latency() latency {
	if w.count == 0 {
		return latency{}
	}
	held := slices.Clone(w.values[:min(w.count, remembered)])
	slices.Sort(held)
	return latency{
		last: w.values[(w.count-1)%remembered], known: true,
		p95: held[(len(held)*95+99)/100-1], // nearest rank
	}
}

// stats is what the demo knows of itself, shared by its goroutines.
type stats struct {
	mu        sync.Mutex
	began     time.Time
	sent      int64
	rejected  int64
	requests  int64
	retries   int64
	unsent    int64 // given up, at the end or because the server refused for good
	refusal   string
	ingest    window
	fresh     window
	arrivals  []arrival
	waiting   string // why an ingest is to be made again, "" when none is
	waitUntil time.Time
	unread    string // why nothing could be read back, "" when it could
	shown     shown
	graph     drawing
}

// drawing is what is known of the machine's part of the graph.
type drawing struct {
	nodes, edges int
	changes      int64 // that this demo made
}

type arrival struct {
	at     time.Time
	points int
}

// shown is what was last read back from the server.
type shown struct {
	newest    time.Time // of all values; zero: nothing read yet
	values    []value
	processes []processRow
	cpu       []float64 // percent, oldest first
	cpuTimes  []time.Time
}

// value is one latest value, as the view shows it.
type value struct {
	label  string
	unit   string
	number float64
}

type processRow struct {
	name     string
	cpu, rss float64
}

// delivered counts an answered ingest.
func (s *stats) delivered(now time.Time, accepted, rejected int, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent += int64(accepted)
	s.rejected += int64(rejected)
	s.requests++
	s.ingest.add(took)
	s.waiting = ""
	s.arrivals = append(s.arrivals, arrival{now, accepted})
	if len(s.arrivals) > mostArrivals {
		s.arrivals = slices.Delete(s.arrivals, 0, len(s.arrivals)-mostArrivals)
	}
}

// refused counts points that the server will not have.
func (s *stats) refused(rejected, unsent int, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rejected += int64(rejected)
	s.unsent += int64(unsent)
	if why != "" {
		s.refusal = why
	}
}

// wait notes that a call is to be made again, and why.
func (s *stats) wait(now time.Time, err error, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retries++
	s.waiting, s.waitUntil = publicText(err), now.Add(d)
}

// visible notes how long after its answer an ingest could be read.
func (s *stats) visible(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh.add(d)
}

// drew counts what was done to the graph.
func (s *stats) drew(r mirror.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.graph.nodes, s.graph.edges = r.Nodes, r.Edges
	s.graph.changes += int64(r.Applied)
}

// unreadable notes why the latest values could not be read back.
func (s *stats) unreadable(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unread = why
}

// show keeps what was read back; the CPU's history goes on from the last.
func (s *stats) show(read shown) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cpu, times := s.shown.cpu, s.shown.cpuTimes
	for i, at := range read.cpuTimes {
		if len(times) == 0 || at.After(times[len(times)-1]) {
			cpu, times = append(cpu, read.cpu[i]), append(times, at)
		}
	}
	if over := len(cpu) - mostHistory; over > 0 {
		cpu, times = slices.Delete(cpu, 0, over), slices.Delete(times, 0, over)
	}
	read.cpu, read.cpuTimes = cpu, times
	if read.newest.Before(s.shown.newest) {
		read.newest = s.shown.newest
	}
	s.shown, s.unread = read, ""
}

// rate is the points a second over the last seconds. The lock is held.
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
	if over := now.Sub(from).Seconds(); over >= 1 {
		return float64(points) / over
	}
	return float64(points)
}

// publicText is what a person is told of an error: for the server's answers
// their message alone.
func publicText(err error) string {
	var fe *fault.Error
	if errors.As(err, &fe) {
		return fe.Message
	}
	return err.Error()
}
