package ratelimit

import (
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

const attemptsWindow = time.Minute

// Attempts counts the failed authentications of addresses per minute in this process. It
// is used only after a key was found to be invalid, so it never refuses a valid key.
type Attempts struct{ counter *Counter } // nil: no limit

// NewAttempts creates an Attempts that allows limit failures per minute; 0 means no limit.
func NewAttempts(limit int, registerer prometheus.Registerer) *Attempts {
	a := &Attempts{}
	if limit > 0 {
		a.counter = NewCounter(limit, attemptsWindow)
	}
	promauto.With(registerer).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "livegraph_auth_failing_addresses",
		Help: "Number of addresses (for IPv6, /64 networks) with failed authentications in the current minute. Up to about " +
			"50,000 addresses are distinguished.",
	}, func() float64 {
		if a.counter == nil {
			return 0
		}
		return float64(a.counter.Callers())
	})
	return a
}

// Failed counts a failed authentication from an address and returns 0. If the limit is
// reached, it returns the time until the end of the minute.
func (a *Attempts) Failed(ip netip.Addr, now time.Time) (wait time.Duration) {
	if a.counter == nil {
		return 0
	}
	return a.counter.Take(Network(ip).String(), now)
}
