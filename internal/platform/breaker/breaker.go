// Package breaker implements a circuit breaker: after repeated failures, a service is not
// called for a while, so that callers that can work without it do not wait.
package breaker

import (
	"sync"
	"time"
)

const (
	// maxFailures is the number of consecutive failures that opens the breaker. A service
	// that is slow only for a moment is still called.
	maxFailures = 3
	// retryInterval is the interval at which an open breaker admits a call.
	retryInterval = 500 * time.Millisecond
)

// Breaker counts failures of calls. While it is open, it admits one call per interval to
// retry, so that the other callers do not wait. The zero value is closed. It is safe for
// concurrent use.
type Breaker struct {
	mu       sync.Mutex
	failures int // consecutive
	nextTry  time.Time
}

// Allow reports whether a call may be made. The caller reports the result with Failed or
// Answered, or with neither if it gave up for its own reason.
func (b *Breaker) Allow() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < maxFailures {
		return true
	}
	now := time.Now()
	if now.Before(b.nextTry) {
		return false
	}
	b.nextTry = now.Add(retryInterval)
	return true
}

// RecordFailure records a failure. It reports whether this failure opens the breaker.
func (b *Breaker) RecordFailure() (opened bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures++
	if b.failures >= maxFailures {
		b.nextTry = time.Now().Add(retryInterval)
	}
	return b.failures == maxFailures
}

// RecordSuccess records a success. It reports whether this closes the breaker.
func (b *Breaker) RecordSuccess() (closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	closed = b.failures >= maxFailures
	b.failures = 0
	return closed
}
