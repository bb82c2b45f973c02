package ratelimit

import (
	"sync/atomic"
	"time"
)

// maxReadingAge is how long a reading of Redis' clock is used. It is limited because the
// monotonic clock does not advance while a machine sleeps.
const maxReadingAge = time.Minute

// clock returns the time of Redis' clock if this process knows it, or else of its own clock.
// So windows begin at the same time in processes whose clocks differ.
type clock struct{ last atomic.Pointer[reading] }

// reading is a time of Redis' clock and the local time at which it was read.
type reading struct {
	redis time.Time
	local time.Time // with the monotonic clock, which cannot be set
}

// set stores a time of Redis' clock that was read between start and end.
func (c *clock) set(redisTime, start, end time.Time) {
	c.last.Store(&reading{redis: redisTime, local: start.Add(end.Sub(start) / 2)})
}

// now returns the current time.
func (c *clock) now() time.Time {
	now := time.Now()
	if t := c.at(now); !t.IsZero() {
		return t
	}
	return now
}

// at returns the time of Redis' clock at a local time, or the zero time if it is unknown.
func (c *clock) at(local time.Time) time.Time {
	r := c.last.Load()
	if r == nil {
		return time.Time{}
	}
	elapsed := local.Sub(r.local)
	if elapsed > maxReadingAge {
		return time.Time{}
	}
	return r.redis.Add(elapsed)
}
