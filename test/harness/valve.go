package harness

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Valve is a way to a server that can be cut and joined again, while the server and
// other ways to it stay.
type Valve struct {
	t        testing.TB
	target   string
	listener net.Listener
	work     sync.WaitGroup

	mu    sync.Mutex
	shut  bool
	conns map[net.Conn]struct{} // both ends of each
}

// NewValve opens a way to the host and port of an engine's URL, and gives the URL that
// leads through it. It ends with the test.
func NewValve(t testing.TB, engine string) (v *Valve, through string) {
	t.Helper()
	u, err := url.Parse(engine)
	require.NoError(t, err)
	v = &Valve{t: t, target: u.Host, conns: map[net.Conn]struct{}{}}
	v.listener, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	v.work.Go(v.accept)
	t.Cleanup(func() {
		_ = v.listener.Close()
		v.Cut()
		v.work.Wait()
	})
	u.Host = v.listener.Addr().String()
	return v, u.String()
}

// Cut ends the connections and refuses new ones.
func (v *Valve) Cut() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shut = true
	for conn := range v.conns {
		_ = conn.Close()
	}
}

// Join lets connections through again.
func (v *Valve) Join() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shut = false
}

func (v *Valve) accept() {
	for {
		near, err := v.listener.Accept()
		if err != nil {
			return
		}
		v.work.Go(func() { v.carry(near) })
	}
}

// carry carries bytes both ways until either end closes.
func (v *Valve) carry(near net.Conn) {
	defer v.release(near)
	if !v.hold(near) {
		return
	}
	far, err := net.Dial("tcp", v.target)
	if err != nil {
		return
	}
	defer v.release(far)
	if !v.hold(far) {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(near, far)
		_ = near.Close()
	})
	_, _ = io.Copy(far, near)
	_ = far.Close()
	back.Wait()
}

// hold notes a connection; false: the way is cut.
func (v *Valve) hold(conn net.Conn) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.shut {
		return false
	}
	v.conns[conn] = struct{}{}
	return true
}

func (v *Valve) release(conn net.Conn) {
	_ = conn.Close()
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.conns, conn)
}
