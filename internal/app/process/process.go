// Package process runs the roles of one process: it opens the stores, builds the components
// of each role, runs them, and ends them in order.
package process

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/livegraph/livegraph/internal/app/stores"
	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/platform/config"
)

const (
	// storeTimeout bounds how long a starting process waits for a store.
	storeTimeout       = 60 * time.Second
	storeRetryInterval = 500 * time.Millisecond
	// consumerGrace bounds how long a stopping consumer may store and commit.
	consumerGrace = 5 * time.Second
	keyConns      = 4
	readyTimeout  = 500 * time.Millisecond
)

// Options are the options of a process.
type Options struct {
	Config  *config.Config
	Version string // of the binary
	Logger  *slog.Logger
	Metrics *prometheus.Registry
	TLS     *tls.Config          // of the listener; nil: plain HTTP
	Tracing trace.TracerProvider // nil: no traces
	Engines *embedded.Engines    // nil: the process starts no embedded engine later
}

// Process is one process: its stores, and the components of its roles.
type Process struct {
	stores.Stores
	components []Component
	serve      func(context.Context, net.Listener) error
	closers    []func()
}

// New connects to the stores, migrates their schemas and builds the components of the
// roles. The caller closes the process.
func New(ctx context.Context, o Options) (*Process, error) {
	b := &builder{Options: o}
	err := b.open(ctx)
	if err == nil {
		err = b.build()
	}
	p := &Process{Stores: b.Stores, components: b.components, serve: b.serve, closers: b.closers}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Run runs the components until ctx is done. It then stops the server, which answers the
// requests in flight, and after it the consumers, which store their buffers.
func (p *Process) Run(ctx context.Context, listener net.Listener) error {
	server := Component{"http server", func(ctx context.Context) error { return p.serve(ctx, listener) }}
	return runComponents(ctx, server, p.components)
}

// Close closes the resources of the components, and then the stores.
func (p *Process) Close() {
	for _, closer := range p.closers {
		closer()
	}
	p.Stores.Close()
}
