// Package serve runs a server from start to end: listener, metrics, embedded engines, the
// process with its roles, and the welcome message.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/app/process"
	"github.com/livegraph/livegraph/internal/app/stores"
	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/platform/logfile"
	"github.com/livegraph/livegraph/internal/platform/runfile"
	"github.com/livegraph/livegraph/internal/platform/telemetry"
	"github.com/livegraph/livegraph/internal/services/firstrun"
)

// engineStopTimeout bounds how long the embedded engines may take to stop.
const engineStopTimeout = 15 * time.Second

// Options are the options of a server.
type Options struct {
	*config.Config
	Version string // of the binary
	Demo    bool   // also stream this machine's own metrics
}

// Run starts the engines that have no address and then this process's roles. When ctx is
// done it stops everything in order and returns: readiness, requests in flight, consumers'
// buffers and offsets, engines.
func Run(ctx context.Context, c Options, out io.Writer) error {
	err := c.serve(ctx, &output.Writer{Writer: out})
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // stopped during the start
	}
	return err
}

func (c *Options) serve(ctx context.Context, out *output.Writer) error {
	// The ports of a second server on the same data directory are usually in use, too. This
	// error names the cause.
	if server, err := runfile.Read(c.DataDir); err == nil {
		return fmt.Errorf(
			"the data directory %s is in use by a livegraph server, process %d at %s: stop that one, or choose another with "+
				"--data-dir",
			c.DataDir, server.PID, server.URL,
		)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w (choose another address with --listen)", c.Listen, err)
	}
	defer func() { _ = listener.Close() }()
	addr, err := listen(c.Config, listener.Addr())
	if err != nil {
		return err
	}
	metrics, err := openMonitor(ctx, c.Config, c.Version)
	if err != nil {
		return err
	}
	defer metrics.close()
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return fmt.Errorf("creating the data directory: %w", err)
	}
	terminal := output.IsTerminal(out.Writer)
	logger, closeLog, err := c.logger(terminal)
	if err != nil {
		return err
	}
	defer closeLog()
	if _, err := stores.KafkaSecurity(&c.Kafka); err != nil {
		return err // checked before the engines start, which may take long
	}
	for _, warning := range c.Kafka.Warnings() {
		logger.Warn(warning)
	}
	metrics.start(ctx, c.Metrics, logger)
	addr.warn(c.Config, logger)

	return c.serveOn(ctx, out, listener, addr, metrics, logger, terminal)
}

// serveOn serves on an open listener. The monitor already runs.
func (c *Options) serveOn(
	ctx context.Context, out *output.Writer, listener net.Listener, addr address, metrics *monitor, logger *slog.Logger,
	terminal bool,
) error {
	_, _ = fmt.Fprintf(out, "Livegraph %s, data in %s\n", c.Version, c.DataDir)
	if missing := c.missingEngines(); len(missing) > 0 {
		logger.Warn("this process has only some of the roles and starts embedded engines, which other processes do not use; "+
			"configure the same addresses for all processes", "roles", c.Roles, "missing", missing)
	}
	engines, err := c.startEngines(ctx, out, terminal, logger)
	if err != nil {
		return err
	}
	defer StopEngines(engines, logger)
	c.useEngines(engines.Addresses())
	engines.Register(metrics.registry)

	traces, err := telemetry.NewTracing(ctx, &c.Tracing, c.Version, c.Roles, logger)
	if err != nil {
		return err
	}
	defer traces.Close(ctx)
	traces.Register(metrics.registry)
	process.LimitMemory()
	p, err := process.New(ctx, process.Options{
		Config: c.Config, Version: c.Version, Logger: logger, Metrics: metrics.registry, TLS: addr.tls(),
		Tracing: traces.Provider(), Engines: engines,
	})
	if err != nil {
		return err
	}
	defer p.Close()
	var first firstrun.Record
	created := false
	if c.Has("api") { // the file with the only copy of the key belongs to the API process
		if first, created, err = firstrun.Ensure(ctx, p.Postgres.Access, c.DataDir, addr.url); err != nil {
			return err
		}
	}
	server := c.runFile(addr, metrics.url)
	file, err := runfile.Write(c.DataDir, server)
	if err != nil {
		return err
	}
	defer func() { _ = file.Remove(c.DataDir) }()
	c.welcome(out, terminal, addr, metrics.url, first, created)

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.Run(ctx, listener) })
	if c.Demo {
		group.Go(func() error { return c.demo(ctx, p.Postgres, out, server) })
	}
	err = group.Wait()
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		_, _ = fmt.Fprintln(out, "stopping the engines")
		return nil
	}
	return err
}

// logger returns the process's logger and a function that closes it. With a live view on a
// terminal it logs to a file, so that log lines do not disturb the view.
func (c *Options) logger(terminal bool) (*slog.Logger, func(), error) {
	if !c.Demo || !terminal {
		return NewLogger(c.Log, os.Stderr), func() {}, nil
	}
	dir := filepath.Join(c.DataDir, "logs")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("creating the log directory: %w", err)
	}
	file, err := logfile.Open(filepath.Join(dir, "livegraph.log"))
	if err != nil {
		return nil, nil, err
	}
	return NewLogger(c.Log, file), func() { _ = file.Close() }, nil
}

func (c *Options) startEngines(
	ctx context.Context, out *output.Writer, terminal bool, logger *slog.Logger,
) (*embedded.Engines, error) {
	progress := output.NewEngineProgress(out, terminal)
	return embedded.Start(ctx, embedded.Options{
		DataDir: c.DataDir,
		Configured: embedded.Addresses{
			KafkaBrokers: c.Kafka.Brokers, KafkaSecurity: c.Kafka.KafkaSecurity,
			ClickHouseURL: c.ClickHouse.URL.Reveal(), PostgresURL: c.Postgres.URL.Reveal(),
			RedisURL: c.Redis.URL.Reveal(), MilvusAddress: c.Milvus.Address, ClickHouseCluster: c.ClickHouse.Cluster,
		},
		Embedder:        c.embedder(),
		KafkaSyncWrites: c.Kafka.SyncWrites, ClickHouseShards: c.ClickHouse.EmbeddedShards,
		Progress: progress.Show,
		Logger:   logger,
	})
}

// embedder returns the settings of the embedded embedder, or nil if it is not needed.
func (c *Options) embedder() *embedded.EmbedderSettings {
	if !c.NeedsEmbedder() {
		return nil
	}
	model, _ := c.Embedder.Embedded()
	return &embedded.EmbedderSettings{Model: model.Name, Threads: c.Embedder.Threads}
}

// missingEngines returns the engine addresses that are not configured for a process with
// only some of the roles. Processes with different roles must share the same engines.
func (c *Options) missingEngines() (missing []string) {
	if slices.Contains(c.Roles, "all") {
		return nil
	}
	for _, engine := range []struct {
		flag  string
		unset bool
	}{
		{"--kafka-brokers", len(c.Kafka.Brokers) == 0}, {"--clickhouse-url", c.ClickHouse.URL == ""},
		{"--postgres-url", c.Postgres.URL == ""}, {"--redis-url", c.Redis.URL == ""},
		{"--milvus-address", c.Milvus.Address == ""},
	} {
		if engine.unset {
			missing = append(missing, engine.flag)
		}
	}
	return missing
}

// StopEngines stops the embedded engines, and logs if one does not end in time.
func StopEngines(engines *embedded.Engines, logger *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), engineStopTimeout)
	defer cancel()
	if err := engines.Stop(ctx); err != nil {
		logger.Error("stopping the engines", "error", err)
	}
}

// useEngines sets the addresses of the engines. From here on embedded and configured
// engines are treated alike.
func (c *Options) useEngines(a embedded.Addresses) {
	c.Kafka.Brokers, c.Kafka.KafkaSecurity = a.KafkaBrokers, a.KafkaSecurity
	c.ClickHouse.URL, c.ClickHouse.Cluster = config.Secret(a.ClickHouseURL), a.ClickHouseCluster
	c.Postgres.URL = config.Secret(a.PostgresURL)
	c.Redis.URL = config.Secret(a.RedisURL)
	c.Milvus.Address = a.MilvusAddress
	c.Capabilities = a.Capabilities
	if model, ok := c.Embedder.Embedded(); ok {
		c.Embedder.UseEmbedded(a.EmbedderURL, model)
	}
}

func (c *Options) runFile(addr address, metricsURL string) runfile.Server {
	return runfile.Server{
		PID: os.Getpid(), URL: addr.url, StartedAt: time.Now().UTC(), MetricsURL: metricsURL,
		Listen: addr.local, Certificate: c.TLS.CertPath(), SharesAddresses: c.SharesAddresses(),
		KafkaBrokers: c.Kafka.Brokers, ClickHouseURL: c.ClickHouse.URL.Reveal(), PostgresURL: c.Postgres.URL.Reveal(),
		RedisURL: c.Redis.URL.Reveal(), MilvusAddress: c.Milvus.Address, MilvusToken: c.Milvus.Token.Reveal(),
		PostgresDirectURL:  c.Postgres.DirectURL.Reveal(),
		PostgresReplicaURL: c.Postgres.Replica.URL.Reveal(),
		KafkaSecurity:      c.Kafka.Absolute(), KafkaPassword: c.Kafka.SASLPassword.Reveal(),
		ClickHouseTLS: c.ClickHouse.TLS.Absolute(), RedisTLS: c.Redis.TLS.Absolute(), MilvusTLS: c.Milvus.TLS.Absolute(),
		RedisSentinelUsername: c.Redis.Sentinel.Username, RedisSentinelPassword: c.Redis.Sentinel.Password.Reveal(),
		Capabilities: c.Capabilities, ClickHouseCluster: c.ClickHouse.Cluster,
		Embedder: runfile.Embedder{
			Address: c.Embedder.Address, Key: c.Embedder.Key.Reveal(), Model: c.Embedder.Model,
			Dimensions: c.Embedder.Dimensions, QueryPrefix: c.Embedder.QueryPrefix, PassagePrefix: c.Embedder.PassagePrefix,
			AllowPrivateAddresses: c.Embedder.AllowPrivateAddresses, TLS: c.Embedder.TLS.Absolute(),
		},
		Chat: runfile.Chat{
			URL: c.Chat.URL, Key: c.Chat.Key.Reveal(), Model: c.Chat.Model,
			AllowPrivateAddresses: c.Chat.AllowPrivateAddresses, TLS: c.Chat.TLS.Absolute(),
		},
		Rerank: runfile.Rerank{
			URL: c.Rerank.URL, Key: c.Rerank.Key.Reveal(), Model: c.Rerank.Model,
			AllowPrivateAddresses: c.Rerank.AllowPrivateAddresses, TLS: c.Rerank.TLS.Absolute(),
		},
	}
}
