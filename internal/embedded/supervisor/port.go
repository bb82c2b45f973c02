package supervisor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strconv"
	"syscall"
	"time"
)

// Ports are chosen below the range of ephemeral ports (32768 and up on Linux), so that
// the port of a crashed engine cannot be in use by an outgoing connection when the
// engine is restarted.
const (
	firstPort = 15000
	lastPort  = 32000
)

// portTimeout is how long a start waits for its port, which a process of a parent that
// has just died may still use.
const portTimeout = 3 * time.Second

// claimTimeout is how long a claim waits for the release of another one.
const claimTimeout = 500 * time.Millisecond

// MaxPortAttempts is the maximum number of ports that are tried for an engine.
const MaxPortAttempts = 20

// ErrPortTaken reports that the port of an engine is in use.
var ErrPortTaken = errors.New("its port is taken")

// PortClaim prevents other servers on this machine from choosing the same port before
// the engine listens on it. It is an abstract Unix socket, which the kernel removes when
// the process ends.
type PortClaim struct{ listener net.Listener }

// ClaimPort claims a free port. It returns ErrPortTaken if the port is in use.
func ClaimPort(ctx context.Context, port int) (*PortClaim, error) {
	listener, err := listenWithRetry("unix", "@livegraph-port-"+strconv.Itoa(port), claimTimeout)
	if err != nil {
		return nil, fmt.Errorf("port %d: %w: another livegraph uses it", port, ErrPortTaken)
	}
	if err := waitForPort(ctx, port); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return &PortClaim{listener}, nil
}

// Release allows other servers to choose the port. c may be nil.
func (c *PortClaim) Release() {
	if c != nil {
		_ = c.listener.Close()
	}
}

// waitForPort waits up to portTimeout until a port is free.
func waitForPort(ctx context.Context, port int) error {
	for deadline := time.Now().Add(portTimeout); ; time.Sleep(50 * time.Millisecond) {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return l.Close()
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return fmt.Errorf("port %d: %w: %w", port, ErrPortTaken, err)
		}
	}
}

// Listen listens on an address whose port is claimed. It retries for a short time if the address is
// in use.
func Listen(network, address string) (net.Listener, error) {
	return listenWithRetry(network, address, portTimeout)
}

// listenWithRetry listens on an address that was just found free or released. It retries while
// the address is in use, up to waitTimeout: a child that another goroutine is starting has a
// copy of the previous socket from its fork to its exec.
func listenWithRetry(network, address string, waitTimeout time.Duration) (net.Listener, error) {
	for deadline := time.Now().Add(waitTimeout); ; time.Sleep(5 * time.Millisecond) {
		l, err := net.Listen(network, address)
		if err == nil || !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(deadline) {
			return l, err
		}
	}
}

// RandomPort returns a random port, which may be in use.
func RandomPort() (int, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(lastPort-firstPort))
	if err != nil {
		return 0, fmt.Errorf("choosing a port: %w", err)
	}
	return firstPort + int(n.Int64()), nil
}
