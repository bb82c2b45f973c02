package api

import (
	"net"
	"sync"
)

// limitListener limits the number of open connections; others wait to be accepted. Unlike
// those of golang.org/x/net/netutil, its connections support CloseWrite, so that a client
// whose request is refused sees the end of the response at once.
type limitListener struct {
	net.Listener
	slots  chan struct{} // contains an element for each open connection
	closed chan struct{}
	once   sync.Once
}

func limitConnections(inner net.Listener, maxOpen int) *limitListener {
	return &limitListener{Listener: inner, slots: make(chan struct{}, maxOpen), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *limitListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &limitedConn{Conn: conn, release: sync.OnceFunc(func() { <-l.slots })}, nil
}

// Close implements net.Listener.
func (l *limitListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.release()
	return err
}

// CloseWrite closes the writing side of the connection.
func (c *limitedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
