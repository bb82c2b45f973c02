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

// TLSFront ends TLS in front of an engine. The embedded editions are built without it,
// so this is how a client's side of TLS is tried against a real engine.
type TLSFront struct {
	Address string // host:port
	// Handshakes is how many succeeded.
	Handshakes atomic.Int64

	t        testing.TB
	engine   string
	config   *tls.Config
	postgres bool
	work     sync.WaitGroup
	mu       sync.Mutex
	open     map[net.Conn]struct{}
}

// NewTLSFront listens on the loopback interface, under the name localhost, and passes
// on to an engine, host:port, what comes by TLS.
func NewTLSFront(t testing.TB, engine string, config *tls.Config) *TLSFront {
	t.Helper()
	return startFront(t, &TLSFront{t: t, engine: engine, config: config})
}

// NewPostgresFront is the same for Postgres, whose clients first ask in the clear
// whether TLS is spoken.
func NewPostgresFront(t testing.TB, engine string, config *tls.Config) *TLSFront {
	t.Helper()
	return startFront(t, &TLSFront{t: t, engine: engine, config: config, postgres: true})
}

func startFront(t testing.TB, f *TLSFront) *TLSFront {
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
		f.Cut()
		f.work.Wait()
	})
	return f
}

// Cut closes all connections: clients have to make new ones.
func (f *TLSFront) Cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for conn := range f.open {
		_ = conn.Close()
	}
}

func (f *TLSFront) keep(conn net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open[conn] = struct{}{}
}

func (f *TLSFront) drop(conn net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, conn)
	_ = conn.Close()
}

func (f *TLSFront) serve(raw net.Conn) {
	f.keep(raw)
	defer f.drop(raw)
	if f.postgres && !agree(raw) {
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
	f.keep(inner)
	defer f.drop(inner)
	var both sync.WaitGroup
	both.Go(func() { pass(inner, outer) })
	both.Go(func() { pass(outer, inner) })
	both.Wait()
}

// pass copies until one side ends, and then ends the other.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
}

// agree says yes to Postgres' SSLRequest: a length of 8 and a number.
// https://www.postgresql.org/docs/current/protocol-message-formats.html
func agree(conn net.Conn) bool {
	const sslRequest = 80877103
	var message [8]byte
	if _, err := io.ReadFull(conn, message[:]); err != nil || binary.BigEndian.Uint32(message[4:]) != sslRequest {
		return false
	}
	_, err := conn.Write([]byte{'S'})
	return err == nil
}

// Behind returns an engine's URL with another scheme, with the front's address, and with
// parameters.
func (f *TLSFront) Behind(engine, scheme, parameters string) string {
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
