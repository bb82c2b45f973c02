// Package replay runs replays: jobs in Postgres that make a built-in consumer read a part of the log
// of its topic again.
//
// A [Runner] claims a job with a lease, reads the ranges of the job by assignment, and stores them
// with the code of the consumer. The progress is stored in the job, so that another run continues the
// job if a run dies. The group of the consumer, its offsets and the watermarks do not change. Storing
// stored records again changes nothing, because consumers are idempotent.
//
// The package is independent of points. It uses a [Consumer], which consumers/points implements.
package replay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/livegraph/livegraph/consumers"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

// Consumer is a consumer that supports replays.
type Consumer interface {
	// Begin prepares a run over the current topic. It returns the id of the topic and a function
	// that creates empty batches. If workspace is not nil, batches ignore other workspaces.
	Begin(ctx context.Context, workspace *uuid.UUID) (topicID [16]byte, newBatch func() consumers.Batch, err error)
	// RepeatDeletions is called before Begin if earlier runs of the job, the first of them not before
	// since, ended before the job was done. It repairs what they may have left incomplete.
	RepeatDeletions(ctx context.Context, since time.Time) error
}

// Deps are the dependencies of a Runner. All are required except Busy, Logger and Metrics.
type Deps struct {
	Log  *kafka.Client
	Jobs *jobs.Store
	// Consumers are the consumers that this process can replay, by name.
	Consumers map[string]Consumer
	// Busy reports whether there is live work. The replay then uses at most a quarter of the
	// time. Calls do not overlap. Nil: there never is live work.
	Busy    func() bool
	Config  Config
	Logger  *slog.Logger          // nil: slog.Default()
	Metrics prometheus.Registerer // nil: metrics are not registered
}

// Config sets the limits of a replay, see consumers.Config.
type Config struct {
	BatchRows  int
	BatchBytes int
	BatchWait  time.Duration
	FetchBytes int32
	Grace      time.Duration
	// StoreAtOnce is the number of batches that are stored at a time without live work.
	StoreAtOnce int
	// Lease is the time after which another run takes over the job of a run that died; 0: 10 s.
	Lease time.Duration
}

const (
	defaultLease = 10 * time.Second
	// pollInterval is how often jobs are polled.
	pollInterval = time.Second
	// renewalsPerLease allows for single renewals that fail.
	renewalsPerLease = 4
	// finishTimeout limits the last update of a job by a run that ends with its process.
	finishTimeout = 3 * time.Second
	retryWait     = time.Second
	// maxRuns limits how often a job is started, so that a job that kills its process does not do
	// so permanently.
	maxRuns = 100
	// liveBatchDivisor divides the size of batches while there is live work.
	liveBatchDivisor = 4
	// maxPollRecords is the maximum number of records that are taken from a fetch at a time.
	maxPollRecords = 256
)

// Runner runs replays, one at a time.
type Runner struct {
	deps    Deps
	names   []string
	logger  *slog.Logger
	metrics *metrics
}

// New creates a Runner.
func New(deps Deps) *Runner {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	if deps.Config.Lease <= 0 {
		deps.Config.Lease = defaultLease
	}
	if deps.Busy == nil {
		deps.Busy = func() bool { return false }
	}
	names := slices.Sorted(maps.Keys(deps.Consumers))
	return &Runner{
		deps: deps, names: names, logger: deps.Logger.With("component", "replay"), metrics: newMetrics(deps.Metrics, names),
	}
}

// Run runs jobs until ctx is done. It then leaves an unfinished job to another run and returns nil.
func (r *Runner) Run(ctx context.Context) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	logged := false
	for {
		claim := uuid.New()
		job, ok, err := r.deps.Jobs.ClaimReplay(ctx, r.names, claim, r.deps.Config.Lease)
		if err != nil && ctx.Err() == nil && !logged {
			r.logger.Warn("it cannot be looked whether there are replays to do; it is tried again", "error", err)
		}
		logged = err != nil
		if ok {
			r.runJob(ctx, job, claim)
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Causes for which a run ends before its job is done.
var (
	errCancelled   = errors.New("somebody cancelled it")
	errTooManyRuns = fmt.Errorf(
		"it was taken up %d times and never came to an end: the processes that carry it out die, or are ended", maxRuns,
	)
	errOtherLog = errors.New("the topic was created again, and the records that were meant are gone with the old one")
)

// runJob runs a job until it is done or this run must stop.
func (r *Runner) runJob(ctx context.Context, job jobs.Replay, claim uuid.UUID) {
	log := r.logger.With("replay", job.ID, "consumer", job.Consumer)
	log.Info("replay begins", "run", job.Runs, "workspace", job.Workspace)
	working, end := context.WithCancelCause(ctx)
	reading, stopReading := context.WithCancelCause(working)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		r.renewClaim(working, end, stopReading, job.ID, claim)
	}()
	p := newProgress(job, claim, r.deps.Jobs, r.metrics.forConsumer(job.Consumer))
	err := r.work(working, reading, job, p, log)
	cause := context.Cause(working)
	end(nil)
	<-renewed
	p.stopped()
	switch {
	case err == nil:
		p.complete()
		r.finish(ctx, p, jobs.ReplayDone, "", log)
	case errors.Is(err, jobs.ErrReplayTaken), errors.Is(cause, jobs.ErrReplayTaken):
		log.Warn("another run has taken the replay over; this one leaves it")
	case errors.Is(err, errCancelled):
		r.finish(ctx, p, jobs.ReplayCancelled, "", log)
	case ctx.Err() != nil:
		r.release(ctx, job.ID, claim, log)
	default:
		r.finish(ctx, p, jobs.ReplayFailed, reasonOf(err), log)
	}
}

// work does the work of a job. working is done when this run must stop at once, and reading when
// it must read no more records and only complete what it has read.
func (r *Runner) work(working, reading context.Context, job jobs.Replay, p *progress, log *slog.Logger) error {
	if job.Runs > maxRuns {
		return errTooManyRuns
	}
	if job.Runs > 1 && job.StartedAt != nil {
		err := r.retry(working, "what other runs of the replay left cannot be put right yet", log, func() error {
			return r.deps.Consumers[job.Consumer].RepeatDeletions(working, *job.StartedAt)
		})
		if err != nil {
			return err
		}
	}
	if job.CancelRequested { // while an earlier run had the job
		return errCancelled
	}
	return r.read(working, reading, job, p, log)
}

// reasonOf returns the text of a failure for operators.
func reasonOf(err error) string {
	var broken *kafka.Discontinuity
	if errors.As(err, &broken) && broken.From < 0 {
		return errOtherLog.Error()
	}
	return err.Error()
}

// renewClaim renews the claim until ctx is done. It ends the work when the claim is lost, and stops
// reading when the job is cancelled.
func (r *Runner) renewClaim(ctx context.Context, end, stopReading context.CancelCauseFunc, id, claim uuid.UUID) {
	tick := time.NewTicker(r.deps.Config.Lease / renewalsPerLease)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		cancel, err := r.deps.Jobs.RenewReplay(ctx, id, claim, r.deps.Config.Lease)
		switch {
		case errors.Is(err, jobs.ErrReplayTaken):
			end(err)
		case err != nil && ctx.Err() == nil:
			r.logger.Warn("the claim on the replay could not be renewed; it is tried again", "replay", id, "error", err)
		case cancel:
			stopReading(errCancelled)
		}
	}
}

// read reads and stores the remaining records of a job. It retries after temporary errors until
// working is done. When reading must stop, it still completes all batches that were read, however
// long that takes: otherwise a concurrent deletion could miss the rows that are being inserted.
func (r *Runner) read(working, reading context.Context, job jobs.Replay, p *progress, log *slog.Logger) error {
	topicID, newBatch, err := r.begin(reading, job, log)
	if err != nil {
		return err
	}
	if topicID != job.TopicID {
		return errOtherLog
	}
	cfg := r.deps.Config
	topic := r.deps.Log.Topic(job.Topic).Name
	assigned, err := r.deps.Log.Assign(kafka.AssignOptions{
		Topic: topic, Name: "replay-" + job.Consumer, Spans: p.remaining(), FetchBytes: cfg.FetchBytes,
	})
	if err != nil {
		return err
	}
	defer assigned.Close()
	p.trimmed = assigned.Trimmed
	limit := maxPollRecords
	if job.MaxRows != nil { // so that it is renewed to within a second, or a record
		cfg.BatchRows, limit = max(min(cfg.BatchRows, int(*job.MaxRows/2)), 1), 1
	}
	h := &handler{
		progress: p, newBatch: newBatch, pace: newPace(reading, job, r.deps.Busy),
		liveBatchRows: max(cfg.BatchRows/liveBatchDivisor, 1), liveBatchBytes: max(cfg.BatchBytes/liveBatchDivisor, 1),
	}
	loop := consumers.New(consumers.Config{
		Name: "replay", Group: "replay-" + job.Consumer, Topic: topic, BatchRows: cfg.BatchRows, BatchBytes: cfg.BatchBytes,
		BatchWait: cfg.BatchWait, FetchBytes: cfg.FetchBytes, Grace: cfg.Grace, StoreAtOnce: cfg.StoreAtOnce,
		Hooks: consumers.Hooks{Full: h.full, Refused: h.refused},
	}, h, r.deps.Log, log, nil)
	p.stored = func() int64 { return loop.Metrics().Rows.Load() }
	reader := &source{
		Assignment: assigned, reading: reading, log: r.deps.Log, topic: job.Topic, id: job.TopicID, limit: limit,
	}
	if err := loop.Reread(working, reader); err != nil {
		return err
	}
	return reader.cut
}

// begin calls Begin of the consumer until it succeeds.
func (r *Runner) begin(ctx context.Context, job jobs.Replay, log *slog.Logger) (
	topicID [16]byte, newBatch func() consumers.Batch, err error,
) {
	err = r.retry(ctx, "the replay cannot begin yet", log, func() error {
		topicID, newBatch, err = r.deps.Consumers[job.Consumer].Begin(ctx, job.Workspace)
		return err
	})
	return topicID, newBatch, err
}

// retry calls do until it succeeds, finds a different log, or ctx is done. Then it returns the
// cause.
func (r *Runner) retry(ctx context.Context, cannot string, log *slog.Logger, do func() error) error {
	for logged := false; ; logged = true {
		err := do()
		if err == nil || errors.Is(err, kafka.ErrDiscontinued) {
			return err
		}
		if !logged {
			log.Warn(cannot+"; it is tried again", "error", err)
		}
		if !sleep.For(ctx, retryWait) {
			return fmt.Errorf("%s: %w", cannot, context.Cause(ctx))
		}
	}
}

// finish stores the end of a job, and retries until ctx is done. If it fails, the next run has
// nothing left to do and stores the end.
func (r *Runner) finish(
	ctx context.Context, p *progress, state jobs.ReplayState, problem string, log *slog.Logger,
) {
	for {
		err := p.finish(context.WithoutCancel(ctx), state, problem)
		if err == nil {
			break
		}
		if errors.Is(err, jobs.ErrReplayTaken) {
			log.Warn("the replay has ended, but another run owns its state", "state", state)
			return
		}
		log.Warn("the end of the replay could not be noted; it is tried again", "state", state, "error", err)
		if !sleep.For(ctx, retryWait) {
			return
		}
	}
	p.metrics.ended(state)
	log.Info("replay ends", "state", state, "rows", p.rows(), "error", problem)
}

// release drops the claim, so that another run can continue.
func (r *Runner) release(ctx context.Context, id, claim uuid.UUID, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	if err := r.deps.Jobs.ReleaseReplay(ctx, id, claim); err != nil {
		log.Warn("the replay could not be given back; the next run waits until its lease is over", "error", err)
		return
	}
	log.Info("replay is left to the next run")
}
