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
	// storeWait is how long a start waits for a store before it gives up.
	storeWait  = 60 * time.Second
	storeRetry = 500 * time.Millisecond
	// consumerGrace is what the consumer has to store and commit at the end.
	consumerGrace = 5 * time.Second
	keyConns      = 4
	readyLimit    = 500 * time.Millisecond
)

// Options are what a process is made with.
type Options struct {
	Config  *config.Config
	Version string // of the binary
	Logger  *slog.Logger
	Metrics *prometheus.Registry
	TLS     *tls.Config          // of the listener; nil: plain HTTP
	Tracing trace.TracerProvider // nil: nothing is recorded
	Engines *embedded.Engines    // nil: no embedded engine can be started later
}

// Process is one process: its stores, and the components of its roles.
type Process struct {
	stores.Stores
	components []Component
	serve      func(context.Context, net.Listener) error
	closers    []func()
}

// New connects to the stores, brings their schemas up to date and builds the components of
// the roles. The caller closes the process.
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

// Run works until ctx is done and then ends in the order of the data: first no
// request is accepted any more and those in flight are answered, then the
// consumers store what they hold.
func (p *Process) Run(ctx context.Context, listener net.Listener) error {
	server := Component{"http server", func(ctx context.Context) error { return p.serve(ctx, listener) }}
	return runComponents(ctx, server, p.components)
}

// Close closes what the components used, and the stores after it.
func (p *Process) Close() {
	for _, closer := range p.closers {
		closer()
	}
	p.Stores.Close()
}
