package ratelimit

import (
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

const (
	attemptsWindow = time.Minute
	// maxAddresses bounds how many are told apart in a minute; all further ones count
	// as one.
	maxAddresses = 50_000
	// networkBits are what of an address of IPv6 is one subscriber's.
	networkBits = 64
)

// Attempts counts the failed authentications of addresses, by the minute, in this
// process. It is asked when a key was found to be none, so it never refuses a valid
// one: it only says when to stop trying.
type Attempts struct {
	limit int // a minute and address; 0: none

	mu     sync.Mutex
	window int64
	counts map[netip.Addr]int
}

// NewAttempts creates one that allows so many failures a minute; 0: any number.
func NewAttempts(limit int, registerer prometheus.Registerer) *Attempts {
	a := &Attempts{limit: limit, counts: map[netip.Addr]int{}}
	promauto.With(registerer).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "livegraph_auth_failing_addresses",
		Help: "Addresses (of IPv6: networks of 64 bits) from which authentications failed in this minute; told apart up to " +
			"50,000.",
	}, func() float64 {
		a.mu.Lock()
		defer a.mu.Unlock()
		return float64(len(a.counts))
	})
	return a
}

// Failed counts a failed authentication from an address at a time. Above the limit it
// gives how long it is to the end of the minute, else 0.
func (a *Attempts) Failed(ip netip.Addr, now time.Time) (wait time.Duration) {
	if a.limit <= 0 {
		return 0
	}
	network := Network(ip)
	a.mu.Lock()
	defer a.mu.Unlock()
	if window := numberOf(now, attemptsWindow); window != a.window {
		a.window = window
		clear(a.counts)
	}
	if _, known := a.counts[network]; !known && len(a.counts) >= maxAddresses {
		network = netip.Addr{}
	}
	if a.counts[network] >= a.limit {
		return start(a.window+1, attemptsWindow).Sub(now)
	}
	a.counts[network]++
	return 0
}

// Network returns what is one caller's: an address of IPv4, a network of IPv6.
func Network(ip netip.Addr) netip.Addr {
	ip = ip.Unmap()
	if !ip.Is6() {
		return ip
	}
	network, err := ip.WithZone("").Prefix(networkBits)
	if err != nil {
		return netip.Addr{}
	}
	return network.Addr()
}
