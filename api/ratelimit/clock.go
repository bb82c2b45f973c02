package ratelimit

import (
	"sync/atomic"
	"time"
)

// remembered is for how long the clock of Redis is gone by without an answer: a
// machine that slept does not count the time in which it did.
const remembered = time.Minute

// clock tells the time by Redis' clock, as far as this process knows it, else by its
// own: so the windows of processes whose clocks differ begin together.
type clock struct{ seen atomic.Pointer[reading] }

// reading is what Redis' clock said at a time of the process.
type reading struct {
	redis time.Time
	here  time.Time // with the monotonic clock, which nobody sets
}

// set notes what Redis' clock said somewhere between two moments.
func (c *clock) set(at, began, ended time.Time) {
	c.seen.Store(&reading{redis: at, here: began.Add(ended.Sub(began) / 2)})
}

// now is the time.
func (c *clock) now() time.Time {
	now := time.Now()
	if at := c.on(now); !at.IsZero() {
		return at
	}
	return now
}

// on returns what Redis' clock says at a time of the process; the zero time: not known.
func (c *clock) on(here time.Time) time.Time {
	r := c.seen.Load()
	if r == nil {
		return time.Time{}
	}
	passed := here.Sub(r.here)
	if passed > remembered {
		return time.Time{}
	}
	return r.redis.Add(passed)
}
