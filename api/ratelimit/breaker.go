package ratelimit

import (
	"errors"
	"sync"
	"time"
)

const (
	// tolerated is how many calls may fail one after the other until Redis is left
	// alone: one that is slow for a moment should go on counting.
	tolerated = 3
	// pause is how long it then is, until the next request tries it.
	pause = 500 * time.Millisecond
)

// errLate says that two answers came, but later than the asker waits.
var errLate = errors.New("the clock of Redis is ahead of what it just said")

// breaker leaves Redis alone while it does not answer, but for one request at a time
// that tries, so that the others need not wait for it.
type breaker struct {
	mu       sync.Mutex
	failures int // one after the other
	next     time.Time
}

// admits reports whether a request may ask Redis.
func (b *breaker) admits() bool {
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

// failed notes a failure; true: it is the one that opens the breaker.
func (b *breaker) failed() (opened bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures++
	if b.failures >= tolerated {
		b.next = time.Now().Add(pause)
	}
	return b.failures == tolerated
}

// answered notes an answer; true: it closes the breaker.
func (b *breaker) answered() (closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	closed = b.failures >= tolerated
	b.failures = 0
	return closed
}
