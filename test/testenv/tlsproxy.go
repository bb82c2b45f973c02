package testenv

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TLSProxy is a proxy that terminates TLS in front of an engine. The embedded editions are
// built without TLS, so this proxy makes it possible to test TLS clients with a real engine.
type TLSProxy struct {
	Address string // host:port
	// Handshakes is the number of successful handshakes.
	Handshakes atomic.Int64

	t        testing.TB
	engine   string
	config   *tls.Config
	postgres bool
	work     sync.WaitGroup
	mu       sync.Mutex
	open     map[net.Conn]struct{}
}

// NewTLSProxy starts a proxy that listens on the loopback interface, with the name localhost,
// and forwards TLS connections to an engine, host:port.
func NewTLSProxy(t testing.TB, engine string, config *tls.Config) *TLSProxy {
	t.Helper()
	return startFront(t, &TLSProxy{t: t, engine: engine, config: config})
}

// NewPostgresProxy is NewTLSProxy for Postgres, whose clients first request TLS in an
// unencrypted message.
func NewPostgresProxy(t testing.TB, engine string, config *tls.Config) *TLSProxy {
	t.Helper()
	return startFront(t, &TLSProxy{t: t, engine: engine, config: config, postgres: true})
}

func startFront(t testing.TB, f *TLSProxy) *TLSProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f.open = map[net.Conn]struct{}{}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	f.Address = net.JoinHostPort("localhost", port)
	f.work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			f.work.Go(func() { f.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		f.CloseConnections()
		f.work.Wait()
	})
	return f
}

// CloseConnections closes all connections, so that clients have to reconnect.
func (f *TLSProxy) CloseConnections() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for conn := range f.open {
		_ = conn.Close()
	}
}

func (f *TLSProxy) addConn(conn net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open[conn] = struct{}{}
}

func (f *TLSProxy) closeConn(conn net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, conn)
	_ = conn.Close()
}

func (f *TLSProxy) serve(raw net.Conn) {
	f.addConn(raw)
	defer f.closeConn(raw)
	if f.postgres && !acceptSSLRequest(raw) {
		return
	}
	outer := tls.Server(raw, f.config)
	if outer.Handshake() != nil {
		return
	}
	f.Handshakes.Add(1)
	inner, err := net.Dial("tcp", f.engine)
	if err != nil {
		return
	}
	f.addConn(inner)
	defer f.closeConn(inner)
	var both sync.WaitGroup
	both.Go(func() { copyConn(inner, outer) })
	both.Go(func() { copyConn(outer, inner) })
	both.Wait()
}

// copyConn copies until one connection ends, and then closes both.
func copyConn(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
}

// acceptSSLRequest accepts the SSLRequest of Postgres, which is a length of 8 and a code.
// https://www.postgresql.org/docs/current/protocol-message-formats.html
func acceptSSLRequest(conn net.Conn) bool {
	const sslRequest = 80877103
	var message [8]byte
	if _, err := io.ReadFull(conn, message[:]); err != nil || binary.BigEndian.Uint32(message[4:]) != sslRequest {
		return false
	}
	_, err := conn.Write([]byte{'S'})
	return err == nil
}

// URL returns an engine's URL with the proxy's address and the given scheme and query
// parameters.
func (f *TLSProxy) URL(engine, scheme, parameters string) string {
	f.t.Helper()
	u, err := url.Parse(engine)
	require.NoError(f.t, err)
	u.Scheme, u.Host, u.RawQuery = scheme, f.Address, parameters
	return strings.TrimSuffix(u.String(), "?")
}

// Host returns host:port of an engine's URL.
func Host(t testing.TB, engine string) string {
	t.Helper()
	u, err := url.Parse(engine)
	require.NoError(t, err)
	return u.Host
}
