package webhooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"

	"github.com/livegraph/livegraph/consumers"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/hooks"
)

const (
	batchRecords      = 2_000
	batchBytes        = 8 << 20
	defaultBatchWait  = 100 * time.Millisecond
	defaultFetchBytes = 4 << 20
	txEvents          = 1_000 // events that one transaction queues
)

// ConsumerStore has the webhooks and edges; see storage/postgres.
type ConsumerStore interface {
	edgeReader
	WebhookEvents(ctx context.Context) (map[uuid.UUID][]string, error)
	InTx(ctx context.Context, work func(pgx.Tx) error) error
}

// ConsumerDeps are the dependencies and settings of a Consumer.
type ConsumerDeps struct {
	Log       *kafka.Client
	Store     ConsumerStore
	Queue     *Queue
	Group     string                // consumer group
	BatchWait time.Duration         // see consumers.Config; 0: 100 ms
	Grace     time.Duration         // see consumers.Config
	Logger    *slog.Logger          // nil: slog.Default()
	Metrics   prometheus.Registerer // nil: metrics are not registered
	Tracing   trace.TracerProvider  // nil: no spans are recorded
}

// Consumer consumes topic graph.events and queues the events of graphs. Several consumers, in one or more processes,
// share the partitions. A record that is consumed again queues nothing twice.
type Consumer struct {
	deps   ConsumerDeps
	logger *slog.Logger
	loop   *consumers.Loop
}

// NewConsumer creates a Consumer. It does nothing until Run is called.
func NewConsumer(deps ConsumerDeps) *Consumer {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	if deps.BatchWait <= 0 {
		deps.BatchWait = defaultBatchWait
	}
	c := &Consumer{deps: deps, logger: deps.Logger.With("component", "webhooks")}
	c.loop = consumers.New(consumers.Config{
		Name: "webhooks", Group: deps.Group, Topic: deps.Log.Topic(kafka.TopicEvents).Name,
		BatchRows: batchRecords, BatchBytes: batchBytes, BatchWait: deps.BatchWait, FetchBytes: defaultFetchBytes,
		Grace: deps.Grace, Tracing: deps.Tracing, Hooks: consumers.Hooks{Refused: handler{c}.refused},
	}, handler{c}, deps.Log, c.logger, deps.Metrics)
	return c
}

// Run consumes until ctx is done, and returns nil.
func (c *Consumer) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// handler implements consumers.Handler.
type handler struct{ *Consumer }

// Reset does nothing.
func (handler) Reset() {}

// Discontinued does nothing: events that were queued already are not queued again.
func (handler) Discontinued(int32, int64) {}

// Start implements consumers.Handler with consumers.Loop.EventStartOffsets.
func (h handler) Start(ctx context.Context, committed map[int32]int64) (map[int32]int64, error) {
	return h.loop.EventStartOffsets(ctx, committed)
}

// NewBatch returns an empty batch.
func (h handler) NewBatch() consumers.Batch {
	return &batch{c: h.Consumer, records: map[uuid.UUID][]*kgo.Record{}}
}

// Version returns 0: events have no version.
func (handler) Version(*kgo.Record) uint64 { return 0 }

// Advance does nothing: the committed offsets are sufficient.
func (handler) Advance(context.Context, map[int32]int64) error { return nil }

// refused logs records that cannot be read. They do not become dead letters: the graph has what they describe.
func (h handler) refused(_ context.Context, deadLetters []kafka.DeadLetter) error {
	for i := range deadLetters {
		h.logger.Error("an event cannot be read and is passed over", "partition", deadLetters[i].Record.Partition,
			"offset", deadLetters[i].Record.Offset, "reason", deadLetters[i].Reason)
	}
	return nil
}

// batch collects the records of workspaces. They are decoded only if a webhook of the workspace is subscribed.
type batch struct {
	c       *Consumer
	records map[uuid.UUID][]*kgo.Record
	rows    int
	changes map[uuid.UUID][]change // of subscribed workspaces
}

// Add adds a record.
func (b *batch) Add(r *kgo.Record) error {
	workspace, err := uuid.FromBytes(r.Key)
	if err != nil {
		return errors.New("an event of no workspace")
	}
	b.records[workspace] = append(b.records[workspace], r)
	b.rows++
	return nil
}

// Rows returns the number of records.
func (b *batch) Rows() int { return b.rows }

// Full returns false: only the configuration limits the size.
func (*batch) Full() bool { return false }

// Prepare decodes the records of workspaces that are subscribed. The subscriptions are read after the records: what
// happens after a webhook was created is queued for it.
func (b *batch) Prepare(ctx context.Context) error {
	subscriptions, err := b.c.deps.Store.WebhookEvents(ctx)
	if err != nil {
		return err
	}
	b.changes = map[uuid.UUID][]change{}
	for workspace, records := range b.records {
		subscribed := slices.DeleteFunc(slices.Clone(subscriptions[workspace]), func(event string) bool {
			return event == hooks.AlertFiring || event == hooks.AlertResolved
		})
		if len(subscribed) == 0 {
			continue
		}
		for _, r := range records {
			var e eventsv1.GraphEvent
			if err := proto.Unmarshal(r.Value, &e); err != nil {
				b.c.logger.Error("an event cannot be read and is passed over", "partition", r.Partition, "offset", r.Offset,
					"error", err)
				continue
			}
			b.changes[workspace] = append(b.changes[workspace], change{
				workspace: workspace, part: e.GetPart(), record: e.GetChange(), subscribed: subscribed,
			})
		}
	}
	return nil
}

// Store queues the events, a workspace after the other.
func (b *batch) Store(ctx context.Context) error {
	for _, workspace := range slices.SortedFunc(maps.Keys(b.changes), func(x, y uuid.UUID) int {
		return slices.Compare(x[:], y[:])
	}) {
		if err := b.storeWorkspace(ctx, workspace); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) storeWorkspace(ctx context.Context, workspace uuid.UUID) error {
	var events []hooks.Event
	flush := func(atLeast int) error {
		for len(events) >= atLeast && len(events) > 0 {
			part := events[:min(txEvents, len(events))]
			err := b.c.deps.Store.InTx(ctx, func(tx pgx.Tx) error {
				return b.c.deps.Queue.enqueue(ctx, tx, workspace, part)
			})
			if err != nil {
				return fmt.Errorf("queueing events of a graph: %w", err)
			}
			events = events[len(part):]
		}
		return nil
	}
	for i := range b.changes[workspace] {
		c := &b.changes[workspace][i]
		for index, step := range c.record.GetSteps() {
			event, ok, err := c.stepEvent(index, step)
			if err != nil { // a retry does not help
				b.c.logger.Error("an event cannot be encoded and is passed over", "workspace", workspace,
					"sequence", c.record.GetSequence(), "error", err)
			}
			if ok {
				events = append(events, event)
			}
			cascade, err := c.cascadeEvents(ctx, b.c.deps.Store, step)
			if err != nil {
				return err
			}
			events = append(events, cascade...)
			if err := flush(txEvents); err != nil {
				return err
			}
		}
	}
	return flush(1)
}

// Release drops the records.
func (b *batch) Release() { b.records, b.changes = nil, nil }
