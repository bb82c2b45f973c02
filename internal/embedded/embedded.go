// Package embedded runs the embedded editions of the engines, so that a person
// needs nothing installed but Go and Python: ClickHouse (the chdb library behind
// an HTTP front), Postgres, Valkey and milvus-lite out of one hash-pinned file of
// Python packages, an embedding model out of another, and Kafka's protocol by a broker
// inside this process.
//
// An engine whose address is configured is not started; of the others, [Start]
// gives the addresses, and nothing below can tell them from servers elsewhere.
// All state is in one folder a data directory, its port and password included,
// so both stay the same from start to start. The engines run as child processes:
// they listen on the loopback only, are restarted when they crash, stopped in
// order, and end with this process however it ends.
//
// Packages are installed once a machine and user, into a cache (see [Install]).
package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/platform/config"
)

// Addresses are where the engines answer.
type Addresses struct {
	KafkaBrokers  []string             // host:port
	KafkaSecurity config.KafkaSecurity // how to log in there
	ClickHouseURL string               // clickhouse://… or http://…, with user, password and database
	PostgresURL   string               // postgres://…
	RedisURL      string               // redis://…
	MilvusAddress string               // host:port
	EmbedderURL   string               // http://:key@host:port/v1, of an OpenAI-compatible API

	// Capabilities are what the engines that were started do differently; of those that
	// are configured, as configured.
	Capabilities config.Capabilities
}

// Options says which engines to start, and where.
type Options struct {
	DataDir    string    // made if missing; one server at a time may use it
	Configured Addresses // engines that have an address here are not started

	Embedder        *EmbedderSettings // of the embedder; nil: it is not started
	KafkaSyncWrites bool              // fsync each batch of the embedded Kafka before it is acknowledged
	Progress        func(Event)       // called from several goroutines, one at a time; may be nil
	Logger          *slog.Logger
}

// Engines are the engines of one data directory.
type Engines struct {
	addresses Addresses
	lock      *dataLock

	kafka      *Kafka
	clickhouse *Process
	postgres   *Process
	valkey     *Process
	milvus     *Process

	site       func(name string, packages *Packages) EngineOptions
	mu         sync.Mutex
	embedder   *Process // it may be started and stopped while the others run
	registerer prometheus.Registerer
	registered bool // the embedder
}

// Start takes the data directory and starts, at the same time, each engine that
// has no configured address; the embedder only if it is wanted. It returns when all answer. When one does not, it
// stops the others and says why.
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
	e := &Engines{addresses: o.Configured, lock: lock}
	if err := e.start(ctx, dir, o); err != nil {
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortLimit)
		defer cancel()
		return nil, errors.Join(err, e.Stop(stopCtx))
	}
	return e, nil
}

func (e *Engines) start(ctx context.Context, dir string, o Options) error {
	progress := serially(o.Progress)
	site := func(name string, packages *Packages) EngineOptions {
		return EngineOptions{Dir: filepath.Join(dir, name), LogDir: filepath.Join(dir, "logs"),
			Packages: packages, Logger: o.Logger, Progress: progress}
	}
	e.site = site
	group, ctx := errgroup.WithContext(ctx)
	if len(o.Configured.KafkaBrokers) == 0 {
		group.Go(func() (err error) {
			e.kafka, err = StartKafka(ctx, KafkaOptions{EngineOptions: site(kafkaName, nil), SyncWrites: o.KafkaSyncWrites})
			return err
		})
	}
	if o.Embedder != nil && o.Configured.EmbedderURL == "" {
		group.Go(func() (err error) {
			e.embedder, err = StartEmbedder(ctx, EmbedderOptions{
				EngineOptions: site(embedderName, nil), EmbedderSettings: *o.Embedder,
			})
			return err
		})
	}
	group.Go(func() error {
		wanted := e.processes(o.Configured)
		if len(wanted) == 0 {
			return nil
		}
		packages, err := Install(ctx, progress)
		if err != nil {
			return err
		}
		for name, start := range wanted {
			group.Go(func() error { return start(ctx, site(name, packages)) })
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return err
	}
	e.fillAddresses()
	return nil
}

// processes are the engines that have no address, each with what starts it.
func (e *Engines) processes(configured Addresses) map[string]func(context.Context, EngineOptions) error {
	wanted := map[string]func(context.Context, EngineOptions) error{}
	want := func(name, address string, into **Process, start func(context.Context, EngineOptions) (*Process, error)) {
		if address == "" {
			wanted[name] = func(ctx context.Context, o EngineOptions) (err error) {
				*into, err = start(ctx, o)
				return err
			}
		}
	}
	want(clickhouseName, configured.ClickHouseURL, &e.clickhouse, StartClickHouse)
	want(valkeyName, configured.RedisURL, &e.valkey, StartValkey)
	want(milvusName, configured.MilvusAddress, &e.milvus, StartMilvus)
	want(postgresName, configured.PostgresURL, &e.postgres, func(ctx context.Context, o EngineOptions) (*Process, error) {
		return StartPostgres(ctx, PostgresOptions{EngineOptions: o})
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
		process *Process
		address *string
	}{
		{e.clickhouse, &e.addresses.ClickHouseURL},
		{e.postgres, &e.addresses.PostgresURL},
		{e.valkey, &e.addresses.RedisURL},
		{e.milvus, &e.addresses.MilvusAddress},
		{e.embedder, &e.addresses.EmbedderURL},
	} {
		if filled.process != nil {
			*filled.address = filled.process.Address()
		}
	}
}

// Addresses are the engines' addresses, the configured ones included.
func (e *Engines) Addresses() Addresses { return e.addresses }

// Kafka is the embedded broker; nil when Kafka is configured.
func (e *Engines) Kafka() *Kafka { return e.kafka }

// Processes are the engines that run as child processes.
func (e *Engines) Processes() []*Process {
	var running []*Process
	e.mu.Lock()
	embedder := e.embedder
	e.mu.Unlock()
	for _, p := range []*Process{embedder, e.clickhouse, e.milvus, e.valkey, e.postgres} {
		if p != nil {
			running = append(running, p)
		}
	}
	return running
}

// Register makes the engines' restarts known to the registerer; nil: nothing
// happens.
func (e *Engines) Register(registerer prometheus.Registerer) {
	for _, p := range []*Process{e.clickhouse, e.milvus, e.valkey, e.postgres} {
		if p != nil {
			registerRestarts(registerer, p.Name(), func() float64 { return float64(p.Restarts()) })
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.registerer = registerer
	e.registerEmbedder()
}

func registerRestarts(registerer prometheus.Registerer, engine string, restarts func() float64) {
	promauto.With(registerer).NewCounterFunc(prometheus.CounterOpts{
		Name:        "livegraph_embedded_restarts_total",
		Help:        "Times that an embedded engine ended unexpectedly and was started again.",
		ConstLabels: prometheus.Labels{"engine": engine},
	}, restarts)
}

// Stop ends the engines, the log first and the registry last, and lets go of the
// data directory. Each has its time limit; past it, or past ctx, it is killed,
// which the engines survive. Anyone who uses them stops before.
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

// serially makes calls of progress come one at a time.
func serially(progress func(Event)) func(Event) {
	if progress == nil {
		return nil
	}
	var mu sync.Mutex
	return func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		progress(e)
	}
}
