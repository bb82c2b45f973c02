package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/livegraph/livegraph/internal/config"
	"github.com/livegraph/livegraph/internal/telemetry"
)

// monitor is the listener of metrics and profiles with the registry behind it.
// It outlives everything that it shows, so that the end can be watched.
type monitor struct {
	registry *prometheus.Registry
	listener net.Listener // nil: off
	url      string
	stop     context.CancelFunc
	done     chan error
}

// openMonitor takes the port, so that a start that cannot have it fails at once.
func openMonitor(ctx context.Context, cfg *config.Config) (*monitor, error) {
	m := &monitor{registry: telemetry.NewRegistry(version, cfg.Roles)}
	if !cfg.Metrics.Enabled() {
		return m, nil
	}
	var err error
	if m.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Metrics.Listen); err != nil {
		return nil, fmt.Errorf("cannot listen for metrics on %s: %w (choose another address with --metrics-listen, or off)", cfg.Metrics.Listen, err)
	}
	m.url = loopbackURL(m.listener.Addr()) + "/metrics"
	return m, nil
}

// start begins to answer.
func (m *monitor) start(ctx context.Context, cfg config.Metrics, logger *slog.Logger) {
	if m.listener == nil {
		return
	}
	if cfg.Exposed() {
		logger.Warn("metrics and profiles need no key and can be reached from other machines: see to it that only yours do", "address", m.listener.Addr())
	}
	ctx, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	m.done = make(chan error, 1)
	go func() {
		err := telemetry.ServeMetrics(ctx, m.listener, m.registry)
		if err != nil {
			logger.Error("metrics can no longer be read", "error", err)
		}
		m.done <- err
	}()
}

// close ends it.
func (m *monitor) close() {
	switch {
	case m.listener == nil:
	case m.done == nil:
		_ = m.listener.Close()
	default:
		m.stop()
		<-m.done
	}
}

// prober makes the process's look at its engines. Of those that no part of this
// version speaks to only a connection is asked for.
func (p *process) prober(registerer prometheus.Registerer) *telemetry.Prober {
	probes := []telemetry.Probe{
		{Engine: "postgres", Check: p.postgres.Ping},
		{Engine: "clickhouse", Check: p.clickhouse.Ping},
		{Engine: "kafka", Check: p.kafka.Ping},
	}
	if u, err := url.Parse(p.cfg.Redis.URL.Reveal()); err == nil && u.Host != "" {
		probes = append(probes, telemetry.Probe{Engine: "redis", Check: connects(withPort(u.Host, "6379"))})
	}
	if p.cfg.Milvus.Address != "" {
		probes = append(probes, telemetry.Probe{Engine: "milvus", Check: connects(withPort(p.cfg.Milvus.Address, "19530"))})
	}
	return telemetry.NewProber(registerer, probes...)
}

func withPort(host, port string) string {
	if _, _, err := net.SplitHostPort(host); err != nil {
		return net.JoinHostPort(host, port)
	}
	return host
}

// connects makes a check that an address accepts a connection.
func connects(address string) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}
