// Package audit is the consumer of topic "audit": it puts the uses of keys into
// ClickHouse, and drops there what is past its retention.
//
// A record may come any number of times (the API's spool sends again what it is not
// sure of, and the log may be read again): its row is the same each time, and what is
// shown is each request once.
package audit

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/consumers"
	"github.com/livegraph/livegraph/internal/auditrecord"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/kafka"
)

// Deps are what the consumer works with. All are required except Logger, Metrics and
// Tracing.
type Deps struct {
	Log     *kafka.Client
	Records store
	Marks   marks
	Config  Config
	Logger  *slog.Logger          // nil: slog.Default()
	Metrics prometheus.Registerer // nil: what is measured is not registered
	Tracing trace.TracerProvider  // nil: nothing is recorded
}

// store is where records go.
type store interface {
	InsertAudit(ctx context.Context, records []auditrecord.Record) error
	ExpireAudit(ctx context.Context, by time.Time) (months int, err error)
}

// marks is where it stands how far the records are stored, beside what the group has
// committed, which an operator may move.
type marks interface {
	Watermarks(ctx context.Context, topicID [16]byte) (map[int32]int64, error)
	AdvanceWatermarks(ctx context.Context, topicID [16]byte, next map[int32]int64) error
}

// Config bounds the consumer.
type Config struct {
	Group     string        // consumer group
	BatchWait time.Duration // age at which records are stored however few they are
	Retention time.Duration // how long they are kept; 0: for good
	Grace     time.Duration // see consumers.Config
}

// Bounds of a batch.
const (
	batchRows  = 50_000
	batchBytes = 16 << 20
	fetchBytes = 4 << 20
)

// How often months are looked for that are past the retention, and how soon again
// after a failure.
const (
	expireEvery = time.Hour
	expireRetry = time.Minute
)

// Consumer consumes topic audit. Run runs it; several, in one process or many, share
// the partitions.
type Consumer struct {
	deps   Deps
	logger *slog.Logger
	loop   *consumers.Loop

	mu      sync.Mutex
	topicID [16]byte
}

// New creates a consumer.
func New(deps Deps) *Consumer {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	c := &Consumer{deps: deps, logger: deps.Logger.With("component", "audit")}
	c.loop = consumers.New(consumers.Config{
		Name: "audit", Group: deps.Config.Group, Topic: deps.Log.Topic(kafka.TopicAudit).Name,
		BatchRows: batchRows, BatchBytes: batchBytes, BatchWait: deps.Config.BatchWait, FetchBytes: fetchBytes,
		Grace: deps.Config.Grace, Tracing: deps.Tracing,
	}, handler{c}, deps.Log, c.logger, deps.Metrics)
	return c
}

// Metrics returns the loop's counters.
func (c *Consumer) Metrics() *consumers.Metrics { return c.loop.Metrics() }

// Run consumes until ctx is done, then stores what is in flight, for Config.Grace at
// most, and returns nil.
func (c *Consumer) Run(ctx context.Context) error {
	var work errgroup.Group
	work.Go(func() error { return c.loop.Run(ctx) })
	if c.deps.Config.Retention > 0 {
		work.Go(func() error { c.expire(ctx); return nil })
	}
	return work.Wait()
}

// expire drops what is past the retention, now and then. Several may do so at a time.
func (c *Consumer) expire(ctx context.Context) {
	for next := time.Duration(0); sleep.For(ctx, next); {
		months, err := c.deps.Records.ExpireAudit(ctx, time.Now().Add(-c.deps.Config.Retention))
		if next = expireEvery; err != nil && ctx.Err() == nil {
			next = expireRetry
			c.logger.Warn("audit records past their retention are not dropped yet", "error", err)
		}
		if months > 0 {
			c.logger.Info("audit records past their retention are dropped", "months", months)
		}
	}
}

// handler is what the run loop sees of the consumer.
type handler struct{ *Consumer }

// Reset forgets which topic the records belong to.
func (h handler) Reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.topicID = [16]byte{}
}

// Discontinued has nothing to remember: records are told apart by what is in them.
func (handler) Discontinued(int32, int64) {}

// Start goes on where both the group and the watermarks say that all before is stored,
// or where the log now begins. A commit above the watermark is not believed: somebody
// has moved it, or it belongs to an earlier topic of the name.
func (h handler) Start(ctx context.Context, committed map[int32]int64) (map[int32]int64, error) {
	seen, err := h.deps.Log.ObserveTopic(ctx, kafka.TopicAudit)
	if err != nil {
		return nil, err
	}
	marks, err := h.deps.Marks.Watermarks(ctx, seen.ID)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.topicID != [16]byte{} && h.topicID != seen.ID {
		return nil, kafka.NewDiscontinuity(0, -1, errors.New("the topic was created again"))
	}
	h.topicID = seen.ID
	from := make(map[int32]int64, len(committed))
	for p, at := range committed {
		if int(p) >= len(seen.State) {
			return nil, kafka.NewDiscontinuity(p, -1, errors.New("the topic has fewer partitions"))
		}
		from[p] = h.begin(p, at, marks, seen.State[p])
	}
	return from, nil
}

// begin decides where one partition begins. What is read again changes nothing.
func (h handler) begin(partition int32, committed int64, marks map[int32]int64, log kafka.PartitionState) int64 {
	mark, stored := marks[partition]
	at := min(committed, mark)
	if stored && committed > mark {
		h.logger.Warn(
			"more is committed than is stored; it is consumed from what is stored", "partition", partition, "committed",
			committed, "watermark", mark,
		)
	}
	switch {
	case committed < 0 || !stored || at > log.End: // never consumed, or another topic's offset
		return log.Start
	case at < log.Start:
		h.loop.Metrics().Lost.Add(log.Start - at)
		h.logger.Error(
			"DATA LOSS: audit records were trimmed before they were stored", "partition", partition, "next", at, "start",
			log.Start,
		)
		return log.Start
	}
	return at
}

// NewBatch returns an empty batch.
func (h handler) NewBatch() consumers.Batch { return &batch{store: h.deps.Records} }

// Version is nothing that these records have.
func (handler) Version(*kgo.Record) uint64 { return 0 }

// Advance raises the watermarks.
func (h handler) Advance(ctx context.Context, next map[int32]int64) error {
	h.mu.Lock()
	id := h.topicID
	h.mu.Unlock()
	return h.deps.Marks.AdvanceWatermarks(ctx, id, next)
}

// batch is records to store.
type batch struct {
	store   store
	records []auditrecord.Record
}

// Add takes a record.
func (b *batch) Add(r *kgo.Record) error {
	record, err := auditrecord.Decode(r.Value)
	if err != nil {
		return err
	}
	b.records = append(b.records, record)
	return nil
}

// Rows returns how many there are.
func (b *batch) Rows() int { return len(b.records) }

// Prepare has nothing to do.
func (*batch) Prepare(context.Context) error { return nil }

// Store stores them.
func (b *batch) Store(ctx context.Context) error {
	err := b.store.InsertAudit(ctx, b.records)
	if clickhouse.Permanent(err) {
		return consumers.Permanent(err)
	}
	return err
}

// Release has nothing to give back.
func (*batch) Release() {}
