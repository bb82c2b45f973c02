// Package lexical keeps the text index of search, which logs and metrics call the text lane, up
// to date with the graphs. It is a consumer of topic "graph.events" that writes the terms of
// nodes to Postgres.
//
// An event is only a trigger. It names the touched nodes. The consumer reads their current state,
// and writes only what follows from it (storage/postgres, ApplyLexical). So events may be
// repeated, late or out of order, or be read again from the beginning: the result is the same.
//
// Events may also be missing, because the log has lost them or because the graph is older than
// the index. Postgres stores for each workspace the change up to which its index is complete. If
// a change is missing or the index makes no progress, a [filler] builds the index again from the
// nodes, in parallel with the live events.
//
// For very frequent terms the package maintains lists of the heaviest postings, see [champions].
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

// Deps are the dependencies of the consumer. All are required except Logger, Metrics and
// Tracing.
type Deps struct {
	Log     *kafka.Client
	Graph   *stores.DB
	Config  Config
	Logger  *slog.Logger          // nil: slog.Default()
	Metrics prometheus.Registerer // nil: the metrics are not registered
	Tracing trace.TracerProvider  // nil: no spans are recorded
}

// Config configures the consumer.
type Config struct {
	Group      string        // consumer group
	BatchNodes int           // touched nodes at which a batch is full; 0: 2,000
	BatchWait  time.Duration // see consumers.Config
	FetchBytes int32         // maximum size of one fetch
	Grace      time.Duration // see consumers.Config
	// FillEvery is the interval of the checks for incomplete workspaces and due champion
	// lists; 0: 10 s.
	FillEvery time.Duration
	// Behind is the time without progress after which a workspace that is behind the published
	// changes is filled again; 0: 5 minutes.
	Behind time.Duration
}

// Defaults and fixed limits.
const (
	defaultBatchNodes = 2_000
	defaultFillEvery  = 10 * time.Second
	defaultBehind     = 5 * time.Minute
	batchBytes        = 16 << 20 // of records, which contain the texts of nodes
)

// Consumer consumes topic graph.events. Several consumers, in one or more processes, share the
// partitions.
type Consumer struct {
	deps      Deps
	logger    *slog.Logger
	loop      *consumers.Loop
	metrics   *metrics
	filler    *filler
	champions *champions
	parts     consumers.ChangeParts // parts of changes that were read
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
		Grace: cfg.Grace, Tracing: deps.Tracing, Hooks: consumers.Hooks{Refused: handler{c}.refused},
	}, handler{c}, deps.Log, c.logger, deps.Metrics)
	c.filler, c.champions = newFiller(c), newChampions(c)
	return c
}

// Run consumes and fills until ctx is done. Then it stores and commits the batches in flight, for
// at most Config.Grace, and returns nil.
func (c *Consumer) Run(ctx context.Context) error {
	var work errgroup.Group
	work.Go(func() error { c.filler.run(ctx); return nil })
	work.Go(func() error { c.champions.run(ctx); return nil })
	work.Go(func() error { return c.loop.Run(ctx) })
	return work.Wait()
}

// Metrics returns the loop's counters.
func (c *Consumer) Metrics() *consumers.Metrics { return c.loop.Metrics() }

// handler implements consumers.Handler.
type handler struct{ *Consumer }

// Reset does nothing.
func (handler) Reset() {}

// Discontinued does nothing: the records of another topic of the same name are valid triggers,
// too.
func (handler) Discontinued(int32, int64) {}

// Start implements consumers.Handler with consumers.Loop.EventStartOffsets.
func (h handler) Start(ctx context.Context, committed map[int32]int64) (map[int32]int64, error) {
	return h.loop.EventStartOffsets(ctx, committed)
}

// NewBatch returns an empty batch.
func (h handler) NewBatch() consumers.Batch { return newBatch(h.Consumer) }

// Version returns 0: events have no version.
func (handler) Version(*kgo.Record) uint64 { return 0 }

// Advance does nothing: Postgres stores the progress of each workspace.
func (handler) Advance(context.Context, map[int32]int64) error { return nil }

// refused logs records that cannot be read. They do not become dead letters: because their
// changes are missing, their workspaces are filled again.
func (h handler) refused(_ context.Context, deadLetters []kafka.DeadLetter) error {
	for i := range deadLetters {
		r := deadLetters[i].Record
		h.logger.Error(
			"an event cannot be read and is passed over", "partition", r.Partition, "offset", r.Offset, "reason",
			deadLetters[i].Reason,
		)
		h.metrics.unreadable.Inc()
	}
	return nil
}
