package ratelimit

import (
	"net/netip"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	// refusalBurst is the size of a bucket, in seconds of its rate.
	refusalBurst = 60
	// addressShare is the rate of an address relative to that of a key: several keys may be
	// used from one address.
	addressShare = 4
	// refusalSlots is the number of slots for keys, and for addresses.
	refusalSlots = 1 << 14
)

// Refusals limits the rate of records of requests that no plan counts. It has a token
// bucket for each key and each address in this process. It does not refuse requests.
type Refusals struct {
	rate float64 // per second and key; 0: no limit

	mu        sync.Mutex
	keys      *table[bucket]
	addresses *table[bucket]
}

// bucket is a token bucket.
type bucket struct {
	used float64
	last time.Time
}

// NewRefusals creates a Refusals that allows perSecond records per second for each key; 0
// means no limit.
func NewRefusals(perSecond int) *Refusals {
	return &Refusals{
		rate: float64(perSecond), keys: newTable[bucket](refusalSlots), addresses: newTable[bucket](refusalSlots),
	}
}

// Take takes a token of the key and one of the address and returns true. If one of them has
// no token left, it takes none and returns false.
func (r *Refusals) Take(key uuid.UUID, ip netip.Addr, now time.Time) bool {
	if r.rate <= 0 {
		return true
	}
	network := Network(ip).As16()
	r.mu.Lock()
	defer r.mu.Unlock()
	k, a := r.keys.slot(key[:]), r.addresses.slot(network[:])
	k.leak(r.rate, now)
	a.leak(addressShare*r.rate, now)
	if k.used+1 > refusalBurst*r.rate || a.used+1 > addressShare*refusalBurst*r.rate {
		return false
	}
	k.used++
	a.used++
	return true
}

func (b *bucket) leak(rate float64, now time.Time) {
	if elapsed := now.Sub(b.last).Seconds(); elapsed > 0 {
		b.used, b.last = max(b.used-elapsed*rate, 0), now
	}
}
