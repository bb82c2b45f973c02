package ratelimit

import (
	"net/netip"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	// refusalBurst is how many seconds' worth of refusals may come at once.
	refusalBurst = 60
	// addressShare is how many keys' worth of refusals an address has: several keys may be
	// used behind it.
	addressShare = 4
	// refusalSlots is how many keys, and addresses, are told apart.
	refusalSlots = 1 << 14
)

// Refusals reports whether a use of a key that no plan counts is one of the few that are
// worth their own record: a token bucket for each key and each address, in this
// process. It refuses nothing itself.
type Refusals struct {
	rate float64 // a second and key; 0: any number

	mu        sync.Mutex
	keys      *table[bucket]
	addresses *table[bucket]
}

// bucket is what was taken of the tokens that come at a steady rate.
type bucket struct {
	used float64
	at   time.Time
}

// NewRefusals returns one that lets so many a second through for each key; 0: all.
func NewRefusals(perSecond int) *Refusals {
	return &Refusals{
		rate: float64(perSecond), keys: newTable[bucket](refusalSlots), addresses: newTable[bucket](refusalSlots),
	}
}

// Take reports whether there is a token for the key and one for the address, and takes
// both then.
func (r *Refusals) Take(key uuid.UUID, ip netip.Addr, now time.Time) bool {
	if r.rate <= 0 {
		return true
	}
	network := Network(ip).As16()
	r.mu.Lock()
	defer r.mu.Unlock()
	k, a := r.keys.of(key[:]), r.addresses.of(network[:])
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
	if passed := now.Sub(b.at).Seconds(); passed > 0 {
		b.used, b.at = max(b.used-passed*rate, 0), now
	}
}
