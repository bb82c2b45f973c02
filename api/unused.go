package api

import (
	"net"
	"net/http"
	"sync"
)

// unusedConns are the connections that have not sent a request yet. Clients open some in
// advance, and they must not delay the shutdown.
type unusedConns struct {
	mu      sync.Mutex
	conns   map[net.Conn]struct{}
	closing bool // new connections are closed
}

// track updates the connections. It is called by the server's ConnState.
func (u *unusedConns) track(conn net.Conn, state http.ConnState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if state != http.StateNew {
		delete(u.conns, conn)
		return
	}
	if u.closing {
		_ = conn.Close()
		return
	}
	if u.conns == nil {
		u.conns = map[net.Conn]struct{}{}
	}
	u.conns[conn] = struct{}{}
}

// close closes the unused connections, and from then on new ones.
func (u *unusedConns) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closing = true
	for conn := range u.conns {
		_ = conn.Close()
	}
}
