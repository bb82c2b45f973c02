// Package breaker holds a circuit breaker: what does not answer is left alone for a
// while, so that those who can do without it do not all wait.
package breaker

import (
	"sync"
	"time"
)

const (
	// tolerated is how many calls may fail one after the other until the breaker opens:
	// what is slow for a moment should go on being asked.
	tolerated = 3
	// pause is how long an open breaker then admits nobody, until the next call tries.
	pause = 500 * time.Millisecond
)

// Breaker counts failures of calls. While it is open it admits one call at a time that
// tries, so that the others need not wait. The zero value is closed. It is safe for
// concurrent use.
type Breaker struct {
	mu       sync.Mutex
	failures int // one after the other
	next     time.Time
}

// Admits reports whether a call may be made. The caller notes how it ended with Failed
// or Answered, or with neither when it was given up for its own reason.
func (b *Breaker) Admits() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < tolerated {
		return true
	}
	now := time.Now()
	if now.Before(b.next) {
		return false
	}
	b.next = now.Add(pause)
	return true
}

// Failed notes a failure; true: it is the one that opens the breaker.
func (b *Breaker) Failed() (opened bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures++
	if b.failures >= tolerated {
		b.next = time.Now().Add(pause)
	}
	return b.failures == tolerated
}

// Answered notes an answer; true: it closes the breaker.
func (b *Breaker) Answered() (closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	closed = b.failures >= tolerated
	b.failures = 0
	return closed
}
