package proxy

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// conn is a connection of a client and the connection to the server.
type conn struct {
	client net.Conn
	sample float64 // in [0, 1), which rules with a Share compare with it
	done   chan struct{}

	mu     sync.Mutex
	server net.Conn
	ended  bool
}

// setServer sets the connection to the server. It returns false if conn has been closed meanwhile.
func (c *conn) setServer(server net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		_ = server.Close()
		return false
	}
	c.server = server
	return true
}

// reset closes both connections with a TCP reset, as after a crash: data in flight is lost.
func (c *conn) reset() {
	c.close(func(end net.Conn) {
		if tcp, ok := end.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
	})
}

// end closes both connections.
func (c *conn) end() { c.close(func(net.Conn) {}) }

func (c *conn) close(before func(net.Conn)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended = true
	close(c.done)
	for _, end := range []net.Conn{c.client, c.server} {
		if end != nil {
			before(end)
			_ = end.Close()
		}
	}
}

// ends returns the source and the destination of a direction.
func (c *conn) ends(d Direction) (from, to net.Conn) {
	if d == Request {
		return c.client, c.server
	}
	return c.server, c.client
}

// forward forwards the bytes of one direction until its source ends, and then lets the other
// direction end within halfClosedTimeout.
func (p *Proxy) forward(c *conn, d Direction) {
	from, to := c.ends(d)
	buffer := make([]byte, chunkBytes)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !p.relay(c, d, to, buffer[:n]) {
			c.reset()
			return
		}
		if errors.Is(err, io.EOF) {
			if tcp, ok := to.(*net.TCPConn); ok && tcp.CloseWrite() == nil {
				_ = to.SetReadDeadline(time.Now().Add(halfClosedTimeout))
				return
			}
		}
		if err != nil {
			c.end()
			return
		}
	}
}

// relay writes a chunk subject to the rules. It returns false if the connection must be closed.
func (p *Proxy) relay(c *conn, d Direction, to net.Conn, chunk []byte) bool {
	v, alive := p.delay(c)
	if !alive {
		return false
	}
	if after, ok := v.cut(d, chunk, p.chance); ok {
		p.cuts.Add(1)
		_ = p.writeThrottled(c, to, chunk[:after])
		return false
	}
	return p.writeThrottled(c, to, chunk)
}

// delay delays a chunk as the rules require. It returns false if the connection has been closed
// meanwhile.
func (p *Proxy) delay(c *conn) (effect, bool) {
	began := time.Now()
	for {
		v, changed := p.effectOn(c.sample)
		left := v.latency - time.Since(began)
		if !v.silent && left <= 0 {
			return v, true
		}
		var timer <-chan time.Time
		if !v.silent {
			timer = time.After(left)
		}
		select {
		case <-timer:
			return v, true
		case <-changed:
		case <-c.done:
			return v, false
		}
	}
}

// writeThrottled writes bytes at the current rate, which may change meanwhile.
func (p *Proxy) writeThrottled(c *conn, to net.Conn, chunk []byte) bool {
	for len(chunk) > 0 {
		v, changed := p.effectOn(c.sample)
		n := len(chunk)
		if v.rate > 0 {
			n = min(n, max(1, v.rate/10))
		}
		if _, err := to.Write(chunk[:n]); err != nil {
			return false
		}
		chunk = chunk[n:]
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
