package traffic

import (
	"slices"
	"sync"
	"time"
)

// Counts are what came of requests.
type Counts struct {
	ByStatus map[int]int // 0: no answer
	Unsent   int         // those that were due while too many were open
	times    []float32   // ms, of those that were accepted
}

// Sent is how many there were.
func (c *Counts) Sent() (n int) {
	for _, count := range c.ByStatus {
		n += count
	}
	return n
}

// Accepted is how many were answered 2xx.
func (c *Counts) Accepted() (n int) {
	for status, count := range c.ByStatus {
		if status/100 == 2 {
			n += count
		}
	}
	return n
}

// Took returns within how many ms a share of those was answered that were accepted; 0
// when there were none.
func (c *Counts) Took(share float64) float64 {
	if len(c.times) == 0 {
		return 0
	}
	slices.Sort(c.times)
	return float64(c.times[min(int(float64(len(c.times))*share), len(c.times)-1)])
}

func (c *Counts) add(status int, took time.Duration) {
	c.ByStatus[status]++
	if status/100 == 2 && took > 0 {
		c.times = append(c.times, float32(took.Seconds()*1000))
	}
}

func newCounts() *Counts { return &Counts{ByStatus: map[int]int{}} }

// tally counts: all since the beginning by kind, and all since it was looked at last.
type tally struct {
	mu     sync.Mutex
	kinds  map[string]*Counts
	latest *Counts
}

func (t *tally) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kinds, t.latest = map[string]*Counts{}, newCounts()
}

func (t *tally) add(kind string, status int, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kinds[kind] == nil {
		t.kinds[kind] = newCounts()
	}
	t.kinds[kind].add(status, took)
	t.latest.add(status, took)
}

func (t *tally) unsent() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.latest.Unsent++
}

// Latest returns what came of requests since it was asked last.
func (f *Traffic) Latest() *Counts {
	f.tally.mu.Lock()
	defer f.tally.mu.Unlock()
	latest := f.tally.latest
	f.tally.latest = newCounts()
	return latest
}

// ByKind returns what came of all, by kind. It is for when nothing is sent any more.
func (f *Traffic) ByKind() map[string]*Counts {
	f.tally.mu.Lock()
	defer f.tally.mu.Unlock()
	return f.tally.kinds
}
