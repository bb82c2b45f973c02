package query

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

const (
	// targetLatency is how long admitted queries may take in the stores.
	targetLatency = 2 * time.Second
	// measureInterval is how often the limit is recomputed, while queries complete.
	measureInterval = 250 * time.Millisecond
	// rateSmoothing is the weight of the newest measurement in the moving average.
	rateSmoothing = 0.3
	// minAdmitted queries are always admitted: if so few are slow, the queries themselves
	// are expensive, and there is no overload.
	minAdmitted = 32
	maxAdmitted = 4096
)

// admission limits the concurrent queries in the stores. While there are many, the number of
// queries that complete in a second is the throughput of the stores, and the limit is the
// number of queries that complete within targetLatency. Further queries are refused
// immediately: admitting them would only lengthen the queue, without more throughput.
type admission struct {
	running, refused atomic.Int64
	limit            atomic.Int64

	mu            sync.Mutex
	measuredSince time.Time // start of the measurement
	completed     int       // number of queries since
	peak          int64     // maximum of running at a completion
	rate          float64   // completions a second under load; 0: there was no load
}

func newAdmission() *admission {
	a := &admission{}
	a.limit.Store(maxAdmitted)
	return a
}

// enter admits a query or returns an error. The caller of an admitted query must call leave.
func (a *admission) enter(now time.Time) error {
	running := a.running.Add(1)
	if running > a.limit.Load() {
		a.running.Add(-1)
		a.refused.Add(1)
		return errTooManyQueries()
	}
	if running == minAdmitted+1 { // the low rate before does not show the throughput
		a.mu.Lock()
		a.measuredSince, a.completed, a.peak = now, 0, running
		a.mu.Unlock()
	}
	return nil
}

// checkCapacity returns an Unavailable error when no further query would be admitted.
func (a *admission) checkCapacity() error {
	if a.running.Load() < a.limit.Load() {
		return nil
	}
	a.refused.Add(1)
	return errTooManyQueries()
}

func errTooManyQueries() error {
	return fault.New(fault.Unavailable, "Too many queries are running").After(time.Second)
}

// leave records the completion of an admitted query.
func (a *admission) leave(now time.Time) {
	running := a.running.Add(-1) + 1
	a.mu.Lock()
	defer a.mu.Unlock()
	a.completed++
	a.peak = max(a.peak, running)
	elapsed := now.Sub(a.measuredSince)
	if elapsed < measureInterval {
		return
	}
	a.limit.Store(a.nextLimit(float64(a.completed) / elapsed.Seconds()))
	a.measuredSince, a.completed, a.peak = now, 0, 0
}

// nextLimit returns the limit after a measurement of rate completions a second.
func (a *admission) nextLimit(rate float64) int64 {
	if a.peak <= minAdmitted {
		a.rate = 0
		return maxAdmitted
	}
	if a.rate > 0 {
		rate = a.rate + rateSmoothing*(rate-a.rate)
	}
	a.rate = rate
	return min(max(int64(rate*targetLatency.Seconds()), minAdmitted), maxAdmitted)
}
