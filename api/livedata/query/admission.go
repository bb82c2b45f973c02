package query

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

const (
	// admissionPatience is how long queries may be with the stores.
	admissionPatience = 2 * time.Second
	// admissionLook is how often the limit is set again, while queries are answered.
	admissionLook = 250 * time.Millisecond
	// admissionShare is how much the newest look counts beside those before it.
	admissionShare = 0.3
	// fewestAdmitted are always let in: so few may be slow for what they ask, not for those
	// before them.
	fewestAdmitted = 32
	mostAdmitted   = 4096
)

// admission bounds how many queries are with the stores at a time. While there are many, the
// stores do what they can, and what is answered in a second is what can be: then as many are
// let in as are answered within admissionPatience. Who comes beyond is refused at once: behind
// the others it would wait, and none would be answered sooner for it.
type admission struct {
	inside, refused atomic.Int64
	limit           atomic.Int64

	mu    sync.Mutex
	since time.Time // when the look began
	done  int       // answered since
	peak  int64     // most that were inside when one was answered
	rate  float64   // answered a second while there were many; 0: there were few
}

func newAdmission() *admission {
	a := &admission{}
	a.limit.Store(mostAdmitted)
	return a
}

// enter lets a query in, or says why not. Anyone who was let in leaves.
func (a *admission) enter(now time.Time) error {
	inside := a.inside.Add(1)
	if inside > a.limit.Load() {
		a.inside.Add(-1)
		a.refused.Add(1)
		return errTooManyQueries()
	}
	if inside == fewestAdmitted+1 { // how little was asked before says nothing of what can be answered
		a.mu.Lock()
		a.since, a.done, a.peak = now, 0, inside
		a.mu.Unlock()
	}
	return nil
}

// room refuses, as Unavailable, when no further query would be let in.
func (a *admission) room() error {
	if a.inside.Load() < a.limit.Load() {
		return nil
	}
	a.refused.Add(1)
	return errTooManyQueries()
}

func errTooManyQueries() error {
	return fault.New(fault.Unavailable, "Too many queries are running").After(time.Second)
}

// leave makes room for another.
func (a *admission) leave(now time.Time) {
	inside := a.inside.Add(-1) + 1
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done++
	a.peak = max(a.peak, inside)
	long := now.Sub(a.since)
	if long < admissionLook {
		return
	}
	a.limit.Store(a.next(float64(a.done) / long.Seconds()))
	a.since, a.done, a.peak = now, 0, 0
}

// next returns the limit that follows from a look in which so many a second were answered.
func (a *admission) next(rate float64) int64 {
	if a.peak <= fewestAdmitted {
		a.rate = 0
		return mostAdmitted
	}
	if a.rate > 0 {
		rate = a.rate + admissionShare*(rate-a.rate)
	}
	a.rate = rate
	return min(max(int64(rate*admissionPatience.Seconds()), fewestAdmitted), mostAdmitted)
}
