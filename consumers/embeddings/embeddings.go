// Package embeddings keeps the search index in Milvus up to date with the graph. It has a
// consumer of topic "graph.events" that embeds the texts of changed nodes, and an index manager
// that rebuilds the index when necessary.
//
// An event only signals that nodes may have changed. The consumer compares the current nodes in
// Postgres, read under a lock of the index and the workspace, with the indexed nodes that
// Postgres records. So events may be repeated, late, out of order or missing: a gap in the
// sequences of a workspace reveals missing events, and the nodes changed since are read from
// Postgres. Each write to Milvus is recorded in Postgres before it starts.
//
// Postgres determines which index is searched (postgres.SearchIndex). A new index is built in
// parallel and also receives the changes made in the meantime. See
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
	"github.com/livegraph/livegraph/internal/platform/outage"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// Deps are the dependencies of the consumer. All are required except Logger, Metrics and
// Tracing.
type Deps struct {
	Log      *kafka.Client
	Graph    *stores.DB
	Vectors  *milvus.DB
	Embedder embed.Embedder
	Config   Config
	Logger   *slog.Logger          // nil: slog.Default()
	Metrics  prometheus.Registerer // nil: the metrics are not registered
	Tracing  trace.TracerProvider  // nil: no spans are recorded
}

// Config configures the consumer. The zero value of a field selects its default.
type Config struct {
	Group      string        // consumer group
	BatchNodes int           // nodes at which a batch of events is full; 1,000
	BatchWait  time.Duration // age at which it is due; 100 ms
	FetchBytes int32         // maximum size of one fetch; 8 MiB
	EmbedTexts int           // maximum number of texts in one call of the embedder; 64
	Grace      time.Duration // see consumers.Config

	// Collections is the prefix of the names of the collections, and the alias of the one
	// that is searched; "livegraph".
	Collections string
	// CheckEvery is the interval at which the vectors in Milvus are compared with those that
	// Postgres has recorded; 30 s.
	CheckEvery time.Duration
	// BehindAfter is the age of a change, and the time without progress of the index, after
	// which the change is read from Postgres without its event; 60 s.
	BehindAfter time.Duration
	// KeepOld is how long a replaced index is kept for searches in progress; 30 s.
	KeepOld time.Duration
	// LeaseFor is the duration of the index manager's lease, after which another process takes
	// over from one that has died; 15 s.
	LeaseFor time.Duration
	// Flush enables flushing of written vectors by rows or by age; 2,000 and 30 s.
	Flush      bool
	FlushRows  int
	FlushAfter time.Duration
}

const (
	batchBytes        = 16 << 20               // of a batch of events
	reconcileInterval = 500 * time.Millisecond // interval of the index manager
	totalsInterval    = 5 * time.Second        // interval at which the totals of the index are read for metrics
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

// Consumer indexes the texts of nodes. Several consumers, in one or more processes, share the
// partitions, and one of them manages the index.
type Consumer struct {
	deps    Deps
	cfg     Config
	logger  *slog.Logger
	metrics *metrics
	loop    *consumers.Loop
	indexer *indexer
	manager *indexManager
	parts   consumers.ChangeParts // parts of changes that were read
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
		textEmbedder: &textEmbedder{embedder: deps.Embedder, maxTexts: cfg.EmbedTexts, logger: c.logger, metrics: c.metrics},
		flusher:      newFlusher(deps.Vectors, cfg, c.logger),
	}
	c.manager = &indexManager{
		Consumer: c, lease: lease.New(c.deps.Graph, leaseName, cfg.LeaseFor), wakeUp: make(chan struct{}, 1),
		outages: outage.Log{
			Failed: "the search index cannot be kept; it is tried again", Recovered: "the search index is kept again",
		},
	}
	c.loop = consumers.New(consumers.Config{
		Name: "embeddings", Group: cfg.Group, Topic: deps.Log.Topic(kafka.TopicEvents).Name,
		BatchRows: cfg.BatchNodes, BatchBytes: batchBytes, BatchWait: cfg.BatchWait, FetchBytes: cfg.FetchBytes,
		Grace: cfg.Grace, Tracing: deps.Tracing,
	}, handler{c}, deps.Log, c.logger, deps.Metrics)
	return c
}

// Run consumes until ctx is done. Then it finishes the batches in flight, for at most
// Config.Grace, and returns nil.
func (c *Consumer) Run(ctx context.Context) error {
	var work errgroup.Group
	work.Go(func() error { return c.loop.Run(ctx) })
	work.Go(func() error { c.manager.run(ctx); return nil })
	work.Go(func() error { c.manager.runMetrics(ctx); return nil })
	work.Go(func() error { c.indexer.flusher.run(ctx); return nil })
	return work.Wait()
}

// Metrics returns the loop's counters.
func (c *Consumer) Metrics() *consumers.Metrics { return c.loop.Metrics() }

// handler implements consumers.Handler.
type handler struct{ *Consumer }

// Reset does nothing.
func (handler) Reset() {}

// Discontinued does nothing: events of another topic are detected by their sequences, like all
// others.
func (handler) Discontinued(int32, int64) {}

// Start implements consumers.Handler with consumers.Loop.EventStartOffsets.
func (h handler) Start(ctx context.Context, committed map[int32]int64) (map[int32]int64, error) {
	return h.loop.EventStartOffsets(ctx, committed)
}

// NewBatch returns an empty batch.
func (h handler) NewBatch() consumers.Batch {
	return &batch{c: h.Consumer, rewrite: map[indexedRef]bool{}}
}

// Version returns 0: events have no version.
func (handler) Version(*kgo.Record) uint64 { return 0 }

// Advance does nothing: the progress is recorded with each write.
func (handler) Advance(context.Context, map[int32]int64) error { return nil }
