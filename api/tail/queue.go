package tail

import (
	"sync"
	"sync/atomic"
)

// budget bounds the bytes of points that wait for readers, of all streams together.
type budget struct {
	limit int64
	used  atomic.Int64
}

// queue is what waits for one reader. The router puts in, the stream's goroutine
// takes out.
type queue struct {
	budget *budget // nil: who puts in waits by itself
	ready  chan struct{}

	mu      sync.Mutex
	waiting []Delivery
	held    int64  // bytes: of what waits, and of what was taken last
	taken   int64  // bytes of what was taken last
	dropped string // why; nothing is taken in any more
}

func newQueue(b *budget) *queue { return &queue{budget: b, ready: make(chan struct{}, 1)} }

// put adds a delivery, and reports whether that was the end of it: when the stream
// holds more than what is left for all. So one slow reader gets at most half of the
// room, two a third each, and there is always some left for those that keep up.
func (q *queue) put(d Delivery) (dropped bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.dropped != "" {
		return false
	}
	if q.budget != nil {
		if q.held+d.bytes > q.budget.limit-q.budget.used.Load() {
			q.drop(SlowReader)
			return true
		}
		q.budget.used.Add(d.bytes)
		q.held += d.bytes
	}
	q.waiting = append(q.waiting, d)
	q.signal()
	return false
}

// end drops the stream for another reason.
func (q *queue) end(reason string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.dropped == "" {
		q.drop(reason)
	}
}

func (q *queue) drop(reason string) {
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

// take returns all that waits, and why the stream is dropped, if it is. With the call
// the reader is done with what it took before.
func (q *queue) take() (list []Delivery, dropped string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.release(q.taken)
	q.taken = q.held
	list, q.waiting = q.waiting, nil
	return list, q.dropped
}

// drained reports whether nothing waits, and more may come.
func (q *queue) drained() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting) == 0 && q.dropped == ""
}

// close returns everything to the budget; nothing is accepted any more.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.release(q.held)
	q.taken, q.waiting = 0, nil
	if q.dropped == "" {
		q.dropped = "closed"
	}
}
