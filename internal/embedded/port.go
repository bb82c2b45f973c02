package embedded

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

// Ports are taken from below the range out of which the kernel hands ports to
// outgoing connections (32768 and up on Linux): a port that is free now cannot
// be somebody's outgoing connection when a crashed engine wants it back.
const (
	firstPort = 15000
	lastPort  = 32000
)

// portPatience is how long a start waits for its own port: a process that the
// last parent's death is just ending may still hold it.
const portPatience = 3 * time.Second

// claimPatience is how long a claim waits for one that is just being given up.
const claimPatience = 500 * time.Millisecond

// portChoices is how often an engine is given another port when its own is taken.
const portChoices = 20

// errPortTaken says that somebody else has an engine's port.
var errPortTaken = errors.New("its port is taken")

// portClaim keeps other servers on this machine from choosing the same port
// between the moment it is found free and the moment the engine listens on it.
// It is an abstract Unix socket, which goes when its process goes.
type portClaim struct{ listener net.Listener }

// claimPort claims a port that nobody listens on, and errPortTaken otherwise.
func claimPort(ctx context.Context, port int) (*portClaim, error) {
	listener, err := listenPatiently("unix", "@livegraph-port-"+strconv.Itoa(port), claimPatience)
	if err != nil {
		return nil, fmt.Errorf("port %d: %w: another livegraph uses it", port, errPortTaken)
	}
	if err := awaitPort(ctx, port); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return &portClaim{listener}, nil
}

func (c *portClaim) release() {
	if c != nil {
		_ = c.listener.Close()
	}
}

// awaitPort waits until nobody listens on a port, for a short time.
func awaitPort(ctx context.Context, port int) error {
	for deadline := time.Now().Add(portPatience); ; time.Sleep(50 * time.Millisecond) {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return l.Close()
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return fmt.Errorf("port %d: %w: %w", port, errPortTaken, err)
		}
	}
}

// listenPatiently listens on an address that has just been found free, or given up. A
// child that is being started by another goroutine holds a copy of the socket that looked,
// from its fork to its exec, and for that moment the address is taken.
func listenPatiently(network, address string, waitTimeout time.Duration) (net.Listener, error) {
	for deadline := time.Now().Add(waitTimeout); ; time.Sleep(5 * time.Millisecond) {
		l, err := net.Listen(network, address)
		if err == nil || !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(deadline) {
			return l, err
		}
	}
}

// somePort picks a port at random; whether it is free shows when it is claimed.
func somePort() (int, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(lastPort-firstPort))
	if err != nil {
		return 0, fmt.Errorf("choosing a port: %w", err)
	}
	return firstPort + int(n.Int64()), nil
}
