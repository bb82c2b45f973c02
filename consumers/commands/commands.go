// Package commands is the consumer of topic "graph.commands": it decides the
// commands of each workspace in their order and writes what they do to Postgres.
//
// Commands are decided in groups: those of a partition that came while the group before
// was being committed. A group is one transaction with the resources, the journal, the
// undo entries, the outcomes and how far the partition is decided. The offset is moved in
// it on the condition that it is where this consumer knows it to be, so a consumer that
// has lost a partition commits nothing, and a record that is read again is known to be
// decided. Partitions are decided beside each other, each on its own connection:
// what takes long in one holds up no other. Only after the commit is anybody told what came of a
// command, by Redis; anyone who misses that looks into Postgres.
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
	"slices"
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
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/storage/redis"
)

// Deps are what the consumer works with. All are required except Logger, Metrics and
// Tracing.
type Deps struct {
	Log     *kafka.Client
	Graph   *stores.DB // of the consumer alone, or what else uses it holds commands up
	Redis   *redis.DB
	Config  Config
	Logger  *slog.Logger          // nil: slog.Default()
	Metrics prometheus.Registerer // nil: what is measured is not registered
	Tracing trace.TracerProvider  // nil: nothing is recorded
}

// Config bounds the consumer.
type Config struct {
	Group string // consumer group
	// GroupRecords is the maximum number of records that are decided in one transaction; 0: 1000.
	GroupRecords int
	// Transactions is the most partitions that are decided at a time; 0: 8. See
	// TransactionsOf.
	Transactions int
	// CascadeEdges is how many edges a node may have that is deleted or brought back among
	// other commands; beyond, its workspace's commands are decided by themselves. 0: 10,000.
	CascadeEdges int
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
	// laneBytes is how many bytes of records a batch of one partition ends with: each
	// partition has up to four batches in memory.
	laneBytes           = 2 << 20
	defaultTransactions = 8
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
	deciding  chan struct{}  // a place for each partition that is being decided
	long      chan struct{}  // a place for each workspace set aside that is being decided
	beside    sync.WaitGroup // those who decide what is set aside
	metrics   *metrics
	replaced  consumers.Replaced

	mu      sync.Mutex
	topicID [16]byte
	ours    map[int32]*partition
}

// TransactionsOf returns Config.Transactions for a database with so many connections: two
// are left for publishing and clearing up, and some for what is set aside.
func TransactionsOf(connections int32) int { return max(int(connections-2)*4/5, 1) }

// longOf is how many workspaces that are set aside are decided at a time.
func longOf(transactions int) int { return max(transactions/4, 1) }

// New creates a consumer.
func New(deps Deps) *Consumer {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	if deps.Config.GroupRecords <= 0 {
		deps.Config.GroupRecords = defaultGroupRecords
	}
	if deps.Config.Transactions <= 0 {
		deps.Config.Transactions = defaultTransactions
	}
	if deps.Config.CascadeEdges <= 0 {
		deps.Config.CascadeEdges = cascadeEdges
	}
	if deps.Config.OutcomesKept <= 0 {
		deps.Config.OutcomesKept = outcomesKept
	}
	c := &Consumer{
		deps: deps, logger: deps.Logger.With("component", "commands"),
		ours: map[int32]*partition{}, metrics: newMetrics(deps.Metrics),
		deciding: make(chan struct{}, deps.Config.Transactions), long: make(chan struct{}, longOf(deps.Config.Transactions)),
	}
	c.stacks = newStacks(deps.Redis, c.logger, c.metrics)
	c.replier = newReplier(deps.Redis, c.logger, c.metrics)
	c.publisher = newPublisher(deps.Graph, deps.Log, c.logger, c.metrics)
	c.pruner = &pruner{db: deps.Graph, kept: deps.Config.OutcomesKept, logger: c.logger, metrics: c.metrics}
	cfg := deps.Config
	c.loop = consumers.New(consumers.Config{
		Name: "commands", Group: cfg.Group, Topic: deps.Log.Topic(kafka.TopicCommands).Name,
		BatchRows: groupCommands, BatchBytes: laneBytes, FetchBytes: cfg.FetchBytes, CommitEvery: commitEvery,
		Grace: cfg.Grace, Tracing: deps.Tracing, ByPartition: true,
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
	around.Go(func() error { c.publisher.runLong(ctx); return nil })
	around.Go(func() error { c.publisher.Watch(ctx); return nil })
	around.Go(func() error { c.pruner.run(ctx); return nil })
	work.Go(func() error { return c.loop.Run(ctx) })
	err := work.Wait()
	c.beside.Wait()
	c.replier.close()
	c.stacks.close()
	return errors.Join(err, around.Wait())
}

// Metrics returns the loop's counters.
func (c *Consumer) Metrics() *consumers.Metrics { return c.loop.Metrics() }

// ResolveOffsets compares topic graph.commands with how far it is decided, and sets
// the fence where the log is not what it was. The consumer does so whenever it is
// given partitions. A producer has to do so before it goes by a new state of the
// topic (kafka.Options.OnCommandsChange): what it puts at an offset that was decided
// before would not be.
func ResolveOffsets(ctx context.Context, log *kafka.Client, db *stores.DB, logger *slog.Logger) error {
	_, err := resolve(ctx, log, db, logger, nil)
	return err
}

// resolve compares them, and returns the state of the topic that it found.
func resolve(
	ctx context.Context, log *kafka.Client, db *stores.DB, logger *slog.Logger, replaced map[int32]int64,
) (seen kafka.TopicState, err error) {
	_, set, err := db.ResolveCommandOffsets(ctx, func(ctx context.Context) (postgres.LogState, error) {
		var err error
		if seen, err = log.ObserveTopic(ctx, kafka.TopicCommands); err != nil {
			return postgres.LogState{}, err
		}
		return consumers.LogState(seen, replaced), nil
	})
	if err != nil {
		return kafka.TopicState{}, fmt.Errorf("resolving the offsets of the commands: %w", err)
	}
	for _, s := range set {
		level := slog.LevelInfo
		if s.Was >= 0 {
			level = slog.LevelError
		}
		logger.Log(
			ctx, level, "commands are decided from another offset", "partition", s.Partition, "was", s.Was, "next", s.Next,
			"reason", s.Reason,
		)
	}
	return seen, nil
}

// handler is what the run loop sees of the consumer.
type handler struct{ *Consumer }

// Reset forgets which topic the records belong to, and how far it is.
func (h handler) Reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.topicID = [16]byte{}
	clear(h.ours)
	h.publisher.own(nil)
}

// Discontinued remembers where records were replaced, for the next resolve.
func (h handler) Discontinued(partition int32, from int64) { h.replaced.Note(partition, from) }

// Start begins where Postgres says that everything before is decided. What the group
// has committed counts for nothing.
func (h handler) Start(ctx context.Context, committed map[int32]int64) (map[int32]int64, error) {
	replaced := h.replaced.Known()
	seen, err := resolve(ctx, h.deps.Log, h.deps.Graph, h.logger, replaced)
	if err != nil {
		return nil, err
	}
	// Where the partitions are is read when they are ours: nobody else moves them then, not
	// even what is left of an earlier membership of ours.
	owner := uuid.New()
	next, err := h.deps.Graph.ClaimCommands(ctx, seen.ID, slices.Sorted(maps.Keys(committed)), owner)
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
		h.ours[p] = newPartition(p, at, owner)
		if start := seen.State[p].Start; at < start {
			h.loop.Metrics().Lost.Add(start - at)
			h.logger.Error(
				"DATA LOSS: commands were trimmed before they were decided", "partition", p, "next", at, "start", start,
			)
			at = start
		}
		from[p] = at
	}
	h.publisher.own(slices.Collect(maps.Keys(h.ours)))
	return from, nil
}

// Gone forgets partitions.
func (h handler) Gone(partitions []int32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range partitions {
		delete(h.ours, p)
	}
	h.publisher.own(slices.Collect(maps.Keys(h.ours)))
}

// NewBatch returns an empty batch.
func (h handler) NewBatch() consumers.Batch { return &batch{c: h.Consumer} }

// Version is nothing that commands have.
func (handler) Version(*kgo.Record) uint64 { return 0 }

// Advance has nothing to note: the transaction has.
func (handler) Advance(context.Context, map[int32]int64) error { return nil }

// partition returns one of ours.
func (c *Consumer) partition(number int32) (*partition, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.ours[number]; ok {
		return p, nil
	}
	return nil, consumers.Rejoin(fmt.Errorf("partition %d is not ours any more", number))
}

func (c *Consumer) topic() [16]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.topicID
}

// partitionOf is the partition of a workspace's commands.
func partitionOf(workspace uuid.UUID, partitions int32) int32 {
	return kafka.WorkspacePartition(workspace, partitions)
}
