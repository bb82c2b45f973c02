package admin

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

// Attempts says how many logins may fail. The zero value is the default.
type Attempts struct {
	// PerAddress of one address (of IPv6: network of 64 bits) in AddressWindow; default 10
	// in 5 minutes.
	PerAddress    int
	AddressWindow time.Duration
	// PerName of one name in NameWindow, from wherever; default 50 in 15 minutes. An
	// address from which the name's last login came is not held up by them: else whoever
	// knows a name could keep its operator out.
	PerName    int
	NameWindow time.Duration
	// Kept is how many more an operator has in AddressWindow from the network of the last
	// login, when that address has none left; default 3. Behind a proxy that is not trusted
	// all callers have one address.
	Kept int
}

// Defaults of Attempts.
const (
	perAddress    = 10
	addressWindow = 5 * time.Minute
	perName       = 50
	nameWindow    = 15 * time.Minute
	keptAttempts  = 3
)

// buckets bounds the memory of a counter, whatever is sent: what is counted is spread
// over so many numbers by a hash that nobody can foretell. Two that meet in one share
// their attempts.
const buckets = 1 << 14

// counter counts attempts by the window, in this process.
type counter struct {
	limit  int
	window time.Duration
	seed   maphash.Seed

	mu     sync.Mutex
	number int64 // of the window that the counts are of
	counts [buckets]uint16
}

func newCounter(limit int, window time.Duration) *counter {
	return &counter{limit: limit, window: window, seed: maphash.MakeSeed()}
}

// take counts an attempt. Above the limit it does not, and gives how long it is to the
// next window.
func (c *counter) take(what string, now time.Time) (wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if number := now.UnixNano() / int64(c.window); number != c.number {
		c.number, c.counts = number, [buckets]uint16{}
	}
	count := c.of(what)
	if int(*count) >= c.limit {
		return time.Unix(0, (c.number+1)*int64(c.window)).Sub(now)
	}
	*count++
	return 0
}

// giveBack takes back an attempt that did not fail.
func (c *counter) giveBack(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if count := c.of(what); *count > 0 {
		*count--
	}
}

func (c *counter) of(what string) *uint16 {
	return &c.counts[maphash.String(c.seed, what)%buckets]
}

// network returns what of an address is one caller's.
func network(ip netip.Addr) netip.Addr {
	ip = ip.Unmap().WithZone("")
	if !ip.Is6() {
		return ip
	}
	prefix, err := ip.Prefix(64)
	if err != nil {
		return netip.Addr{}
	}
	return prefix.Addr()
}
