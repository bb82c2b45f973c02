package proxy

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/testenv"
)

const waitTimeout = time.Minute // for expected events

// echo is a server that echoes all bytes and records them.
type echo struct {
	listener net.Listener
	received testenv.Output
}

func newEcho(t *testing.T) *echo {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	e := &echo{listener: listener}
	var work sync.WaitGroup
	t.Cleanup(func() { _ = listener.Close(); work.Wait() })
	work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				defer func() { _ = conn.Close() }()
				_, _ = io.Copy(conn, io.TeeReader(conn, &e.received))
			})
		}
	})
	return e
}

// newProxy opens a proxy to an echo server.
func newProxy(t *testing.T) (*Proxy, *echo) {
	t.Helper()
	e := newEcho(t)
	p, err := Listen("127.0.0.1:0", e.listener.Addr().String(), 1)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()); require.Zero(t, p.Connections()) })
	return p, e
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", p.Address(), waitTimeout)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(waitTimeout)))
	return conn
}

// refuses reports whether a new connection fails. The reset may become visible while connecting, or
// only afterwards.
func refuses(p *Proxy) bool {
	conn, err := net.DialTimeout("tcp", p.Address(), waitTimeout)
	if err != nil {
		return true
	}
	defer func() { _ = conn.Close() }()
	return conn.SetDeadline(time.Now().Add(waitTimeout)) != nil || roundTrip(conn, "hello") != nil
}

// roundTrip sends a text and requires its echo.
func roundTrip(conn net.Conn, text string) error {
	if _, err := io.WriteString(conn, text); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, len(text)))
	return err
}

func TestItCarriesBytesBothWays(t *testing.T) {
	p, _ := newProxy(t)
	conn := dial(t, p)
	sent := bytes.Repeat([]byte("0123456789"), 100_000)
	go func() {
		_, _ = conn.Write(sent)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Equal(t, sent, got, "and the end of one direction leaves the other")
}

func TestRefusedConnectionsEnd(t *testing.T) {
	p, _ := newProxy(t)
	old := dial(t, p)
	require.NoError(t, roundTrip(old, "hello"))
	undo := p.Apply(Rule{Refuse: true})
	require.Error(t, roundTrip(old, "hello"), "one that stands")
	require.True(t, refuses(p), "one that is new")
	undo()
	undo()
	require.NoError(t, roundTrip(dial(t, p), "hello"))
}

func TestSilenceDelaysAndLosesNothing(t *testing.T) {
	p, e := newProxy(t)
	undo := p.Apply(Rule{Silent: true})
	conn := dial(t, p) // it is accepted
	_, err := io.WriteString(conn, "hello")
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err, "and nothing comes back")
	require.Empty(t, e.received.String())
	undo()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(waitTimeout)))
	answer := make([]byte, 5)
	_, err = io.ReadFull(conn, answer)
	require.NoError(t, err)
	require.Equal(t, "hello", string(answer))
}

func TestLatencyIsOfEachDirection(t *testing.T) {
	p, _ := newProxy(t)
	const latency = 40 * time.Millisecond
	p.Apply(Rule{Latency: latency})
	conn := dial(t, p)
	began := time.Now()
	require.NoError(t, roundTrip(conn, "hello"))
	require.GreaterOrEqual(t, time.Since(began), 2*latency)

	p.Apply(Rule{Latency: time.Hour})
	go func() { p.ClearRules() }()
	require.NoError(t, roundTrip(conn, "hello"), "what waits goes on when the rule is gone")
}

func TestARateBoundsEachDirection(t *testing.T) {
	p, _ := newProxy(t)
	p.Apply(Rule{BytesPerSecond: 50})
	undo := p.Apply(Rule{BytesPerSecond: 20})
	conn := dial(t, p)
	began := time.Now()
	require.NoError(t, roundTrip(conn, "0123456789"))
	require.GreaterOrEqual(t, time.Since(began), 400*time.Millisecond, "the lower of two rates holds")
	undo()
	p.ClearRules()
	require.NoError(t, roundTrip(conn, string(make([]byte, 1<<20))), "and none once it is gone")
}

func TestARequestIsCutInTheMiddle(t *testing.T) {
	p, e := newProxy(t)
	p.Apply(Rule{Cut: Cut{Chance: 1, Direction: Request, Contains: []byte("INSERT"), After: 3}})
	conn := dial(t, p)
	require.NoError(t, roundTrip(conn, "SELECT"), "another request passes")
	require.Error(t, roundTrip(conn, "INSERT"))
	require.Eventually(t, func() bool {
		return e.received.String() == "SELECTINS"
	}, waitTimeout, time.Millisecond, "the server received %q", e.received.String())
	require.EqualValues(t, 1, p.Cuts())
}

func TestAnAnswerIsLost(t *testing.T) {
	p, e := newProxy(t)
	p.Apply(Rule{Cut: Cut{Chance: 1, Direction: Answer, Contains: []byte("COMMIT")}})
	conn := dial(t, p)
	_, err := io.WriteString(conn, "COMMIT")
	require.NoError(t, err)
	got, err := io.ReadAll(conn)
	require.Error(t, err, "a reset, not an end")
	require.Empty(t, got)
	require.Equal(t, "COMMIT", e.received.String(), "the server has received it")
}

func TestARuleMayBeForAShare(t *testing.T) {
	p, _ := newProxy(t)
	p.Apply(Rule{Refuse: true, Share: 0.5})
	accepted := 0
	const conns = 64
	for range conns {
		if !refuses(p) {
			accepted++
		}
	}
	require.NotZero(t, accepted)
	require.NotEqual(t, conns, accepted)
}

func TestCutAllEndsOnlyOpenConnections(t *testing.T) {
	p, _ := newProxy(t)
	conn := dial(t, p)
	require.NoError(t, roundTrip(conn, "hello"))
	p.CutAll()
	require.Error(t, roundTrip(conn, "hello"))
	require.NoError(t, roundTrip(dial(t, p), "hello"))
	require.EqualValues(t, 1, p.Cuts())
}

func TestConnectionsAreBounded(t *testing.T) {
	p, _ := newProxy(t)
	p.mu.Lock()
	p.maxConns = 2
	p.mu.Unlock()
	one, two := dial(t, p), dial(t, p)
	require.NoError(t, roundTrip(one, "hello"))
	require.NoError(t, roundTrip(two, "hello"))
	require.True(t, refuses(p))
	require.NoError(t, one.Close())
	require.Eventually(t, func() bool { return !refuses(p) }, waitTimeout, time.Millisecond)
}

func TestAnUnavailableServerEndsConnections(t *testing.T) {
	p, e := newProxy(t)
	require.NoError(t, e.listener.Close())
	require.True(t, refuses(p))
	other := newEcho(t)
	p.SetTarget(other.listener.Addr().String())
	require.NoError(t, roundTrip(dial(t, p), "hello"))
}
