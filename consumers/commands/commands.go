// Package commands is the consumer of topic "graph.commands". It decides the commands of each
// workspace in order and writes their effects to Postgres.
//
// Commands are decided in groups. A group contains the commands of a partition that arrived
// while the previous group was committed. One transaction per group writes the resources, the
// journal, the undo entries, the outcomes and the next offset of the partition, which is also
// called the fence. The transaction moves the fence only if its value is the one that this
// consumer expects. So a consumer that has lost a partition commits nothing, and a record
// below the fence is known to be decided. Partitions are decided in parallel, each on its own
// connection, so a slow command does not block other partitions. Outcomes are sent through
// Redis after the commit. A process that misses one reads it from Postgres.
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
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/storage/redis"
)

// Deps are the dependencies of the consumer. All are required except Logger, Metrics and
// Tracing.
type Deps struct {
	Log     *kafka.Client
	Graph   *stores.DB // not shared with others, whose queries would delay commands
	Redis   *redis.DB
	Config  Config
	Logger  *slog.Logger          // nil: slog.Default()
	Metrics prometheus.Registerer // nil: the metrics are not registered
	Tracing trace.TracerProvider  // nil: no spans are recorded
}

// Config bounds the consumer.
type Config struct {
	Group string // consumer group
	// GroupRecords is the maximum number of records that are decided in one transaction; 0: 1000.
	GroupRecords int
	// Transactions is the maximum number of partitions that are decided at the same time;
	// 0: 8. See MaxTransactions.
	Transactions int
	// CascadeEdges is the maximum number of edges of a node that is deleted or restored in one
	// group with other commands. If the node has more, the commands of its workspace are
	// decided separately. So they are while the first upsert with a property reads the nodes of a
	// workspace that has more. 0: 10,000.
	CascadeEdges int
	FetchBytes   int32         // maximum size of one fetch
	Grace        time.Duration // see consumers.Config
	// OutcomeRetention is the retention of outcomes; 0: 24 hours.
	OutcomeRetention time.Duration
}

// Limits of a transaction.
const (
	defaultGroupRecords = 1000
	// A group ends with the record that reaches one of these.
	groupCommands = 2000
	groupBytes    = 8 << 20
	// partitionBatchBytes is the size of records at which a batch of one partition is full. Each
	// partition has up to four batches in memory.
	partitionBatchBytes = 2 << 20
	defaultTransactions = 8
	// commitEvery is the interval of offset commits to Kafka. Only lag monitoring uses these
	// offsets.
	commitEvery = 500 * time.Millisecond
)

// Consumer consumes topic graph.commands. Several consumers, in one or more processes, share
// the partitions.
type Consumer struct {
	deps         Deps
	logger       *slog.Logger
	loop         *consumers.Loop
	stacks       *stackCache
	replier      *replier
	publisher    *Publisher
	pruner       *pruner
	decideSlots  chan struct{}  // semaphore: partitions that are being decided
	asideSlots   chan struct{}  // semaphore: workspaces set aside that are being decided
	asideWorkers sync.WaitGroup // goroutines that decide workspaces set aside
	metrics      *metrics
	replaced     consumers.Replaced

	mu      sync.Mutex
	topicID [16]byte
	owned   map[int32]*partition
}

// MaxTransactions returns the value of Config.Transactions for a pool of the given number of
// connections. It leaves two for publishing and pruning, and some for workspaces set aside.
func MaxTransactions(connections int32) int { return max(int(connections-2)*4/5, 1) }

// asideTransactions returns the maximum number of workspaces set aside that are decided at the
// same time.
func asideTransactions(transactions int) int { return max(transactions/4, 1) }

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
		deps.Config.CascadeEdges = defaultCascadeEdges
	}
	if deps.Config.OutcomeRetention <= 0 {
		deps.Config.OutcomeRetention = defaultOutcomesKept
	}
	c := &Consumer{
		deps: deps, logger: deps.Logger.With("component", "commands"),
		owned: map[int32]*partition{}, metrics: newMetrics(deps.Metrics),
		decideSlots: make(chan struct{}, deps.Config.Transactions),
		asideSlots:  make(chan struct{}, asideTransactions(deps.Config.Transactions)),
	}
	c.stacks = newStackCache(deps.Redis, c.logger, c.metrics)
	c.replier = newReplier(deps.Redis, c.logger, c.metrics)
	c.publisher = newPublisher(deps.Graph, deps.Log, c.logger, c.metrics)
	c.pruner = &pruner{db: deps.Graph, kept: deps.Config.OutcomeRetention, logger: c.logger, metrics: c.metrics}
	cfg := deps.Config
	c.loop = consumers.New(consumers.Config{
		Name: "commands", Group: cfg.Group, Topic: deps.Log.Topic(kafka.TopicCommands).Name,
		BatchRows: groupCommands, BatchBytes: partitionBatchBytes, FetchBytes: cfg.FetchBytes, CommitEvery: commitEvery,
		Grace: cfg.Grace, Tracing: deps.Tracing, ByPartition: true,
		Hooks: consumers.Hooks{Gone: handler{c}.gone, Finish: handler{c}.finish},
	}, handler{c}, deps.Log, c.logger, deps.Metrics)
	return c
}

// Run consumes and publishes until ctx is done. Then it finishes the batches in flight, for
// at most Config.Grace, and returns nil.
func (c *Consumer) Run(ctx context.Context) error {
	var around, work errgroup.Group
	// Work that follows the commit of a group continues after the loop has ended.
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
	c.asideWorkers.Wait()
	c.replier.close()
	c.stacks.close()
	return errors.Join(err, around.Wait())
}

// Metrics returns the loop's counters.
func (c *Consumer) Metrics() *consumers.Metrics { return c.loop.Metrics() }

// ResolveOffsets compares topic graph.commands with the fences in Postgres and sets the fence
// of each partition whose log was truncated or replaced. The consumer does this whenever
// partitions are assigned to it. A producer must do it before it uses a new state of the topic
// (kafka.Options.OnCommandsChange): a record at an offset below an old fence would not be
// decided.
func ResolveOffsets(ctx context.Context, log *kafka.Client, db *stores.DB, logger *slog.Logger) error {
	_, err := resolve(ctx, log, db, logger, nil)
	return err
}

// resolve implements ResolveOffsets and returns the observed state of the topic.
func resolve(
	ctx context.Context, log *kafka.Client, db *stores.DB, logger *slog.Logger, replaced map[int32]int64,
) (kafka.TopicState, error) {
	observer := consumers.LogObserver{Log: log, Topic: kafka.TopicCommands, Replaced: replaced}
	_, set, err := db.ResolveCommandOffsets(ctx, observer.Observe)
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
	return observer.Seen, nil
}

// handler implements consumers.Handler.
type handler struct{ *Consumer }

// Reset clears the topic ID and the partitions.
func (h handler) Reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.topicID = [16]byte{}
	clear(h.owned)
	h.publisher.setOwned(nil)
}

// Discontinued records where records were replaced, for the next resolve.
func (h handler) Discontinued(partition int32, from int64) { h.replaced.Add(partition, from) }

// Start returns the fences that Postgres has for the assigned partitions. It ignores the
// committed offsets of the group.
func (h handler) Start(ctx context.Context, committed map[int32]int64) (map[int32]int64, error) {
	replaced := h.replaced.Offsets()
	seen, err := resolve(ctx, h.deps.Log, h.deps.Graph, h.logger, replaced)
	if err != nil {
		return nil, err
	}
	// The fences are read after the partitions are claimed: from then on no other process
	// moves them, nor an earlier membership of this one.
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
	h.replaced.Remove(replaced)
	from := make(map[int32]int64, len(committed))
	for p := range committed {
		at, ok := next[p]
		if !ok {
			return nil, fmt.Errorf("partition %d is assigned and the topic has %d", p, len(seen.State))
		}
		h.owned[p] = newPartition(p, at, owner)
		if start := seen.State[p].Start; at < start {
			h.loop.Metrics().Lost.Add(start - at)
			h.logger.Error(
				"DATA LOSS: commands were trimmed before they were decided", "partition", p, "next", at, "start", start,
			)
			at = start
		}
		from[p] = at
	}
	h.publisher.setOwned(slices.Collect(maps.Keys(h.owned)))
	return from, nil
}

// gone removes revoked partitions.
func (h handler) gone(partitions []int32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range partitions {
		delete(h.owned, p)
	}
	h.publisher.setOwned(slices.Collect(maps.Keys(h.owned)))
}

// NewBatch returns an empty batch.
func (h handler) NewBatch() consumers.Batch { return &batch{c: h.Consumer} }

// Version returns 0: commands have no version.
func (handler) Version(*kgo.Record) uint64 { return 0 }

// Advance does nothing: the transaction of a group moves the fence.
func (handler) Advance(context.Context, map[int32]int64) error { return nil }

// partition returns an owned partition, or a Rejoin error if it is not owned.
func (c *Consumer) partition(number int32) (*partition, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.owned[number]; ok {
		return p, nil
	}
	return nil, consumers.Rejoin(fmt.Errorf("partition %d is not ours any more", number))
}

func (c *Consumer) topic() [16]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.topicID
}

// partitionOf returns the partition of a workspace's commands.
func partitionOf(workspace uuid.UUID, partitions int32) int32 {
	return kafka.WorkspacePartition(workspace, partitions)
}
