package ratelimit

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

// counterSlots is the number of slots of a Counter, and so about the number of callers that
// it can distinguish.
const counterSlots = 1 << 16

// table has a T for each caller in bounded memory. A hash with a random seed, which clients
// cannot predict, maps callers to slots. Callers with the same slot share its T.
type table[T any] struct {
	seed  maphash.Seed
	slots []T
}

func newTable[T any](slots int) *table[T] {
	return &table[T]{seed: maphash.MakeSeed(), slots: make([]T, slots)}
}

func (t *table[T]) slot(caller []byte) *T {
	return &t.slots[maphash.Bytes(t.seed, caller)%uint64(len(t.slots))]
}

// Counter counts the actions of callers per window in this process.
type Counter struct {
	limit  int
	window time.Duration

	mu     sync.Mutex
	number int64 // number of the window of counts
	counts *table[uint32]
	used   int // slots that are not 0
}

// NewCounter creates a Counter that allows each caller limit actions per window.
func NewCounter(limit int, window time.Duration) *Counter {
	return &Counter{limit: limit, window: window, counts: newTable[uint32](counterSlots)}
}

// Take counts an action and returns 0. If the limit is reached, it does not count the action
// and returns the time until the next window.
func (c *Counter) Take(caller string, now time.Time) (wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if number := windowNumber(now, c.window); number != c.number {
		c.number, c.used = number, 0
		clear(c.counts.slots)
	}
	count := c.counts.slot([]byte(caller))
	if int(*count) >= c.limit {
		return windowStart(c.number+1, c.window).Sub(now)
	}
	if *count == 0 {
		c.used++
	}
	*count++
	return 0
}

// Undo undoes one Take.
func (c *Counter) Undo(caller string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	count := c.counts.slot([]byte(caller))
	if *count == 0 {
		return
	}
	if *count--; *count == 0 {
		c.used--
	}
}

// Callers returns the number of callers in the window of the last action.
func (c *Counter) Callers() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}

// networkBits is the prefix length of an IPv6 network that counts as one caller.
const networkBits = 64

// Network returns the address that identifies a caller: an IPv4 address, or the network of an
// IPv6 address.
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
