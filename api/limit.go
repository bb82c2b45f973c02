package api

import (
	"net"
	"sync"
)

// limitListener has so many connections open at most; others wait to be accepted. Unlike
// that of golang.org/x/net/netutil, its connections can end their writing side: a client
// whose request is refused learns at once that nothing follows.
type limitListener struct {
	net.Listener
	room   chan struct{} // has an element for each open connection
	closed chan struct{}
	once   sync.Once
}

func limitConnections(below net.Listener, most int) *limitListener {
	return &limitListener{Listener: below, room: make(chan struct{}, most), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *limitListener) Accept() (net.Conn, error) {
	select {
	case l.room <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.room
		return nil, err
	}
	return &limitedConn{Conn: conn, leave: sync.OnceFunc(func() { <-l.room })}, nil
}

// Close implements net.Listener.
func (l *limitListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.leave()
	return err
}

// CloseWrite ends the writing side.
func (c *limitedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
