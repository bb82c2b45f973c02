// Package ports reserves addresses for the servers that tests start.
package ports

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are from firstPort up to, not including, endPort: below those of outgoing connections
// and of the embedded engines, so that no other process uses one while its server restarts.
const firstPort, endPort, maxTries = 10000, 15000, 1000

// Free returns an unused address, host:port, on the loopback interface. No other call on this
// machine returns it until release is called or the process ends. It is safe to call release
// more than once.
func Free() (address string, release func(), err error) {
	for range maxTries {
		port := strconv.Itoa(firstPort + rand.IntN(endPort-firstPort))
		claim, err := net.Listen("unix", "@livegraph-test-port-"+port)
		if err != nil {
			continue // reserved by another call
		}
		address := net.JoinHostPort("127.0.0.1", port)
		if l, err := net.Listen("tcp", address); err == nil {
			return address, func() { _ = claim.Close() }, l.Close()
		}
		_ = claim.Close()
	}
	return "", nil, errors.New("no free port was found")
}
