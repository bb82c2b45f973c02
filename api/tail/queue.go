package tail

import (
	"sync"
	"sync/atomic"
)

// budget limits the bytes of queued points of all streams together.
type budget struct {
	limit int64
	used  atomic.Int64
}

// queue contains the deliveries that wait for one reader. The router adds deliveries, and the
// stream's goroutine removes them.
type queue struct {
	budget *budget // nil: unlimited
	ready  chan struct{}

	mu      sync.Mutex
	waiting []Delivery
	held    int64  // bytes of the waiting deliveries and of those taken last
	taken   int64  // bytes of the deliveries taken last
	dropped string // reason; no more deliveries are accepted
}

func newQueue(b *budget) *queue { return &queue{budget: b, ready: make(chan struct{}, 1)} }

// put adds a delivery. If the queue would hold more bytes than remain in the budget, put
// drops the stream instead and returns true. So one slow reader gets at most half of the
// budget, two get a third each, and some always remains for readers that keep up.
func (q *queue) put(d Delivery) (dropped bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.dropped != "" {
		return false
	}
	if q.budget != nil {
		if q.held+d.bytes > q.budget.limit-q.budget.used.Load() {
			q.dropLocked(SlowReader)
			return true
		}
		q.budget.used.Add(d.bytes)
		q.held += d.bytes
	}
	q.waiting = append(q.waiting, d)
	q.signal()
	return false
}

// drop drops the stream for the given reason.
func (q *queue) drop(reason string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.dropped == "" {
		q.dropLocked(reason)
	}
}

func (q *queue) dropLocked(reason string) {
	q.dropped, q.waiting = reason, nil
	q.release(q.held - q.taken)
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// release returns bytes to the budget.
func (q *queue) release(bytes int64) {
	if q.budget != nil {
		q.budget.used.Add(-bytes)
		q.held -= bytes
	}
}

// take returns all waiting deliveries, and the reason if the stream is dropped. It releases
// the deliveries of the previous call.
func (q *queue) take() (list []Delivery, dropped string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.release(q.taken)
	q.taken = q.held
	list, q.waiting = q.waiting, nil
	return list, q.dropped
}

// drained reports whether the queue is empty and the stream is not dropped.
func (q *queue) drained() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting) == 0 && q.dropped == ""
}

// close returns all bytes to the budget. The queue then accepts no more deliveries.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.release(q.held)
	q.taken, q.waiting = 0, nil
	if q.dropped == "" {
		q.dropped = "closed"
	}
}
