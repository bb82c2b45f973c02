// Package consumers is the run loop that every built-in consumer shares: poll,
// process, flush, commit.
//
// Three goroutines work behind each other, so that a batch is fetched and the next
// prepared while one is stored:
//
//	poll      fetches records and adds them to the batch that is being gathered
//	prepare   takes the batch when it is full or due and makes it ready to store
//	store     stores it, writes its dead letters, and commits its offsets
//
// Each holds one batch at most (but the store as many as Config.StoreAtOnce), and a batch
// is bounded in rows and bytes; when the store is unavailable, poll stops. With
// Config.ByPartition each partition has a prepare and its own store. Nothing is committed
// before it is stored: whatever dies in between is consumed again, so a [Handler] must be
// idempotent.
//
// What fails for a passing reason is tried again until it works. What can never
// work, an unreadable record or one that the store refuses for what is in it, goes
// to the dead letters, alone: a refused batch is halved until the record is found.
//
// The package knows nothing of points. A [Handler] does: consumers/points is one.
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

// Handler is what a consumer does with its records.
type Handler interface {
	// Reset says that a new membership begins: nothing is in flight.
	Reset()
	// Start decides where newly assigned partitions begin, given what the group
	// has committed (-1: nothing). ErrDiscontinued ends the membership.
	Start(ctx context.Context, committed map[int32]int64) (map[int32]int64, error)
	// Discontinued says that the records of a partition from an offset on (-1: of
	// the whole topic) are not those of before. Start is called next.
	Discontinued(partition int32, from int64)
	// NewBatch returns an empty batch.
	NewBatch() Batch
	// Version returns the version that a record's effects have or would have had.
	Version(r *kgo.Record) uint64
	// Advance notes that every record below the given offsets is stored or a dead
	// letter. It is called after each batch, before the offsets are committed.
	Advance(ctx context.Context, next map[int32]int64) error
}

// Batch gathers the effects of records. Its methods are called in the order Add …
// Add, Prepare, Store, Release, each once, but that Prepare and Store are called
// again after they failed.
type Batch interface {
	// Add takes a record. An error means that it can never be processed; it is as
	// if it had not been added then. The record's bytes stay valid until Release.
	Add(r *kgo.Record) error
	// Rows returns how many rows the batch will be, about.
	Rows() int
	// Prepare does what can be done while an earlier batch is stored.
	Prepare(ctx context.Context) error
	// Store makes the effects durable and visible. An error made by Permanent
	// means that the batch holds something that can never be stored.
	Store(ctx context.Context) error
	// Release returns what the batch holds to its pools.
	Release()
}

// permanentError marks an error as one that trying again does not cure.
type permanentError struct{ cause error }

func (e *permanentError) Error() string { return e.cause.Error() }
func (e *permanentError) Unwrap() error { return e.cause }

// Permanent marks an error of Batch.Store as the data's own fault.
func Permanent(err error) error { return &permanentError{cause: err} }

func isPermanent(err error) bool {
	var p *permanentError
	return errors.As(err, &p)
}

// rejoinError marks an error after which the membership cannot go on.
type rejoinError struct{ cause error }

func (e *rejoinError) Error() string { return e.cause.Error() }
func (e *rejoinError) Unwrap() error { return e.cause }

// Rejoin marks an error of Batch.Store that says that what this member knows of its
// partitions is not true any more: what is in flight is thrown away, and the loop
// joins again.
func Rejoin(err error) error { return &rejoinError{cause: err} }

// IsRejoin reports whether an error was made by Rejoin.
func IsRejoin(err error) bool {
	var r *rejoinError
	return errors.As(err, &r)
}

// leaver is a Handler that wants to know when partitions have gone.
type leaver interface {
	Gone(partitions []int32)
}

// finisher is a Handler that does something beside its batches. Finish waits for it: when
// all batches are stored and no more come, or the partitions go.
type finisher interface {
	Finish(ctx context.Context, partitions []int32) error
}

// fuller is a Batch that says itself when it has enough, by its own measure.
type fuller interface {
	Full() bool
}

// Full reports whether a batch says itself that it has enough.
func Full(b Batch) bool {
	f, ok := b.(fuller)
	return ok && f.Full()
}

// sizer is a Handler that wants smaller batches at times than Config allows.
type sizer interface {
	Full(rows, bytes int) bool
}

// refuser is a Handler that takes what can never be processed itself: it is not put
// among the dead letters.
type refuser interface {
	Refused(ctx context.Context, letters []kafka.DeadLetter) error
}

// deadLetterObserver is a Handler that wants to know what was put among the dead letters, before
// Advance passes it.
type deadLetterObserver interface {
	OnDeadLetters(ctx context.Context, letters []kafka.DeadLetter) error
}

// Config bounds the loop.
type Config struct {
	Name       string // of the consumer, in metrics
	Group      string
	Topic      string        // full name
	BatchRows  int           // rows at which a batch is full
	BatchBytes int           // bytes of records at which it is full
	BatchWait  time.Duration // age at which it is due, and the least time between two small ones
	FetchBytes int32         // most bytes of one fetch
	// CommitEvery is how often offsets are committed at most; 0: after each batch.
	// For a handler that knows by itself how far it is.
	CommitEvery time.Duration
	// StoreAtOnce is how many batches are stored at a time; 0: 1. They are noted and
	// committed in order all the same. For a handler to whom the order in which batches
	// are stored does not matter, as between processes that share the partitions.
	StoreAtOnce int
	// ByPartition stores the batches of each partition by themselves, beside those of the
	// others: BatchRows, BatchBytes and StoreAtOnce are of each. For a handler to whom the
	// order among partitions does not matter. Several goroutines call its batches then.
	ByPartition bool
	// Grace is how long a stopping loop may take to store and commit what it has;
	// 0: 8 s.
	Grace time.Duration
	// Tracing records batches that hold traced records; nil: none.
	Tracing trace.TracerProvider
}

// Defaults of what is seldom chosen.
const (
	defaultGrace  = 8 * time.Second
	revokeWait    = 10 * time.Second // partitions that are asked for wait so long for what is in flight
	commitTimeout = 5 * time.Second
	pollRecords   = 256 // records taken from a fetch at a time
)

// Loop runs a Handler as a member of a consumer group.
type Loop struct {
	cfg     Config
	handler Handler
	log     *kafka.Client
	logger  *slog.Logger
	metrics Metrics
	shown   *collectors
	tracer  tracing.Tracer
	current atomic.Pointer[session]
}

// New creates a loop. Run runs it. What it measures is registered; nil: nowhere.
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
	l.shown = newCollectors(l, registerer)
	return l
}

// Metrics returns the loop's counters, which go on counting.
func (l *Loop) Metrics() *Metrics { return &l.metrics }

// Abandon ends the present membership because of an error, as one of Batch.Store made by
// Rejoin does. It is for what a handler does beside its batches.
func (l *Loop) Abandon(err error) {
	if s := l.current.Load(); s != nil {
		s.end(err)
		s.give()
	}
}

// Run consumes until ctx is done, then stores and commits what is in flight, for
// Grace at most, and returns nil. When the topic turns out to be another one, or
// its records to have been replaced, it leaves the group and joins again.
func (l *Loop) Run(ctx context.Context) error {
	retry := newRetrying(l.logger, "consuming")
	for ctx.Err() == nil {
		began := time.Now()
		err := l.session(ctx)
		if time.Since(began) > lastRetry {
			retry = newRetrying(l.logger, "consuming") // another failure than before
		}
		l.resume(ctx, retry, err)
	}
	return nil
}

// resume prepares for the next session after one ended by err, unless it ended
// because ctx is done.
func (l *Loop) resume(ctx context.Context, retry *retrying, err error) {
	if ctx.Err() != nil {
		return
	}
	l.metrics.Restarts.Add(1)
	var broken *kafka.Discontinuity
	if errors.As(err, &broken) {
		l.logger.Error("the topic is not what it was; joining anew", "error", err)
		l.handler.Discontinued(broken.Partition, broken.From)
	}
	retry.wait(ctx, err)
}
