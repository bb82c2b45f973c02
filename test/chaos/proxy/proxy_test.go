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

const waitTimeout = 10 * time.Second // for what must happen

// echo is a server that says everything again and remembers it.
type echo struct {
	listener net.Listener
	heard    testenv.Output
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
				_, _ = io.Copy(conn, io.TeeReader(conn, &e.heard))
			})
		}
	})
	return e
}

// way opens a proxy to a server that says everything again.
func way(t *testing.T) (*Proxy, *echo) {
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

// refuses makes a new connection and reports whether it is of no use. That it is ended
// may be seen while it is being made, or only then.
func refuses(p *Proxy) bool {
	conn, err := net.DialTimeout("tcp", p.Address(), waitTimeout)
	if err != nil {
		return true
	}
	defer func() { _ = conn.Close() }()
	return conn.SetDeadline(time.Now().Add(waitTimeout)) != nil || ask(conn, "hello") != nil
}

// ask sends a text and wants it back.
func ask(conn net.Conn, text string) error {
	if _, err := io.WriteString(conn, text); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, len(text)))
	return err
}

func TestItCarriesBytesBothWays(t *testing.T) {
	p, _ := way(t)
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
	p, _ := way(t)
	old := dial(t, p)
	require.NoError(t, ask(old, "hello"))
	undo := p.Apply(Rule{Refuse: true})
	require.Error(t, ask(old, "hello"), "one that stands")
	require.True(t, refuses(p), "one that is new")
	undo()
	undo()
	require.NoError(t, ask(dial(t, p), "hello"))
}

func TestSilenceDelaysAndLosesNothing(t *testing.T) {
	p, e := way(t)
	undo := p.Apply(Rule{Silent: true})
	conn := dial(t, p) // it is accepted
	_, err := io.WriteString(conn, "hello")
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err, "and nothing comes back")
	require.Empty(t, e.heard.String())
	undo()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(waitTimeout)))
	answer := make([]byte, 5)
	_, err = io.ReadFull(conn, answer)
	require.NoError(t, err)
	require.Equal(t, "hello", string(answer))
}

func TestLatencyIsOfEachDirection(t *testing.T) {
	p, _ := way(t)
	const latency = 40 * time.Millisecond
	p.Apply(Rule{Latency: latency})
	conn := dial(t, p)
	began := time.Now()
	require.NoError(t, ask(conn, "hello"))
	require.GreaterOrEqual(t, time.Since(began), 2*latency)

	p.Apply(Rule{Latency: time.Hour})
	go func() { p.Heal() }()
	require.NoError(t, ask(conn, "hello"), "what waits goes on when the rule is gone")
}

func TestARateBoundsEachDirection(t *testing.T) {
	p, _ := way(t)
	p.Apply(Rule{BytesPerSecond: 50})
	undo := p.Apply(Rule{BytesPerSecond: 20})
	conn := dial(t, p)
	began := time.Now()
	require.NoError(t, ask(conn, "0123456789"))
	require.GreaterOrEqual(t, time.Since(began), 400*time.Millisecond, "the lower of two rates holds")
	undo()
	p.Heal()
	require.NoError(t, ask(conn, string(make([]byte, 1<<20))), "and none once it is gone")
}

func TestARequestIsCutInTheMiddle(t *testing.T) {
	p, e := way(t)
	p.Apply(Rule{Cut: Cut{Chance: 1, Of: Request, Holding: []byte("INSERT"), After: 3}})
	conn := dial(t, p)
	require.NoError(t, ask(conn, "SELECT"), "another request passes")
	require.Error(t, ask(conn, "INSERT"))
	require.Eventually(t, func() bool {
		return e.heard.String() == "SELECTINS"
	}, waitTimeout, time.Millisecond, "the server heard %q", e.heard.String())
	require.EqualValues(t, 1, p.Cuts())
}

func TestAnAnswerIsLost(t *testing.T) {
	p, e := way(t)
	p.Apply(Rule{Cut: Cut{Chance: 1, Of: Answer, Holding: []byte("COMMIT")}})
	conn := dial(t, p)
	_, err := io.WriteString(conn, "COMMIT")
	require.NoError(t, err)
	got, err := io.ReadAll(conn)
	require.Error(t, err, "a reset, not an end")
	require.Empty(t, got)
	require.Equal(t, "COMMIT", e.heard.String(), "the server has heard it")
}

func TestARuleMayBeForAShare(t *testing.T) {
	p, _ := way(t)
	p.Apply(Rule{Refuse: true, Share: 0.5})
	taken := 0
	const conns = 64
	for range conns {
		if !refuses(p) {
			taken++
		}
	}
	require.NotZero(t, taken)
	require.NotEqual(t, conns, taken)
}

func TestCutAllEndsWhatStandsOnly(t *testing.T) {
	p, _ := way(t)
	conn := dial(t, p)
	require.NoError(t, ask(conn, "hello"))
	p.CutAll()
	require.Error(t, ask(conn, "hello"))
	require.NoError(t, ask(dial(t, p), "hello"))
	require.EqualValues(t, 1, p.Cuts())
}

func TestConnectionsAreBounded(t *testing.T) {
	p, _ := way(t)
	p.mu.Lock()
	p.most = 2
	p.mu.Unlock()
	one, two := dial(t, p), dial(t, p)
	require.NoError(t, ask(one, "hello"))
	require.NoError(t, ask(two, "hello"))
	require.True(t, refuses(p))
	require.NoError(t, one.Close())
	require.Eventually(t, func() bool { return !refuses(p) }, waitTimeout, time.Millisecond)
}

func TestAServerThatIsAwayEndsConnections(t *testing.T) {
	p, e := way(t)
	require.NoError(t, e.listener.Close())
	require.True(t, refuses(p))
	other := newEcho(t)
	p.To(other.listener.Addr().String())
	require.NoError(t, ask(dial(t, p), "hello"))
}
