package proxy

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// conn is a connection with both its ends.
type conn struct {
	near net.Conn
	lot  float64 // by which rules choose connections, below 1
	done chan struct{}

	mu    sync.Mutex
	far   net.Conn
	ended bool
}

// join sets the other end of the connection; false: it has been ended meanwhile.
func (c *conn) join(far net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		_ = far.Close()
		return false
	}
	c.far = far
	return true
}

// reset ends both ends as a crash does: without a farewell, what is under way is lost.
func (c *conn) reset() {
	c.close(func(end net.Conn) {
		if tcp, ok := end.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
	})
}

// end ends both ends.
func (c *conn) end() { c.close(func(net.Conn) {}) }

func (c *conn) close(before func(net.Conn)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended = true
	close(c.done)
	for _, end := range []net.Conn{c.near, c.far} {
		if end != nil {
			before(end)
			_ = end.Close()
		}
	}
}

// ends returns where the bytes of a direction come from and go to.
func (c *conn) ends(d Direction) (from, to net.Conn) {
	if d == Request {
		return c.near, c.far
	}
	return c.far, c.near
}

// pump carries the bytes of one direction until its source has ended, and then lets
// the other direction end by itself, for a while.
func (p *Proxy) pump(c *conn, d Direction) {
	from, to := c.ends(d)
	buffer := make([]byte, pieceBytes)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !p.pass(c, d, to, buffer[:n]) {
			c.reset()
			return
		}
		if errors.Is(err, io.EOF) {
			if tcp, ok := to.(*net.TCPConn); ok && tcp.CloseWrite() == nil {
				_ = to.SetReadDeadline(time.Now().Add(halfClosed))
				return
			}
		}
		if err != nil {
			c.end()
			return
		}
	}
}

// pass writes a piece as the rules allow; false: the connection is to be ended.
func (p *Proxy) pass(c *conn, d Direction, to net.Conn, piece []byte) bool {
	v, alive := p.hold(c)
	if !alive {
		return false
	}
	if after, is := v.cut(d, piece, p.chance); is {
		p.cuts.Add(1)
		_ = p.drip(c, to, piece[:after])
		return false
	}
	return p.drip(c, to, piece)
}

// hold waits as long as the rules say before a piece goes on; false: the connection
// has ended meanwhile.
func (p *Proxy) hold(c *conn) (verdict, bool) {
	began := time.Now()
	for {
		v, changed := p.now(c.lot)
		left := v.latency - time.Since(began)
		if !v.silent && left <= 0 {
			return v, true
		}
		var late <-chan time.Time
		if !v.silent {
			late = time.After(left)
		}
		select {
		case <-late:
			return v, true
		case <-changed:
		case <-c.done:
			return v, false
		}
	}
}

// drip writes bytes at the rate that holds, which may change on the way.
func (p *Proxy) drip(c *conn, to net.Conn, piece []byte) bool {
	for len(piece) > 0 {
		v, changed := p.now(c.lot)
		n := len(piece)
		if v.rate > 0 {
			n = min(n, max(1, v.rate/10))
		}
		if _, err := to.Write(piece[:n]); err != nil {
			return false
		}
		piece = piece[n:]
		if v.rate == 0 {
			continue
		}
		select {
		case <-time.After(time.Duration(n) * time.Second / time.Duration(v.rate)):
		case <-changed:
		case <-c.done:
			return false
		}
	}
	return true
}
