// Package embedded runs the embedded editions of the engines, which require only
// Go and Python: ClickHouse (the chdb library behind an HTTP server), Postgres, Valkey
// and milvus-lite from one hash-pinned file of Python packages, an embedding model from
// another, and a Kafka broker inside this process.
//
// An engine whose address is configured is not started. [Start] returns the addresses
// of all engines; their clients do not distinguish embedded engines from other servers.
// All state of an engine is in one folder of the data directory, including its port and
// password, which stay the same after a restart. The engines run as child processes.
// They listen only on the loopback interface, are restarted after a crash, are stopped
// in order, and end with this process however it ends.
//
// Packages are installed once per machine and user, into a cache (see [Install]).
//
// Package engine has what all engines have in common, package supervisor runs their processes, and
// package install installs their packages. The tests' engines, in test/engines, use them as well.
package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/embedded/install"
	"github.com/livegraph/livegraph/internal/embedded/supervisor"
	"github.com/livegraph/livegraph/internal/platform/config"
)

// Addresses are the addresses of the engines.
type Addresses struct {
	KafkaBrokers  []string             // host:port
	KafkaSecurity config.KafkaSecurity // TLS and login settings of the brokers
	ClickHouseURL string               // clickhouse://… or http://…, with user, password and database
	PostgresURL   string               // postgres://…
	RedisURL      string               // redis://…
	MilvusAddress string               // host:port
	// ClickHouseCluster is the cluster of ClickHouse on whose shards the tables are; empty: one server.
	ClickHouseCluster string
	EmbedderURL       string // http://:key@host:port/v1, of an OpenAI-compatible API

	// Capabilities are those of the started engines, and the configured ones of the others.
	Capabilities config.Capabilities
}

// Options are the options of Start.
type Options struct {
	DataDir    string    // created if missing; used by one server at a time
	Configured Addresses // engines that have an address here are not started

	Embedder *EmbedderSettings // nil: the embedder is not started
	// ClickHouseShards is the number of shards of the embedded ClickHouse; 0: it is one server.
	ClickHouseShards int
	KafkaSyncWrites  bool               // fsync each batch of the embedded Kafka before it is acknowledged
	Progress         func(engine.Event) // called from several goroutines, but not concurrently; may be nil
	Logger           *slog.Logger
}

// Engines are the engines of one data directory.
type Engines struct {
	addresses Addresses
	lock      *dataLock

	kafka      *Kafka
	clickhouse *supervisor.Process
	postgres   *supervisor.Process
	valkey     *supervisor.Process
	milvus     *supervisor.Process

	engineOptions func(name string, packages *install.Packages) engine.Options
	mu            sync.Mutex
	embedders     map[string]*supervisor.Process // by their names; may be started and stopped while the others run
	registerer    prometheus.Registerer
	registered    map[string]bool // the embedders that are registered
}

// Start locks the data directory and starts, concurrently, each engine without a configured
// address, and the embedder if Options.Embedder is set. It returns when all engines are
// ready. If one fails, Start stops the others and returns the error.
func Start(ctx context.Context, o Options) (*Engines, error) {
	dir, err := filepath.Abs(o.DataDir)
	if err != nil {
		return nil, fmt.Errorf("starting the engines: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the data directory: %w", err)
	}
	lock, err := lockDataDir(dir)
	if err != nil {
		return nil, err
	}
	e := &Engines{
		addresses: o.Configured, lock: lock, embedders: map[string]*supervisor.Process{}, registered: map[string]bool{},
	}
	if err := e.start(ctx, dir, o); err != nil {
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
		defer cancel()
		return nil, errors.Join(err, e.Stop(stopCtx))
	}
	return e, nil
}

func (e *Engines) start(ctx context.Context, dir string, o Options) error {
	progress := serialize(o.Progress)
	options := func(name string, packages *install.Packages) engine.Options {
		return engine.Options{Dir: filepath.Join(dir, name), LogDir: filepath.Join(dir, "logs"),
			Packages: packages, Logger: o.Logger, Progress: progress}
	}
	e.engineOptions = options
	group, ctx := errgroup.WithContext(ctx)
	if len(o.Configured.KafkaBrokers) == 0 {
		group.Go(func() (err error) {
			e.kafka, err = StartKafka(ctx, KafkaOptions{Options: options(kafkaName, nil), SyncWrites: o.KafkaSyncWrites})
			return err
		})
	}
	if o.Embedder != nil && o.Configured.EmbedderURL == "" {
		group.Go(func() error { return e.startEmbedder(ctx, *o.Embedder, options) })
	}
	group.Go(func() error {
		wanted := e.processes(o)
		if len(wanted) == 0 {
			return nil
		}
		packages, err := Install(ctx, progress)
		if err != nil {
			return err
		}
		for name, start := range wanted {
			group.Go(func() error { return start(ctx, options(name, packages)) })
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return err
	}
	e.fillAddresses()
	return nil
}

// startEmbedder starts the embedder of the settings.
func (e *Engines) startEmbedder(
	ctx context.Context, settings EmbedderSettings, options func(string, *install.Packages) engine.Options,
) error {
	name := embedderFiles[cmp.Or(settings.Model, EmbedderModel)].name
	p, err := StartEmbedder(ctx, EmbedderOptions{Options: options(name, nil), EmbedderSettings: settings})
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.embedders[name], e.addresses.EmbedderURL = p, p.Address()
	return nil
}

// startFunc starts an engine as a child process.
type startFunc func(ctx context.Context, o engine.Options) (*supervisor.Process, error)

// processes returns the start function of each child-process engine without an address.
func (e *Engines) processes(options Options) map[string]func(context.Context, engine.Options) error {
	configured := options.Configured
	wanted := map[string]func(context.Context, engine.Options) error{}
	add := func(name, address string, process **supervisor.Process, start startFunc) {
		if address == "" {
			wanted[name] = func(ctx context.Context, o engine.Options) (err error) {
				*process, err = start(ctx, o)
				return err
			}
		}
	}
	add(clickhouseName, configured.ClickHouseURL, &e.clickhouse,
		func(ctx context.Context, o engine.Options) (*supervisor.Process, error) {
			return startClickHouse(ctx, o, Shards{Count: options.ClickHouseShards})
		})
	if configured.ClickHouseURL == "" && options.ClickHouseShards > 0 {
		e.addresses.ClickHouseCluster = ClickHouseCluster
	}
	add(valkeyName, configured.RedisURL, &e.valkey, StartValkey)
	add(milvusName, configured.MilvusAddress, &e.milvus, StartMilvus)
	add(postgresName, configured.PostgresURL, &e.postgres,
		func(ctx context.Context, o engine.Options) (*supervisor.Process, error) {
			return StartPostgres(ctx, PostgresOptions{Options: o})
		})
	return wanted
}

func (e *Engines) fillAddresses() {
	if e.kafka != nil {
		e.addresses.KafkaBrokers, e.addresses.KafkaSecurity = e.kafka.Brokers(), e.kafka.Security()
		e.addresses.Capabilities.Kafka = KafkaCapabilities
	}
	if e.milvus != nil {
		e.addresses.Capabilities.Milvus = MilvusCapabilities
	}
	for _, filled := range []struct {
		process *supervisor.Process
		address *string
	}{
		{e.clickhouse, &e.addresses.ClickHouseURL},
		{e.postgres, &e.addresses.PostgresURL},
		{e.valkey, &e.addresses.RedisURL},
		{e.milvus, &e.addresses.MilvusAddress},
	} {
		if filled.process != nil {
			*filled.address = filled.process.Address()
		}
	}
}

// Addresses returns the addresses of the engines, including the configured ones.
func (e *Engines) Addresses() Addresses { return e.addresses }

// Kafka returns the embedded broker, or nil if Kafka is configured.
func (e *Engines) Kafka() *Kafka { return e.kafka }

// Processes returns the engines that run as child processes.
func (e *Engines) Processes() []*supervisor.Process {
	var running []*supervisor.Process
	e.mu.Lock()
	for _, name := range slices.Sorted(maps.Keys(e.embedders)) {
		running = append(running, e.embedders[name])
	}
	e.mu.Unlock()
	for _, p := range []*supervisor.Process{e.clickhouse, e.milvus, e.valkey, e.postgres} {
		if p != nil {
			running = append(running, p)
		}
	}
	return running
}

// Register registers the metrics of the engines' restarts. registerer may be nil.
func (e *Engines) Register(registerer prometheus.Registerer) {
	for _, p := range []*supervisor.Process{e.clickhouse, e.milvus, e.valkey, e.postgres} {
		if p != nil {
			registerRestarts(registerer, p.Name(), func() float64 { return float64(p.Restarts()) })
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.registerer = registerer
	e.registerEmbedders()
}

func registerRestarts(registerer prometheus.Registerer, engine string, restarts func() float64) {
	promauto.With(registerer).NewCounterFunc(prometheus.CounterOpts{
		Name:        "livegraph_embedded_restarts_total",
		Help:        "Total number of restarts of an embedded engine after an unexpected exit.",
		ConstLabels: prometheus.Labels{"engine": engine},
	}, restarts)
}

// Stop stops the engines, Kafka first and Postgres last, and unlocks the data directory.
// An engine that does not stop before its timeout, or before ctx is done, is killed,
// which does not lose data. The users of the engines must stop before.
func (e *Engines) Stop(ctx context.Context) error {
	var errs []error
	if e.kafka != nil {
		errs = append(errs, e.kafka.Stop(ctx))
	}
	for _, p := range e.Processes() {
		errs = append(errs, p.Stop(ctx))
	}
	return errors.Join(append(errs, e.lock.release())...)
}

// serialize returns a function that serializes the calls of progress.
func serialize(progress func(engine.Event)) func(engine.Event) {
	if progress == nil {
		return nil
	}
	var mu sync.Mutex
	return func(e engine.Event) {
		mu.Lock()
		defer mu.Unlock()
		progress(e)
	}
}
