package ratelimit

import (
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

const attemptsWindow = time.Minute

// Attempts counts the failed authentications of addresses, by the minute, in this
// process. It is asked when a key was found to be none, so it never refuses a valid
// one: it only says when to stop trying.
type Attempts struct{ counter *Counter } // nil: there is no limit

// NewAttempts creates one that allows so many failures a minute; 0: any number.
func NewAttempts(limit int, registerer prometheus.Registerer) *Attempts {
	a := &Attempts{}
	if limit > 0 {
		a.counter = NewCounter(limit, attemptsWindow)
	}
	promauto.With(registerer).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "livegraph_auth_failing_addresses",
		Help: "Addresses (of IPv6: networks of 64 bits) from which authentications failed in this minute; told apart up to " +
			"some 50,000.",
	}, func() float64 {
		if a.counter == nil {
			return 0
		}
		return float64(a.counter.Callers())
	})
	return a
}

// Failed counts a failed authentication from an address at a time. Above the limit it
// gives how long it is to the end of the minute, else 0.
func (a *Attempts) Failed(ip netip.Addr, now time.Time) (wait time.Duration) {
	if a.counter == nil {
		return 0
	}
	return a.counter.Take(Network(ip).String(), now)
}
