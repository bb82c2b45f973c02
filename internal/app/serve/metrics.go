package serve

import (
	"context"
	"fmt"
	"log/slog"
	"net"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/platform/telemetry"
)

// monitor serves metrics and profiles of a registry. It is closed after everything that it
// monitors, so that the shutdown can be observed.
type monitor struct {
	registry *prometheus.Registry
	listener net.Listener // nil: off
	url      string
	stop     context.CancelFunc
	done     chan struct{}
}

// openMonitor opens the listener, so that the start fails at once if the port is in use.
func openMonitor(ctx context.Context, cfg *config.Config, version string) (*monitor, error) {
	m := &monitor{registry: telemetry.NewRegistry(version, cfg.RoleNames())}
	if !cfg.Metrics.Enabled() {
		return m, nil
	}
	address, err := cfg.Metrics.Address()
	if err == nil {
		m.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	}
	if err != nil {
		return nil, fmt.Errorf(
			"cannot listen for metrics on %s: %w (choose another address with --metrics-listen, or off)", cfg.Metrics.Listen,
			err,
		)
	}
	m.url = "http://" + loopback(m.listener.Addr()) + "/metrics"
	return m, nil
}

// start starts to serve requests.
func (m *monitor) start(ctx context.Context, cfg config.Metrics, logger *slog.Logger) {
	if m.listener == nil {
		return
	}
	if cfg.Exposed() {
		logger.Warn(
			"metrics and profiles need no key and other machines can reach them: restrict the access to your own machines",
			"address", m.listener.Addr().String(),
		)
	}
	ctx, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	m.done = make(chan struct{})
	go func() {
		err := telemetry.ServeMetrics(ctx, m.listener, m.registry)
		if err != nil {
			logger.Error("metrics can no longer be read", "error", err)
		}
		close(m.done)
	}()
}

// close stops the server and closes the listener.
func (m *monitor) close() {
	switch {
	case m.listener == nil:
	case m.done == nil:
		_ = m.listener.Close()
	default:
		m.stop()
		<-m.done // its error is logged already
	}
}
