// Package ports gives addresses to the servers that tests start.
package ports

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are below those of outgoing connections and those of the embedded engines, so that
// nobody takes one while its server is unavailable between two starts.
const first, last, tries = 10000, 15000, 1000

// Free returns an address on the loopback interface, host:port, that nobody listens on, and
// that it gives to nobody else on this machine until release, which may come twice, or the end
// of the process.
func Free() (address string, release func(), err error) {
	for range tries {
		port := strconv.Itoa(first + rand.IntN(last-first))
		claim, err := net.Listen("unix", "@livegraph-test-port-"+port)
		if err != nil {
			continue // another's
		}
		address := net.JoinHostPort("127.0.0.1", port)
		if l, err := net.Listen("tcp", address); err == nil {
			return address, func() { _ = claim.Close() }, l.Close()
		}
		_ = claim.Close()
	}
	return "", nil, errors.New("no free port was found")
}
