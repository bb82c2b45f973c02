package ratelimit

import (
	"context"
	"log/slog"
	"sync"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/breaker"
)

// maxServers is the maximum number of servers that are known. It is far above the number of servers of a
// Cluster; it bounds the memory when servers get new addresses.
const maxServers = 1000

// servers are the servers of Redis that count requests, by address.
type servers struct {
	mu        sync.RWMutex
	byAddress map[string]*server
}

// server is a server of Redis, or Redis without a Cluster.
type server struct {
	address string // empty without a Cluster
	clock   clock
	breaker breaker.Breaker // stops calls of the server while it does not answer
}

// server returns the server that counts the requests of a workspace.
func (l *Limiter) server(ctx context.Context, workspace uuid.UUID) *server {
	address := ""
	if l.counter != nil {
		address = l.counter.Server(ctx, workspace)
	}
	return l.servers.get(address)
}

// get returns the server with an address. It creates the server if it is new.
func (s *servers) get(address string) *server {
	s.mu.RLock()
	known := s.byAddress[address]
	s.mu.RUnlock()
	if known != nil {
		return known
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known = s.byAddress[address]; known != nil {
		return known
	}
	if s.byAddress == nil || len(s.byAddress) >= maxServers {
		s.byAddress = map[string]*server{}
	}
	known = &server{address: address}
	s.byAddress[address] = known
	return known
}

// log returns a logger that names the server.
func (s *server) log(logger *slog.Logger) *slog.Logger {
	if s.address == "" {
		return logger
	}
	return logger.With("server", s.address)
}
