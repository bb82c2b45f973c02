// Package embeddings keeps the search index in Milvus in step with the graph: a
// consumer of topic "graph.events" that embeds the texts of the nodes that changed,
// and a keeper that builds the index again when it has to be.
//
// An event is only the news that nodes may have changed. What is written follows from
// the nodes as they are in Postgres, read under a lock of the index and the workspace,
// and from what Postgres says the index holds of them. So events may come again, late,
// in any order or not at all: what the changes of a workspace are numbered by tells a
// gap, and what has touched nodes since is looked up. Nothing is written to Milvus
// before Postgres knows that it is about to be.
//
// Which index is searched is decided in Postgres (postgres.SearchIndex). A new one is
// built beside it and gets what changes meanwhile, too. See
// docs/adr/0021-search-index.md.
package embeddings

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/consumers"
	"github.com/livegraph/livegraph/internal/platform/lease"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// Deps are what the consumer works with. All are required except Logger, Metrics and
// Tracing.
type Deps struct {
	Log      *kafka.Client
	Graph    *stores.DB
	Vectors  *milvus.DB
	Embedder embed.Embedder
	Config   Config
	Logger   *slog.Logger          // nil: slog.Default()
	Metrics  prometheus.Registerer // nil: what is measured is not registered
	Tracing  trace.TracerProvider  // nil: nothing is recorded
}

// Config bounds the consumer. Zero is the default.
type Config struct {
	Group      string        // consumer group
	BatchNodes int           // nodes at which a batch of events is full; 1,000
	BatchWait  time.Duration // age at which it is due; 100 ms
	FetchBytes int32         // most bytes of one fetch; 8 MiB
	EmbedTexts int           // most texts in one call of the embedder; 64
	Grace      time.Duration // see consumers.Config

	// Collections is what the names of the collections begin with, and the alias of
	// the one that is searched; "livegraph".
	Collections string
	// CheckEvery is how often it is compared what Milvus holds and what it should; 30 s.
	CheckEvery time.Duration
	// BehindAfter is how old a change is, and how long the index has not moved, when it
	// is looked up without its event; 60 s.
	BehindAfter time.Duration
	// KeepOld is how long an index that was replaced stays for searches that have
	// begun; 30 s.
	KeepOld time.Duration
	// LeaseFor is how long the keeping waits for another process when one dies; 15 s.
	LeaseFor time.Duration
	// Flush says that what was written is flushed, by rows or by age; 2,000 and 30 s.
	Flush      bool
	FlushRows  int
	FlushAfter time.Duration
}

const (
	batchBytes  = 16 << 20               // of events
	keepEvery   = 500 * time.Millisecond // how often the keeper looks
	totalsEvery = 5 * time.Second        // how often the index is summed up for metrics
)

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		at    *time.Duration
		value time.Duration
	}{
		{&c.BatchWait, 100 * time.Millisecond}, {&c.CheckEvery, 30 * time.Second}, {&c.BehindAfter, time.Minute},
		{&c.KeepOld, 30 * time.Second}, {&c.LeaseFor, 15 * time.Second}, {&c.FlushAfter, 30 * time.Second},
	} {
		if *d.at <= 0 {
			*d.at = d.value
		}
	}
	for _, n := range []struct {
		at    *int
		value int
	}{{&c.BatchNodes, 1000}, {&c.EmbedTexts, 64}, {&c.FlushRows, 2000}} {
		if *n.at <= 0 {
			*n.at = n.value
		}
	}
	if c.FetchBytes <= 0 {
		c.FetchBytes = 8 << 20
	}
	if c.Collections == "" {
		c.Collections = "livegraph"
	}
	return c
}

// Consumer indexes the texts of nodes. Run runs it; several, in one process or many,
// share the partitions, and one of them keeps the index.
type Consumer struct {
	deps    Deps
	cfg     Config
	logger  *slog.Logger
	metrics *metrics
	loop    *consumers.Loop
	indexer *indexer
	keeper  *indexManager
	parts   consumers.ChangeParts // of changes that were read
}

// New creates a consumer.
func New(deps Deps) *Consumer {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	cfg := deps.Config.withDefaults()
	c := &Consumer{
		deps: deps, cfg: cfg, logger: deps.Logger.With("component", "embeddings"), metrics: newMetrics(deps.Metrics),
	}
	c.indexer = &indexer{
		db: deps.Graph, vectors: deps.Vectors, metrics: c.metrics,
		texts:   &embedding{embedder: deps.Embedder, most: cfg.EmbedTexts, logger: c.logger, metrics: c.metrics},
		flusher: newFlusher(deps.Vectors, cfg, c.logger),
	}
	c.keeper = &indexManager{
		Consumer: c, lease: lease.New(c.deps.Graph, leaseName, cfg.LeaseFor), wakeUp: make(chan struct{}, 1),
	}
	c.loop = consumers.New(consumers.Config{
		Name: "embeddings", Group: cfg.Group, Topic: deps.Log.Topic(kafka.TopicEvents).Name,
		BatchRows: cfg.BatchNodes, BatchBytes: batchBytes, BatchWait: cfg.BatchWait, FetchBytes: cfg.FetchBytes,
		Grace: cfg.Grace, Tracing: deps.Tracing,
	}, handler{c}, deps.Log, c.logger, deps.Metrics)
	return c
}

// Run works until ctx is done, then finishes what is in flight, for Config.Grace at
// most, and returns nil.
func (c *Consumer) Run(ctx context.Context) error {
	var work errgroup.Group
	work.Go(func() error { return c.loop.Run(ctx) })
	work.Go(func() error { c.keeper.run(ctx); return nil })
	work.Go(func() error { c.keeper.watch(ctx); return nil })
	work.Go(func() error { c.indexer.flusher.run(ctx); return nil })
	return work.Wait()
}

// Metrics returns the loop's counters.
func (c *Consumer) Metrics() *consumers.Metrics { return c.loop.Metrics() }

// handler is what the run loop sees of the consumer.
type handler struct{ *Consumer }

// Reset has nothing to forget.
func (handler) Reset() {}

// Discontinued has nothing to note: events of another topic are told by their
// sequences, like any others.
func (handler) Discontinued(int32, int64) {}

// Start begins as for all that consume events.
func (h handler) Start(ctx context.Context, committed map[int32]int64) (map[int32]int64, error) {
	return h.loop.StartOfEvents(ctx, committed)
}

// NewBatch returns an empty batch.
func (h handler) NewBatch() consumers.Batch {
	return &batch{c: h.Consumer, unsure: map[indexedRef]bool{}}
}

// Version is nothing that events have.
func (handler) Version(*kgo.Record) uint64 { return 0 }

// Advance has nothing to note: what was written is noted with it.
func (handler) Advance(context.Context, map[int32]int64) error { return nil }
