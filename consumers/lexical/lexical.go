// Package lexical keeps the text lane of search as the graphs are: a consumer of topic
// "graph.events" that writes what nodes are found by to Postgres.
//
// An event is a trigger and no data. It says which nodes were touched; they are read
// as they are now, and what is written follows from that alone (storage/postgres,
// ApplyLexical). So records may come twice, late, in another order or from the
// beginning again: what stands in the end is the same.
//
// They may also never come, because the log has lost them, or because the graph is
// older than the lane. Each workspace has in Postgres up to which change its lane is;
// where a change is missing, or that does not move, a [filler] makes the lane again
// from the nodes, beside the live events.
//
// Of terms that very many nodes have it lists the heaviest postings, see [champions].
package lexical

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/consumers"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// Deps are what the consumer works with. All are required except Logger, Metrics and
// Tracing.
type Deps struct {
	Log     *kafka.Client
	Graph   *stores.DB
	Config  Config
	Logger  *slog.Logger          // nil: slog.Default()
	Metrics prometheus.Registerer // nil: what is measured is not registered
	Tracing trace.TracerProvider  // nil: nothing is recorded
}

// Config bounds the consumer.
type Config struct {
	Group      string        // consumer group
	BatchNodes int           // touched nodes at which a batch is full; 0: 2,000
	BatchWait  time.Duration // see consumers.Config
	FetchBytes int32         // most bytes of one fetch
	Grace      time.Duration // see consumers.Config
	// FillEvery is how often it is looked whether a workspace lacks something, and whether
	// champion lists are due; 0: 10 s.
	FillEvery time.Duration
	// Behind is how long a workspace may stay behind what is published without any
	// progress, before it is filled again; 0: 5 minutes.
	Behind time.Duration
}

// Defaults of what is seldom chosen.
const (
	defaultBatchNodes = 2_000
	defaultFillEvery  = 10 * time.Second
	defaultBehind     = 5 * time.Minute
	batchBytes        = 16 << 20 // of records: texts of nodes are in them
)

// Consumer consumes topic graph.events. Run runs it; several, in one process or many,
// share the partitions.
type Consumer struct {
	deps    Deps
	logger  *slog.Logger
	loop    *consumers.Loop
	metrics *metrics
	filler  *filler
	lists   *champions
	parts   consumers.ChangeParts // of changes that were read
}

// New creates a consumer.
func New(deps Deps) *Consumer {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	cfg := &deps.Config
	if cfg.BatchNodes <= 0 {
		cfg.BatchNodes = defaultBatchNodes
	}
	if cfg.FillEvery <= 0 {
		cfg.FillEvery = defaultFillEvery
	}
	if cfg.Behind <= 0 {
		cfg.Behind = defaultBehind
	}
	c := &Consumer{deps: deps, logger: deps.Logger.With("component", "lexical"), metrics: newMetrics(deps.Metrics)}
	c.loop = consumers.New(consumers.Config{
		Name: "lexical", Group: cfg.Group, Topic: deps.Log.Topic(kafka.TopicEvents).Name,
		BatchRows: cfg.BatchNodes, BatchBytes: batchBytes, BatchWait: cfg.BatchWait, FetchBytes: cfg.FetchBytes,
		Grace: cfg.Grace, Tracing: deps.Tracing,
	}, handler{c}, deps.Log, c.logger, deps.Metrics)
	c.filler, c.lists = newFiller(c), newChampions(c)
	return c
}

// Run consumes and fills until ctx is done, then stores and commits what is in
// flight, for Config.Grace at most, and returns nil.
func (c *Consumer) Run(ctx context.Context) error {
	var work errgroup.Group
	work.Go(func() error { c.filler.run(ctx); return nil })
	work.Go(func() error { c.lists.run(ctx); return nil })
	work.Go(func() error { return c.loop.Run(ctx) })
	return work.Wait()
}

// Metrics returns the loop's counters.
func (c *Consumer) Metrics() *consumers.Metrics { return c.loop.Metrics() }

// handler is what the run loop sees of the consumer.
type handler struct{ *Consumer }

// Reset has nothing to forget.
func (handler) Reset() {}

// Discontinued has nothing to note: what the records of another topic of the name
// trigger is as right.
func (handler) Discontinued(int32, int64) {}

// Start begins as for all that consume events.
func (h handler) Start(ctx context.Context, committed map[int32]int64) (map[int32]int64, error) {
	return h.loop.StartOfEvents(ctx, committed)
}

// NewBatch returns an empty batch.
func (h handler) NewBatch() consumers.Batch { return newBatch(h.Consumer) }

// Version is nothing that events have.
func (handler) Version(*kgo.Record) uint64 { return 0 }

// Advance has nothing to note: Postgres knows how far each workspace is.
func (handler) Advance(context.Context, map[int32]int64) error { return nil }

// Refused reports which records cannot be read. They need no place of their own: the
// change that is missing has its workspace filled again.
func (h handler) Refused(_ context.Context, letters []kafka.DeadLetter) error {
	for i := range letters {
		r := letters[i].Record
		h.logger.Error(
			"an event cannot be read and is passed over", "partition", r.Partition, "offset", r.Offset, "reason",
			letters[i].Reason,
		)
		h.metrics.unreadable.Inc()
	}
	return nil
}
