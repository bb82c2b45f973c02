package ratelimit

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

// counterSlots is how many callers a Counter can distinguish.
const counterSlots = 1 << 16

// table has a T for each caller, in bounded memory whatever is sent: callers are spread
// over its slots by a hash that nobody can foretell. Two that meet in one share it.
type table[T any] struct {
	seed  maphash.Seed
	slots []T
}

func newTable[T any](slots int) *table[T] {
	return &table[T]{seed: maphash.MakeSeed(), slots: make([]T, slots)}
}

func (t *table[T]) of(caller []byte) *T {
	return &t.slots[maphash.Bytes(t.seed, caller)%uint64(len(t.slots))]
}

// Counter counts what callers do, by the window, in this process.
type Counter struct {
	limit  int
	window time.Duration

	mu     sync.Mutex
	number int64 // of the window that the counts are of
	counts *table[uint32]
	seen   int // slots that are not 0
}

// NewCounter creates one that allows each caller so many in a window.
func NewCounter(limit int, window time.Duration) *Counter {
	return &Counter{limit: limit, window: window, counts: newTable[uint32](counterSlots)}
}

// Take counts one more. Above the limit it does not, and returns how long it is to the next
// window, else 0.
func (c *Counter) Take(caller string, now time.Time) (wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if number := numberOf(now, c.window); number != c.number {
		c.number, c.seen = number, 0
		clear(c.counts.slots)
	}
	count := c.counts.of([]byte(caller))
	if int(*count) >= c.limit {
		return start(c.number+1, c.window).Sub(now)
	}
	if *count == 0 {
		c.seen++
	}
	*count++
	return 0
}

// GiveBack takes one back.
func (c *Counter) GiveBack(caller string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	count := c.counts.of([]byte(caller))
	if *count == 0 {
		return
	}
	if *count--; *count == 0 {
		c.seen--
	}
}

// Callers returns how many callers are counted in the window of the last one.
func (c *Counter) Callers() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}

// networkBits are what of an address of IPv6 is one subscriber's.
const networkBits = 64

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
