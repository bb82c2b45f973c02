// Package audit is the consumer of topic "audit". It writes the audit records of requests to
// ClickHouse and drops those past their retention.
//
// A record may arrive more than once, because the API's spool resends unconfirmed records and the
// log may be read again. Each time its row is the same, and queries return each request once.
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

// Deps are the dependencies of the consumer. All are required except Logger, Metrics and
// Tracing.
type Deps struct {
	Log        *kafka.Client
	Records    recordStore
	Watermarks watermarkStore
	Config     Config
	Logger     *slog.Logger          // nil: slog.Default()
	Metrics    prometheus.Registerer // nil: the metrics are not registered
	Tracing    trace.TracerProvider  // nil: no spans are recorded
}

// recordStore stores records.
type recordStore interface {
	InsertAudit(ctx context.Context, records []auditrecord.Record) error
	ExpireAudit(ctx context.Context, by time.Time) (months int, err error)
}

// watermarkStore stores the offsets below which all records are stored. They are kept in addition
// to the group's committed offsets, which an operator may move.
type watermarkStore interface {
	Watermarks(ctx context.Context, topicID [16]byte) (map[int32]int64, error)
	AdvanceWatermarks(ctx context.Context, topicID [16]byte, next map[int32]int64) error
}

// Config configures the consumer.
type Config struct {
	Group     string        // consumer group
	BatchWait time.Duration // age at which records are stored even if the batch is not full
	Retention time.Duration // how long records are kept; 0: forever
	Grace     time.Duration // see consumers.Config
}

// Limits of a batch.
const (
	batchRows  = 50_000
	batchBytes = 16 << 20
	fetchBytes = 4 << 20
)

// Intervals of the checks for months past the retention, after a success and after a failure.
const (
	expireEvery = time.Hour
	expireRetry = time.Minute
)

// Consumer consumes topic audit. Several consumers, in one or more processes, share the
// partitions.
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

// Run consumes until ctx is done. Then it stores the batches in flight, for at most Config.Grace,
// and returns nil.
func (c *Consumer) Run(ctx context.Context) error {
	var work errgroup.Group
	work.Go(func() error { return c.loop.Run(ctx) })
	if c.deps.Config.Retention > 0 {
		work.Go(func() error { c.expire(ctx); return nil })
	}
	return work.Wait()
}

// expire periodically drops records past the retention. Several processes may do so at the same
// time.
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

// handler implements consumers.Handler.
type handler struct{ *Consumer }

// Reset clears the topic ID.
func (h handler) Reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.topicID = [16]byte{}
}

// Discontinued does nothing: records are identified by their content.
func (handler) Discontinued(int32, int64) {}

// Start returns for each partition the lower of the committed offset and the watermark, or the
// start of the log if that is higher. It does not trust a committed offset above the watermark:
// an operator has moved it, or it belongs to an earlier topic of the same name.
func (h handler) Start(ctx context.Context, committed map[int32]int64) (map[int32]int64, error) {
	seen, err := consumers.ObserveBeyond(ctx, h.deps.Log, kafka.TopicAudit, committed)
	if err != nil {
		return nil, err
	}
	watermarks, err := h.deps.Watermarks.Watermarks(ctx, seen.ID)
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
		from[p] = h.startOffset(p, at, watermarks, seen.State[p])
	}
	return from, nil
}

// startOffset returns the start offset of one partition. Reading records again changes nothing.
func (h handler) startOffset(
	partition int32, committed int64, watermarks map[int32]int64, log kafka.PartitionState,
) int64 {
	watermark, stored := watermarks[partition]
	offset := min(committed, watermark)
	if stored && committed > watermark {
		h.logger.Warn(
			"more is committed than is stored; it is consumed from what is stored", "partition", partition, "committed",
			committed, "watermark", watermark,
		)
	}
	switch {
	case committed < 0 || !stored || offset > log.End: // never consumed, or an offset of another topic
		return log.Start
	case offset < log.Start:
		h.loop.Metrics().Lost.Add(log.Start - offset)
		h.logger.Error(
			"DATA LOSS: audit records were trimmed before they were stored", "partition", partition, "next", offset, "start",
			log.Start,
		)
		return log.Start
	}
	return offset
}

// NewBatch returns an empty batch.
func (h handler) NewBatch() consumers.Batch { return &batch{store: h.deps.Records} }

// Version returns 0: audit records have no version.
func (handler) Version(*kgo.Record) uint64 { return 0 }

// Advance raises the watermarks.
func (h handler) Advance(ctx context.Context, next map[int32]int64) error {
	h.mu.Lock()
	id := h.topicID
	h.mu.Unlock()
	return h.deps.Watermarks.AdvanceWatermarks(ctx, id, next)
}

// batch contains the records to store.
type batch struct {
	store   recordStore
	records []auditrecord.Record
}

// Add decodes a record and adds it.
func (b *batch) Add(r *kgo.Record) error {
	record, err := auditrecord.Decode(r.Value)
	if err != nil {
		return err
	}
	b.records = append(b.records, record)
	return nil
}

// Rows returns the number of records.
func (b *batch) Rows() int { return len(b.records) }

// Prepare does nothing.
func (*batch) Prepare(context.Context) error { return nil }

// Store stores the records.
func (b *batch) Store(ctx context.Context) error {
	err := b.store.InsertAudit(ctx, b.records)
	if clickhouse.Permanent(err) {
		return consumers.Permanent(err)
	}
	return err
}

// Full returns false: only Config limits the size.
func (*batch) Full() bool { return false }

// Release does nothing.
func (*batch) Release() {}
