// Package points is the consumer of topic "points". It stores the points of its records
// in ClickHouse, together with the identities of their series and the activity of their
// sources.
//
// The version of a point consists of its record's generation and offset. Of two points of
// one series and time, the one accepted last therefore wins, and reading the log again,
// from any offset, changes nothing. Deletions are records too: they become tombstones in
// Postgres before anything else happens, and a point that a tombstone covers is never
// stored again. See docs/adr/0003-versions-and-tombstones.md.
//
// The package converts records to columns. Package consumers has the run loop, and
// storage/clickhouse the statements.
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
	"github.com/livegraph/livegraph/storage/postgres/registry"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// Topic is the name under which generations are recorded: the name of the topic without
// the prefix of this installation.
const Topic = "points"

// maxRememberedSeries is the maximum number of series that are remembered as stored in
// ClickHouse. When there are more, their rows are written again, which changes nothing.
const maxRememberedSeries = 2_000_000

// pollPause is how long records of small requests are left in the log, so that they are fetched
// together.
const pollPause = 10 * time.Millisecond

// maxWaitFactor is the maximum time between two small batches, as a multiple of BatchWait.
const maxWaitFactor = 3

// Deps are the dependencies of the consumer. All are required except Logger, Metrics and
// Tracing.
type Deps struct {
	Log      *kafka.Client
	Points   *clickhouse.DB
	Registry *stores.DB
	Config   Config
	Logger   *slog.Logger          // nil: slog.Default()
	Metrics  prometheus.Registerer // nil: metrics are not registered
	Tracing  trace.TracerProvider  // nil: no traces
}

// Config sets the limits of the consumer, see consumers.Config.
type Config struct {
	Group      string
	BatchRows  int
	BatchBytes int
	BatchWait  time.Duration
	FetchBytes int32
	Grace      time.Duration
	// Rollups: rollups of the points are computed while they are stored, for package rollups.
	Rollups bool
}

// Consumer consumes topic points. Several consumers, in one process or in many, share the
// partitions.
type Consumer struct {
	deps         Deps
	logger       *slog.Logger
	loop         *consumers.Loop
	tombstones   *tombstones
	storedSeries *seriesCache
	activity     activity
	aggregator   *aggregator   // nil: rollups are computed from stored points
	rollups      *rollupWriter // nil without aggregator
	replaced     consumers.Replaced

	mu          sync.Mutex
	topicID     [16]byte
	generations registry.Generations
	horizon     time.Time // earlier tombstones may have been pruned; zero: none have
	asOf        int64     // position up to which changes of tombstones were read; 0: none were
	syncSeq     uint64    // number of syncState calls that were started
	appliedSeq  uint64    // the call whose generations and horizon are in use

	columns *bufferpool.Pool[*columns]
	sorters *bufferpool.Pool[*sorter] // one, because batches are prepared one at a time
	records *bufferpool.Pool[*record] // sized by the capacity of their spans
}

// New creates a consumer.
func New(deps Deps) *Consumer {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	c := newCore(deps)
	cfg := deps.Config
	if cfg.Rollups { // not for a replay, because points that are stored again have several rows
		c.aggregator, c.rollups = newAggregator(), newRollupWriter(deps.Points.InsertRollups, c.logger)
	}
	c.loop = consumers.New(consumers.Config{
		Name: Topic, Group: cfg.Group, Topic: deps.Log.PointsTopic().Name, BatchRows: cfg.BatchRows,
		BatchBytes: cfg.BatchBytes,
		BatchWait:  cfg.BatchWait, MaxWait: maxWaitFactor * cfg.BatchWait, PollPause: pollPause,
		FetchBytes: cfg.FetchBytes, Grace: cfg.Grace,
		StoreAtOnce: concurrentStores, Tracing: deps.Tracing,
		Hooks: consumers.Hooks{DeadLetters: handler{c}.noteDeadLetters},
	}, handler{c}, deps.Log, c.logger, deps.Metrics)
	return c
}

// newCore creates a consumer without a run loop, as batches need it.
func newCore(deps Deps) *Consumer {
	return &Consumer{
		deps: deps, logger: deps.Logger.With("component", "points"),
		tombstones: newTombstones(), storedSeries: newSeriesCache(maxRememberedSeries),
		columns: bufferpool.New[*columns](pooledColumns, poolIdleTime), sorters: bufferpool.New[*sorter](1, poolIdleTime),
		records: bufferpool.New[*record](pooledSpans, poolIdleTime),
	}
}

// Run consumes until ctx is done. It then stores and commits the batches in flight, for
// at most Config.Grace, and returns nil.
func (c *Consumer) Run(ctx context.Context) error {
	defer c.rollups.close()
	return c.loop.Run(ctx)
}

// Metrics returns the consumer's counters.
func (c *Consumer) Metrics() *consumers.Metrics { return c.loop.Metrics() }

// ResolveGenerations compares the topic with its recorded state and records the new
// generations that follow from the difference. The consumer calls it whenever partitions
// are assigned to it. A producer must call it before it uses a new state of the topic
// (kafka.Options.OnTopicChange), because a point that it sends to a different partition
// must have a higher version than all earlier points.
func ResolveGenerations(ctx context.Context, log *kafka.Client, registry *stores.DB, logger *slog.Logger) error {
	_, _, err := resolveGenerations(ctx, log, registry, logger, nil)
	return err
}

// resolveGenerations does the work of ResolveGenerations. It also returns all generations
// and the state of the topic from which they were resolved.
func resolveGenerations(
	ctx context.Context, log *kafka.Client, registry *stores.DB, logger *slog.Logger, replaced map[int32]int64,
) (registry.Generations, kafka.TopicState, error) {
	observer := consumers.LogObserver{Log: log, Topic: kafka.TopicPoints, Replaced: replaced}
	all, raised, err := registry.ResolveGenerations(ctx, Topic, observer.Observe)
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
	return all, observer.Seen, nil
}

// handler implements the interface that the run loop requires.
type handler struct{ *Consumer }

// Reset clears the id of the topic.
func (h handler) Reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.topicID = [16]byte{}
}

// Discontinued stores the offset from which records were replaced, for the next call of
// resolveGenerations.
func (h handler) Discontinued(partition int32, from int64) { h.replaced.Add(partition, from) }

// Start resolves the generations, reads the changes of tombstones, and returns the start
// offset of each partition: the lower one of the committed offset and the watermark. A
// committed offset above the watermark is not used, because it belongs to an earlier topic
// of the same name.
func (h handler) Start(ctx context.Context, committed map[int32]int64) (map[int32]int64, error) {
	replaced := h.replaced.Offsets()
	generations, seen, err := resolveGenerations(ctx, h.deps.Log, h.deps.Registry, h.logger, replaced)
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
	h.replaced.Remove(replaced)
	if _, err := h.refresh(ctx); err != nil {
		return nil, err
	}
	from := make(map[int32]int64, len(committed))
	for p, offset := range committed {
		if int(p) >= len(seen.State) {
			return nil, fmt.Errorf("partition %d is assigned and the topic has %d", p, len(seen.State))
		}
		from[p] = h.startOffset(p, offset, marks, seen.State[p])
	}
	return from, nil
}

// startOffset returns the offset at which consumption of a partition starts.
func (h handler) startOffset(partition int32, committed int64, marks map[int32]int64, log kafka.PartitionState) int64 {
	mark, stored := marks[partition]
	start := min(committed, mark)
	switch {
	case committed < 0 || !stored:
		start = log.Start
		if committed >= 0 || stored || log.Start > 0 {
			h.logger.Warn("partition is consumed from the log's start", "partition", partition,
				"committed", committed, "watermark", mark, "start", log.Start)
		}
	case start < log.Start:
		h.loop.Metrics().Lost.Add(log.Start - start)
		h.logger.Error("DATA LOSS: records were trimmed before they were consumed", "partition", partition,
			"next", start, "start", log.Start, "records", log.Start-start)
		start = log.Start
	}
	return start // above log.End if more was stored since the log was observed
}

// NewBatch returns an empty batch.
func (h handler) NewBatch() consumers.Batch { return &batch{c: h.Consumer} }

// Version returns the version of a record's points: the original version if the record was
// redriven.
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

// refresh reads the generations and the sources that have new tombstones, and returns the
// position up to which it read. It is called before every batch is prepared, because a
// producer in another process may have changed to a new state of the topic just before it
// produced the records of the batch.
func (c *Consumer) refresh(ctx context.Context) (asOf int64, err error) {
	c.mu.Lock()
	since := c.asOf
	c.mu.Unlock()
	state, err := c.syncState(ctx, since)
	return state.AsOf, err
}

// syncState reads the changes since an earlier position and applies them.
func (c *Consumer) syncState(ctx context.Context, since int64) (registry.ConsumerState, error) {
	c.mu.Lock()
	c.syncSeq++
	seq := c.syncSeq
	c.mu.Unlock()
	state, err := c.deps.Registry.ConsumerState(ctx, Topic, since)
	if err != nil {
		return registry.ConsumerState{}, err
	}
	c.tombstones.invalidate(state.ChangedSources, state.More || len(state.DeletedWorkspaces) > 0)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asOf = max(c.asOf, state.AsOf)
	if seq > c.appliedSeq { // otherwise another batch has applied a later state
		c.appliedSeq, c.generations, c.horizon = seq, state.Generations, state.Horizon
	}
	return state, nil
}
