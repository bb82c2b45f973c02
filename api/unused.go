package api

import (
	"net"
	"net/http"
	"sync"
)

// unusedConns are the connections that have not yet brought a request. Clients
// open some to spare, and they must not hold up the end of the process.
type unusedConns struct {
	mu    sync.Mutex
	conns map[net.Conn]struct{}
	over  bool // connections are closed as they come
}

// see is the server's ConnState.
func (u *unusedConns) see(conn net.Conn, state http.ConnState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if state != http.StateNew {
		delete(u.conns, conn)
		return
	}
	if u.over {
		_ = conn.Close()
		return
	}
	if u.conns == nil {
		u.conns = map[net.Conn]struct{}{}
	}
	u.conns[conn] = struct{}{}
}

// close closes those that are there and those that come.
func (u *unusedConns) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.over = true
	for conn := range u.conns {
		_ = conn.Close()
	}
}
