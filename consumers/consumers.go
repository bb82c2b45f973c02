// Package consumers implements the run loop that every built-in consumer shares: poll,
// process, flush, commit.
//
// Three goroutines form a pipeline, so that one batch is fetched and the next is prepared while
// another is stored:
//
//	poll      fetches records and adds them to the current batch
//	prepare   takes the batch when it is full or due and prepares it
//	store     stores it, writes its dead letters, and commits its offsets
//
// Each goroutine holds at most one batch (the store up to Config.StoreAtOnce), and the rows and
// bytes of a batch are bounded. When the store is unavailable, poll stops. With
// Config.ByPartition each partition has a separate prepare and store. Offsets are committed
// only after their records are stored. After a crash in between the records are consumed again,
// so a [Handler] must be idempotent.
//
// Temporary failures are retried until they succeed. A record that can never be processed,
// because it is unreadable or because the store refuses its content, is written to the dead
// letters. To find it, the loop splits a refused batch in halves.
//
// The package is independent of points. Each consumer implements a [Handler], for example
// consumers/points.
package consumers

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/trace"

	"github.com/livegraph/livegraph/internal/platform/tracing"
	"github.com/livegraph/livegraph/storage/kafka"
)

// Handler processes the records of a consumer.
type Handler interface {
	// Reset is called when a new membership of the group begins. No batch is in flight.
	Reset()
	// Start returns the offsets at which newly assigned partitions begin, given the committed
	// offsets of the group (-1: none). ErrDiscontinued ends the membership.
	Start(ctx context.Context, committed map[int32]int64) (map[int32]int64, error)
	// Discontinued reports to the handler that the records of a partition from an offset on
	// (-1: of the whole topic) were replaced. Start is called next.
	Discontinued(partition int32, from int64)
	// NewBatch returns an empty batch.
	NewBatch() Batch
	// Version returns the version that the effects of a record have or would have had.
	Version(r *kgo.Record) uint64
	// Advance records that every record below the given offsets is stored or a dead letter. It
	// is called after each batch, before the offsets are committed.
	Advance(ctx context.Context, next map[int32]int64) error
}

// Batch collects the effects of records. Its methods are called in this order: Add for each
// record, Prepare, Store, Release. Prepare and Store are called again after a failure.
type Batch interface {
	// Add adds a record. An error means that the record can never be processed; it must leave
	// the batch unchanged. The record's bytes stay valid until Release.
	Add(r *kgo.Record) error
	// Rows returns the approximate number of rows of the batch.
	Rows() int
	// Full reports whether the batch is full although Config allows a larger one.
	Full() bool
	// Prepare does the work that is possible while an earlier batch is stored.
	Prepare(ctx context.Context) error
	// Store makes the effects durable and visible. An error created by Permanent means that
	// the batch contains a record that can never be stored.
	Store(ctx context.Context) error
	// Release returns the resources of the batch to their pools.
	Release()
}

// permanentError marks an error that a retry cannot resolve.
type permanentError struct{ cause error }

func (e *permanentError) Error() string { return e.cause.Error() }
func (e *permanentError) Unwrap() error { return e.cause }

// Permanent marks an error of Batch.Store as caused by the data of the batch.
func Permanent(err error) error { return &permanentError{cause: err} }

func isPermanent(err error) bool {
	var p *permanentError
	return errors.As(err, &p)
}

// rejoinError marks an error after which the membership cannot continue.
type rejoinError struct{ cause error }

func (e *rejoinError) Error() string { return e.cause.Error() }
func (e *rejoinError) Unwrap() error { return e.cause }

// Rejoin marks an error of Batch.Store which means that the state of this member about its
// partitions is outdated. The loop discards all batches in flight and joins the group again.
func Rejoin(err error) error { return &rejoinError{cause: err} }

// IsRejoin reports whether an error was created by Rejoin.
func IsRejoin(err error) bool {
	var r *rejoinError
	return errors.As(err, &r)
}

// Hooks are functions that a handler needs in addition to Handler. The loop does not call those that
// are nil.
type Hooks struct {
	// Gone is called after partitions were revoked or lost.
	Gone func(partitions []int32)
	// Finish waits for the work on partitions that the handler does in addition to its batches. It is
	// called when all batches are stored and no more follow, or before partitions are revoked.
	Finish func(ctx context.Context, partitions []int32) error
	// Full reports whether a batch of this size is full, although Config allows a larger one.
	Full func(rows, bytes int) bool
	// Refused handles records that can never be processed. They are then not written to the dead
	// letters.
	Refused func(ctx context.Context, deadLetters []kafka.DeadLetter) error
	// DeadLetters is called after dead letters are written, before Advance passes their offsets.
	DeadLetters func(ctx context.Context, deadLetters []kafka.DeadLetter) error
}

// Config configures the loop.
type Config struct {
	Name       string // of the consumer, in metrics
	Group      string
	Topic      string        // full name
	BatchRows  int           // rows at which a batch is full
	BatchBytes int           // bytes of records at which it is full
	BatchWait  time.Duration // age at which it is due, and minimum time between two small ones
	FetchBytes int32         // maximum size of one fetch
	// MaxWait is the maximum time between two small batches if they take long; 0: BatchWait.
	MaxWait time.Duration
	// PollPause is the time between a poll that drained the log and the next poll. Without it,
	// each small record would be fetched separately. It should be much shorter than BatchWait.
	PollPause time.Duration
	// CommitEvery is the minimum time between two commits of offsets; 0: commit after each
	// batch. It is for a handler that stores its own offsets.
	CommitEvery time.Duration
	// StoreAtOnce is the maximum number of batches that are stored at the same time; 0: 1.
	// Advance and commits still happen in order. It is for a handler that does not depend on
	// the order in which batches are stored, as between processes that share the partitions.
	StoreAtOnce int
	// ByPartition creates separate batches for each partition and stores the partitions in
	// parallel. BatchRows, BatchBytes and StoreAtOnce then apply to each partition. It is for a
	// handler that does not depend on the order among partitions. Several goroutines then call
	// its batches.
	ByPartition bool
	// Grace is the maximum time that a stopping loop stores and commits its batches; 0: 8 s.
	Grace time.Duration
	// Tracing records spans of batches that contain traced records; nil: none.
	Tracing trace.TracerProvider
	Hooks   Hooks
}

// Defaults and fixed limits.
const (
	defaultGrace   = 8 * time.Second
	revokeTimeout  = 10 * time.Second // time to store batches in flight before partitions are revoked
	commitTimeout  = 5 * time.Second
	maxPollRecords = 256 // maximum number of records of one poll
)

// Loop runs a Handler as a member of a consumer group.
type Loop struct {
	cfg        Config
	handler    Handler
	log        *kafka.Client
	logger     *slog.Logger
	metrics    Metrics
	collectors *collectors
	tracer     tracing.Tracer
	current    atomic.Pointer[session]
}

// New creates a loop and registers its metrics with registerer, unless that is nil.
func New(
	cfg Config, handler Handler, client *kafka.Client, logger *slog.Logger, registerer prometheus.Registerer,
) *Loop {
	if cfg.Grace <= 0 {
		cfg.Grace = defaultGrace
	}
	cfg.StoreAtOnce = max(cfg.StoreAtOnce, 1)
	l := &Loop{
		cfg: cfg, handler: handler, log: client, logger: logger.With("group", cfg.Group),
		tracer: tracing.New(cfg.Tracing, "consumers"),
	}
	l.collectors = newCollectors(l, registerer)
	return l
}

// Metrics returns the live counters of the loop.
func (l *Loop) Metrics() *Metrics { return &l.metrics }

// Abandon ends the current membership because of an error, as a Rejoin error of Batch.Store
// does. It is for work that a handler does in addition to its batches.
func (l *Loop) Abandon(err error) {
	if s := l.current.Load(); s != nil {
		s.cancelPoll(err)
		s.cancelStore()
	}
}

// Run consumes until ctx is done. Then it stores and commits the batches in flight, for at most
// Grace, and returns nil. If the topic was created again or its records were replaced, Run
// leaves the group and joins it again.
func (l *Loop) Run(ctx context.Context) error {
	retry := newRetrier(l.logger, "consuming")
	for ctx.Err() == nil {
		began := time.Now()
		err := l.runSession(ctx)
		if time.Since(began) > maxRetryDelay {
			retry = newRetrier(l.logger, "consuming") // a new failure
		}
		l.resume(ctx, retry, err)
	}
	return nil
}

// resume prepares for the next session after a session ended with err. It does nothing if ctx
// is done.
func (l *Loop) resume(ctx context.Context, retry *retrier, err error) {
	if ctx.Err() != nil {
		return
	}
	l.metrics.Restarts.Add(1)
	var discontinuity *kafka.Discontinuity
	if errors.As(err, &discontinuity) {
		l.logger.Error("the topic was replaced; joining the group again", "error", err)
		l.handler.Discontinued(discontinuity.Partition, discontinuity.From)
	}
	retry.wait(ctx, err)
}
