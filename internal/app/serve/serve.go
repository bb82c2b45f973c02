// Package serve runs a server from start to end: listener, metrics, embedded engines, the
// process with its roles, and what is printed at the start.
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
	"github.com/livegraph/livegraph/internal/platform/runfile"
	"github.com/livegraph/livegraph/internal/platform/telemetry"
	"github.com/livegraph/livegraph/internal/services/firstrun"
)

// engineStopLimit bounds how long the embedded engines may take to stop.
const engineStopLimit = 15 * time.Second

// Options are what a server is started with.
type Options struct {
	*config.Config
	Version string // of the binary
	Demo    bool   // streams this machine's own metrics beside the server
}

// Run starts the engines that have no address, then this process's roles, and
// returns when ctx is done and everything has ended in order: readiness,
// requests in flight, consumers' buffers and offsets, engines.
func Run(ctx context.Context, c Options, out io.Writer) error {
	err := c.serve(ctx, &output.Writer{Writer: out})
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // told to end while it was starting
	}
	return err
}

func (c *Options) serve(ctx context.Context, out *output.Writer) error {
	// The ports of a second server on a data directory mostly are taken, too: say
	// what is behind it.
	if other, err := runfile.Read(c.DataDir); err == nil {
		return fmt.Errorf(
			"the data directory %s is in use by a livegraph server, process %d at %s: stop that one, or choose another with "+
				"--data-dir",
			c.DataDir, other.PID, other.URL,
		)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w (choose another address with --listen)", c.Listen, err)
	}
	defer func() { _ = listener.Close() }()
	at, err := listen(c.Config, listener.Addr())
	if err != nil {
		return err
	}
	watch, err := openMonitor(ctx, c.Config, c.Version)
	if err != nil {
		return err
	}
	defer watch.close()
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return fmt.Errorf("making the data directory: %w", err)
	}
	terminal := output.IsTerminal(out.Writer)
	logger, closeLog, err := c.logger(terminal)
	if err != nil {
		return err
	}
	defer closeLog()
	if _, err := stores.KafkaSecurity(&c.Kafka); err != nil {
		return err // before the engines are started, which may take long
	}
	for _, warning := range c.Kafka.Warnings() {
		logger.Warn(warning)
	}
	watch.start(ctx, c.Metrics, logger)
	at.warn(c.Config, logger)

	return c.serveOn(ctx, out, listener, at, watch, logger, terminal)
}

// serveOn serves on a listener that is open, with the process watched already.
func (c *Options) serveOn(ctx context.Context, out *output.Writer, listener net.Listener, at address, watch *monitor,
	logger *slog.Logger, terminal bool) error {
	_, _ = fmt.Fprintf(out, "Livegraph %s, data in %s\n", c.Version, c.DataDir)
	if own := c.unshared(); len(own) > 0 {
		logger.Warn("this process has only some of the roles and starts engines of its own, which the others do not see; "+
			"give all processes the same addresses", "roles", c.Roles, "missing", own)
	}
	engines, err := c.startEngines(ctx, out, terminal, logger)
	if err != nil {
		return err
	}
	defer StopEngines(engines, logger)
	c.useEngines(engines.Addresses())
	engines.Register(watch.registry)

	traces, err := telemetry.NewTracing(ctx, &c.Tracing, c.Version, c.Roles, logger)
	if err != nil {
		return err
	}
	defer traces.Close(ctx)
	traces.Register(watch.registry)
	process.LimitMemory()
	p, err := process.New(ctx, process.Options{
		Config: c.Config, Version: c.Version, Logger: logger, Metrics: watch.registry, TLS: at.tls(),
		Tracing: traces.Provider(), Engines: engines,
	})
	if err != nil {
		return err
	}
	defer p.Close()
	var first firstrun.Record
	made := false
	if c.Has("api") { // the key's only copy belongs where its owner looks for it
		if first, made, err = firstrun.Ensure(ctx, p.Postgres, c.DataDir, at.url); err != nil {
			return err
		}
	}
	server := c.control(at, watch.url)
	note, err := runfile.Write(c.DataDir, server)
	if err != nil {
		return err
	}
	defer func() { _ = note.Remove(c.DataDir) }()
	c.welcome(out, terminal, at, watch.url, first, made)

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

// logger returns the process's log. Beside a terminal's live view it goes to a
// file, so that neither spoils the other.
func (c *Options) logger(terminal bool) (*slog.Logger, func(), error) {
	if !c.Demo || !terminal {
		return NewLogger(c.Log, os.Stderr), func() {}, nil
	}
	dir := filepath.Join(c.DataDir, "logs")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("making the log directory: %w", err)
	}
	file, err := embedded.OpenLog(filepath.Join(dir, "livegraph.log"))
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
			RedisURL: c.Redis.URL.Reveal(), MilvusAddress: c.Milvus.Address,
		},
		Embedder:        c.embedder(),
		KafkaSyncWrites: c.Kafka.SyncWrites,
		Progress:        progress.Show,
		Logger:          logger,
	})
}

// embedder reports how the embedded embedder is to be started; nil: it is not.
func (c *Options) embedder() *embedded.EmbedderSettings {
	if !c.WantsEmbedder() {
		return nil
	}
	return &embedded.EmbedderSettings{Threads: c.Embedder.Threads}
}

// unshared names the engines' settings that are missing from a process that has
// only some of the roles: it works with others, and they can only meet in engines
// that all are told of.
func (c *Options) unshared() (missing []string) {
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
	ctx, cancel := context.WithTimeout(context.Background(), engineStopLimit)
	defer cancel()
	if err := engines.Stop(ctx); err != nil {
		logger.Error("stopping the engines", "error", err)
	}
}

// useEngines fills the addresses in: from here on nothing can tell an embedded
// engine from a configured one.
func (c *Options) useEngines(a embedded.Addresses) {
	c.Kafka.Brokers, c.Kafka.KafkaSecurity = a.KafkaBrokers, a.KafkaSecurity
	c.ClickHouse.URL = config.Secret(a.ClickHouseURL)
	c.Postgres.URL = config.Secret(a.PostgresURL)
	c.Redis.URL = config.Secret(a.RedisURL)
	c.Milvus.Address = a.MilvusAddress
	c.Capabilities = a.Capabilities
	c.Embedder.UseEmbedded(a.EmbedderURL, embedded.EmbedderModel, embedded.EmbedderDimensions)
}

func (c *Options) control(at address, metricsURL string) runfile.Server {
	return runfile.Server{
		PID: os.Getpid(), URL: at.url, StartedAt: time.Now().UTC(), MetricsURL: metricsURL,
		Listen: at.local, Certificate: c.TLS.CertPath(), CACert: at.trust, SharesAddresses: c.SharesAddresses(),
		KafkaBrokers: c.Kafka.Brokers, ClickHouseURL: c.ClickHouse.URL.Reveal(), PostgresURL: c.Postgres.URL.Reveal(),
		RedisURL: c.Redis.URL.Reveal(), MilvusAddress: c.Milvus.Address, MilvusToken: c.Milvus.Token.Reveal(),
		KafkaSecurity: c.Kafka.Absolute(), KafkaPassword: c.Kafka.SASLPassword.Reveal(),
		ClickHouseTLS: c.ClickHouse.TLS.Absolute(), RedisTLS: c.Redis.TLS.Absolute(), MilvusTLS: c.Milvus.TLS.Absolute(),
		Capabilities: c.Capabilities,
		Embedder: runfile.Embedder{
			At: c.Embedder.At, Key: c.Embedder.Key.Reveal(), Model: c.Embedder.Model, Dimensions: c.Embedder.Dimensions,
			AllowPrivateAddresses: c.Embedder.AllowPrivateAddresses, TLS: c.Embedder.TLS.Absolute(),
		},
	}
}
