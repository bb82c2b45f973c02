// Package commands is the consumer of topic "graph.commands": it decides the
// commands of each workspace in their order and writes what they do to Postgres.
//
// Commands are decided in groups: those that came while the group before was being
// committed. A group is one transaction with the resources, the journal, the undo
// entries, the outcomes and how far the partitions are decided. Offsets are moved in
// it on the condition that they are where this consumer knows them to be, so a
// consumer that has lost a partition commits nothing, and a record that is read again
// is known to be decided. Only after the commit is anybody told what came of a
// command, by Redis; whoever misses that looks into Postgres.
//
// The same process publishes the journals of its partitions' workspaces to topic
// "graph.events", see [Publisher].
package commands

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/consumers"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/redis"
)

// Deps are what the consumer works with. All are required but Logger, Metrics and
// Tracing.
type Deps struct {
	Log     *kafka.Client
	Graph   *postgres.DB
	Redis   *redis.DB
	Config  Config
	Logger  *slog.Logger          // nil: slog.Default()
	Metrics prometheus.Registerer // nil: what is measured is not registered
	Tracing trace.TracerProvider  // nil: nothing is recorded
}

// Config bounds the consumer.
type Config struct {
	Group string // consumer group
	// GroupRecords is the most records that are decided in one transaction; 0: 1000.
	GroupRecords int
	FetchBytes   int32         // most bytes of one fetch
	Grace        time.Duration // see consumers.Config
	// OutcomesKept is how long outcomes are kept; 0: 24 hours.
	OutcomesKept time.Duration
}

// Bounds of a transaction.
const (
	defaultGroupRecords = 1000
	// A group ends with the record that brings it over these.
	groupCommands = 2000
	groupBytes    = 8 << 20
	// commitEvery is how often Kafka is told how far the consumer is, which only
	// watches of the lag go by.
	commitEvery = 500 * time.Millisecond
)

// Consumer consumes topic graph.commands. Run runs it; several, in one process or
// many, share the partitions.
type Consumer struct {
	deps      Deps
	logger    *slog.Logger
	loop      *consumers.Loop
	stacks    *stacks
	replier   *replier
	publisher *Publisher
	pruner    *pruner
	metrics   *metrics
	replaced  consumers.Replaced

	mu      sync.Mutex
	topicID [16]byte
	fence   map[int32]int64 // how far each of our partitions is decided, as Postgres has it
}

// New makes a consumer.
func New(deps Deps) *Consumer {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	if deps.Config.GroupRecords <= 0 {
		deps.Config.GroupRecords = defaultGroupRecords
	}
	if deps.Config.OutcomesKept <= 0 {
		deps.Config.OutcomesKept = outcomesKept
	}
	c := &Consumer{
		deps: deps, logger: deps.Logger.With("component", "commands"),
		fence: map[int32]int64{}, metrics: newMetrics(deps.Metrics),
	}
	c.stacks = newStacks(deps.Redis, c.logger, c.metrics)
	c.replier = newReplier(deps.Redis, c.logger, c.metrics)
	c.publisher = newPublisher(deps.Graph, deps.Log, c.logger, c.metrics)
	c.pruner = &pruner{db: deps.Graph, kept: deps.Config.OutcomesKept, logger: c.logger, metrics: c.metrics}
	cfg := deps.Config
	c.loop = consumers.New(consumers.Config{
		Name: "commands", Group: cfg.Group, Topic: deps.Log.Topic(kafka.TopicCommands).Name,
		BatchRows: groupCommands, BatchBytes: groupBytes, FetchBytes: cfg.FetchBytes, CommitEvery: commitEvery,
		Grace: cfg.Grace, Tracing: deps.Tracing,
	}, handler{c}, deps.Log, c.logger, deps.Metrics)
	return c
}

// Run consumes and publishes until ctx is done, then finishes what is in flight, for
// Config.Grace at most, and returns nil.
func (c *Consumer) Run(ctx context.Context) error {
	var around, work errgroup.Group
	// What a group leaves to do after its commit outlives the loop.
	after, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	around.Go(func() error { c.replier.run(after); return nil })
	around.Go(func() error { c.stacks.run(after); return nil })
	around.Go(func() error { c.publisher.Run(ctx); return nil })
	around.Go(func() error { c.publisher.Watch(ctx); return nil })
	around.Go(func() error { c.pruner.run(ctx); return nil })
	work.Go(func() error { return c.loop.Run(ctx) })
	err := work.Wait()
	c.replier.close()
	c.stacks.close()
	return errors.Join(err, around.Wait())
}

// Metrics gives the loop's counters.
func (c *Consumer) Metrics() *consumers.Metrics { return c.loop.Metrics() }

// ResolveOffsets compares topic graph.commands with how far it is decided, and sets
// the fence where the log is not what it was. The consumer does so whenever it is
// given partitions. A producer has to do so before it goes by a new state of the
// topic (kafka.Options.OnCommandsChange): what it puts at an offset that was decided
// before would not be.
func ResolveOffsets(ctx context.Context, log *kafka.Client, db *postgres.DB, logger *slog.Logger) error {
	_, _, err := resolve(ctx, log, db, logger, nil)
	return err
}

func resolve(ctx context.Context, log *kafka.Client, db *postgres.DB, logger *slog.Logger, replaced map[int32]int64) (map[int32]int64, kafka.TopicState, error) {
	var seen kafka.TopicState
	next, set, err := db.ResolveCommandOffsets(ctx, func(ctx context.Context) (postgres.LogState, error) {
		var err error
		if seen, err = log.ObserveTopic(ctx, kafka.TopicCommands); err != nil {
			return postgres.LogState{}, err
		}
		return consumers.LogState(seen, replaced), nil
	})
	if err != nil {
		return nil, kafka.TopicState{}, fmt.Errorf("resolving the offsets of the commands: %w", err)
	}
	for _, s := range set {
		level := slog.LevelInfo
		if s.Was >= 0 {
			level = slog.LevelError
		}
		logger.Log(ctx, level, "commands are decided from another offset", "partition", s.Partition, "was", s.Was, "next", s.Next, "reason", s.Reason)
	}
	return next, seen, nil
}

// handler is what the run loop sees of the consumer.
type handler struct{ *Consumer }

// Reset forgets which topic the records belong to, and how far it is.
func (h handler) Reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.topicID = [16]byte{}
	clear(h.fence)
	h.publisher.own(nil)
}

// Discontinued remembers where records were replaced, for the next resolve.
func (h handler) Discontinued(partition int32, from int64) { h.replaced.Note(partition, from) }

// Start begins where Postgres says that everything before is decided. What the group
// has committed counts for nothing.
func (h handler) Start(ctx context.Context, committed map[int32]int64) (map[int32]int64, error) {
	replaced := h.replaced.Known()
	next, seen, err := resolve(ctx, h.deps.Log, h.deps.Graph, h.logger, replaced)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.topicID != [16]byte{} && h.topicID != seen.ID {
		return nil, kafka.NewDiscontinuity(0, -1, errors.New("the topic was created again"))
	}
	h.topicID = seen.ID
	h.replaced.Recorded(replaced)
	from := make(map[int32]int64, len(committed))
	for p := range committed {
		at, ok := next[p]
		if !ok {
			return nil, fmt.Errorf("partition %d is assigned and the topic has %d", p, len(seen.State))
		}
		h.fence[p] = at
		if start := seen.State[p].Start; at < start {
			h.loop.Metrics().Lost.Add(start - at)
			h.logger.Error("DATA LOSS: commands were trimmed before they were decided", "partition", p, "next", at, "start", start)
			at = start
		}
		from[p] = at
	}
	h.publisher.own(maps.Clone(h.fence))
	return from, nil
}

// Gone forgets partitions.
func (h handler) Gone(partitions []int32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range partitions {
		delete(h.fence, p)
	}
	h.publisher.own(maps.Clone(h.fence))
}

// NewBatch gives an empty batch.
func (h handler) NewBatch() consumers.Batch { return &batch{c: h.Consumer} }

// Version is nothing that commands have.
func (handler) Version(*kgo.Record) uint64 { return 0 }

// Advance has nothing to note: the transaction has.
func (handler) Advance(context.Context, map[int32]int64) error { return nil }

// at gives where a partition is decided, and the topic; false if it is not ours.
func (c *Consumer) at(partition int32) (next int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next, ok = c.fence[partition]
	return next, ok
}

// partitionOf is the partition of a workspace's commands.
func partitionOf(workspace uuid.UUID, partitions int32) int32 {
	return kafka.WorkspacePartition(workspace, partitions)
}
