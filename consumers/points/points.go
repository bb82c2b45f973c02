// Package points is the consumer of topic "points": it stores the points of its
// records in ClickHouse, and with them what is known of their series and sources.
//
// Every point is stored under a version made of its record's generation and
// offset, so that of two points of one series and time the one accepted last
// stands, and reading the log again, from anywhere, changes nothing. Deletions are
// records too: they become tombstones in Postgres before anything else happens,
// and no point under a tombstone is ever stored again. See
// docs/adr/0003-versions-and-tombstones.md.
//
// The package owns the way from records to columns. The run loop is that of
// package consumers; the statements are those of storage/clickhouse.
package points

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/trace"

	"github.com/livegraph/livegraph/consumers"
	"github.com/livegraph/livegraph/internal/platform/bufferpool"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/registry"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// Topic is the name under which generations are recorded: the topic's, without
// the prefix of this cluster's names.
const Topic = "points"

// knownSeries is how many series are remembered as copied to ClickHouse. When
// they are more, the copies are written again, which changes nothing.
const knownSeries = 2_000_000

// Deps are what the consumer works with. All are required except Logger and Metrics.
type Deps struct {
	Log      *kafka.Client
	Points   *clickhouse.DB
	Registry *stores.DB
	Config   Config
	Logger   *slog.Logger          // nil: slog.Default()
	Metrics  prometheus.Registerer // nil: what is measured is not registered
	Tracing  trace.TracerProvider  // nil: nothing is recorded
}

// Config bounds the consumer, see consumers.Config.
type Config struct {
	Group      string
	BatchRows  int
	BatchBytes int
	BatchWait  time.Duration
	FetchBytes int32
	Grace      time.Duration
}

// Consumer consumes topic points. Run runs it; several, in one process or many,
// share the partitions.
type Consumer struct {
	deps       Deps
	logger     *slog.Logger
	loop       *consumers.Loop
	tombstones *tombstones
	copied     *copied
	replaced   consumers.Replaced

	mu          sync.Mutex
	topicID     [16]byte
	generations registry.Generations
	horizon     time.Time // tombstones of before are not known any more; zero: all are
	asOf        int64     // up to where tombstones are known; 0: nothing is yet
	begun, read uint64    // calls of follow: how many began, and which of them brought what is known

	columns *bufferpool.Pool[*columns]
	sorters *bufferpool.Pool[*sorter] // one, as batches are prepared one at a time
	records *bufferpool.Pool[*record] // by how many spans they have room for
}

// New creates a consumer.
func New(deps Deps) *Consumer {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	c := newCore(deps)
	cfg := deps.Config
	c.loop = consumers.New(consumers.Config{
		Name: Topic, Group: cfg.Group, Topic: deps.Log.PointsTopic().Name, BatchRows: cfg.BatchRows,
		BatchBytes: cfg.BatchBytes,
		BatchWait:  cfg.BatchWait, FetchBytes: cfg.FetchBytes, Grace: cfg.Grace,
		StoreAtOnce: storeAtOnce, Tracing: deps.Tracing,
	}, handler{c}, deps.Log, c.logger, deps.Metrics)
	return c
}

// newCore makes what batches work with: a consumer without its loop.
func newCore(deps Deps) *Consumer {
	return &Consumer{
		deps: deps, logger: deps.Logger.With("component", "points"),
		tombstones: newTombstones(), copied: newCopied(knownSeries),
		columns: bufferpool.New[*columns](spareColumns, spareTime), sorters: bufferpool.New[*sorter](1, spareTime),
		records: bufferpool.New[*record](spareSpans, spareTime),
	}
}

// Run consumes until ctx is done, then stores and commits what is in flight, for
// Config.Grace at most, and returns nil.
func (c *Consumer) Run(ctx context.Context) error {
	return c.loop.Run(ctx)
}

// Metrics returns the consumer's counters.
func (c *Consumer) Metrics() *consumers.Metrics { return c.loop.Metrics() }

// ResolveGenerations compares the topic with what is recorded of it and records
// new generations where they are due. The consumer does so whenever it is given
// partitions. A producer has to do so before it goes by a new state of the topic
// (kafka.Options.OnTopicChange): a point that it sends to another partition than
// before must have a higher version than those before.
func ResolveGenerations(ctx context.Context, log *kafka.Client, registry *stores.DB, logger *slog.Logger) error {
	_, _, err := resolve(ctx, log, registry, logger, nil)
	return err
}

// resolve does it and also gives all generations and the state of the topic that
// they were resolved by.
func resolve(
	ctx context.Context, log *kafka.Client, registry *stores.DB, logger *slog.Logger, replaced map[int32]int64,
) (registry.Generations, kafka.TopicState, error) {
	var seen kafka.TopicState
	all, raised, err := registry.ResolveGenerations(ctx, Topic, func(ctx context.Context) (postgres.LogState, error) {
		var err error
		if seen, err = log.Observe(ctx); err != nil {
			return postgres.LogState{}, err
		}
		return consumers.LogState(seen, replaced), nil
	})
	if err != nil {
		return nil, kafka.TopicState{}, fmt.Errorf("resolving generations: %w", err)
	}
	for _, g := range raised {
		level := slog.LevelWarn
		if g.Generation == 1 {
			level = slog.LevelInfo
		}
		logger.Log(ctx, level, "a generation begins", "partition", g.Partition, "generation", g.Generation,
			"fromOffset", g.FromOffset, "reason", g.Reason)
	}
	return all, seen, nil
}

// handler is what the run loop sees of the consumer.
type handler struct{ *Consumer }

// Reset forgets which topic the records belong to.
func (h handler) Reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.topicID = [16]byte{}
}

// Discontinued remembers where records were replaced, for the next resolve.
func (h handler) Discontinued(partition int32, from int64) { h.replaced.Note(partition, from) }

// Start resolves the generations, loads the tombstones, and begins where both the
// group and the watermarks say that all before is stored. A commit above the
// watermark is not believed: it belongs to an earlier topic of the name.
func (h handler) Start(ctx context.Context, committed map[int32]int64) (map[int32]int64, error) {
	replaced := h.replaced.Known()
	generations, seen, err := resolve(ctx, h.deps.Log, h.deps.Registry, h.logger, replaced)
	if err != nil {
		return nil, err
	}
	marks, err := h.deps.Registry.Watermarks(ctx, seen.ID)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	if h.topicID != [16]byte{} && h.topicID != seen.ID {
		h.mu.Unlock()
		return nil, kafka.NewDiscontinuity(0, -1, errors.New("the topic was created again"))
	}
	h.topicID, h.generations = seen.ID, generations
	h.mu.Unlock()
	h.replaced.Recorded(replaced)
	if _, err := h.refresh(ctx); err != nil {
		return nil, err
	}
	from := make(map[int32]int64, len(committed))
	for p, at := range committed {
		if int(p) >= len(seen.State) {
			return nil, fmt.Errorf("partition %d is assigned and the topic has %d", p, len(seen.State))
		}
		from[p] = h.begin(p, at, marks, seen.State[p])
	}
	return from, nil
}

// begin decides where one partition begins.
func (h handler) begin(partition int32, committed int64, marks map[int32]int64, log kafka.PartitionState) int64 {
	mark, stored := marks[partition]
	at := min(committed, mark)
	switch {
	case committed < 0 || !stored:
		at = log.Start
		if committed >= 0 || stored || log.Start > 0 {
			h.logger.Warn("partition is consumed from the log's start", "partition", partition,
				"committed", committed, "watermark", mark, "start", log.Start)
		}
	case at < log.Start:
		h.loop.Metrics().Lost.Add(log.Start - at)
		h.logger.Error("DATA LOSS: records were trimmed before they were consumed", "partition", partition,
			"next", at, "start", log.Start, "records", log.Start-at)
		at = log.Start
	case at > log.End:
		at = log.Start
	}
	return at
}

// NewBatch returns an empty batch.
func (h handler) NewBatch() consumers.Batch { return &batch{c: h.Consumer} }

// Version returns the version of a record's points: the original one if the record
// was redriven.
func (h handler) Version(r *kgo.Record) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	v, _ := versionOf(r, h.topicID, h.generations)
	return v
}

// Advance raises the watermarks.
func (h handler) Advance(ctx context.Context, next map[int32]int64) error {
	h.mu.Lock()
	id := h.topicID
	h.mu.Unlock()
	return h.deps.Registry.AdvanceWatermarks(ctx, id, next)
}

// refresh reads generations, and which sources have new tombstones, and gives up to
// where. It is done before every batch is prepared, because a producer in another
// process may have gone over to a new state of the topic just before it produced what
// we read.
func (c *Consumer) refresh(ctx context.Context) (asOf int64, err error) {
	c.mu.Lock()
	since := c.asOf
	c.mu.Unlock()
	state, err := c.follow(ctx, since)
	return state.AsOf, err
}

// follow reads what has changed since an earlier state and takes it up.
func (c *Consumer) follow(ctx context.Context, since int64) (registry.ConsumerState, error) {
	c.mu.Lock()
	c.begun++
	began := c.begun
	c.mu.Unlock()
	state, err := c.deps.Registry.ConsumerState(ctx, Topic, since)
	if err != nil {
		return registry.ConsumerState{}, err
	}
	c.tombstones.forget(state.Changed, state.More || len(state.Gone) > 0)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asOf = max(c.asOf, state.AsOf)
	if began > c.read { // else another batch has read what came after
		c.read, c.generations, c.horizon = began, state.Generations, state.Horizon
	}
	return state, nil
}
