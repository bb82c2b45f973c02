// Package replay carries out replays: jobs, recorded in Postgres, that have a
// built-in consumer read a part of its topic's log once more.
//
// A [Runner] takes a job up under a lease, reads the job's ranges by assignment and
// has the consumer store them by the code that it always uses. How far it is goes
// into the job's own record, so a run that dies is continued by another; the
// consumer's group, its offsets and the watermarks are never touched. Storing again
// what is stored changes nothing, because consumers are idempotent.
//
// The package knows nothing of points. A [Consumer] does: consumers/points has one.
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
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// Consumer can read its log again.
type Consumer interface {
	// Begin makes ready for one run over the topic as it is now: it gives the topic's
	// id, and what makes empty batches. A workspace narrows them to what is its; nil:
	// to nothing.
	Begin(ctx context.Context, workspace *uuid.UUID) (topicID [16]byte, newBatch func() consumers.Batch, err error)
	// TakeOver comes before Begin where other runs of the job, the first of them no
	// earlier than since, ended before the job did: it puts right what they may have left
	// half done.
	TakeOver(ctx context.Context, since time.Time) error
}

// Deps are what a Runner works with. All are required except Busy, Logger and Metrics.
type Deps struct {
	Log  *kafka.Client
	Jobs *stores.DB
	// Consumers are those that this process can replay, by name.
	Consumers map[string]Consumer
	// Busy says that there is live work beside: the replay then takes a quarter of the
	// time at most. It is asked by one goroutine. Nil: there never is.
	Busy    func() bool
	Config  Config
	Logger  *slog.Logger          // nil: slog.Default()
	Metrics prometheus.Registerer // nil: what is measured is not registered
}

// Config bounds a replay, see consumers.Config.
type Config struct {
	BatchRows  int
	BatchBytes int
	BatchWait  time.Duration
	FetchBytes int32
	Grace      time.Duration
	// StoreAtOnce is how many batches are stored at a time while there is no live work.
	StoreAtOnce int
	// Lease is how long a job waits for another run after its own has died; 0: 10 s.
	Lease time.Duration
}

const (
	defaultLease = 10 * time.Second
	// lookEvery is how often it is looked whether there is a job.
	lookEvery = time.Second
	// renewals a lease, so that one that fails does no harm.
	renewals = 4
	// noteLimit bounds the last note of a run that ends because its process does.
	noteLimit = 3 * time.Second
	retryWait = time.Second
	// maxRuns is how often a job is taken up: one that kills its process must not do so
	// forever.
	maxRuns = 100
	// fewer divides a batch while there is live work.
	fewer = 4
	// recordsAtOnce is how many records are taken from a fetch at a time.
	recordsAtOnce = 256
)

// Runner carries out replays, one at a time.
type Runner struct {
	deps    Deps
	names   []string
	logger  *slog.Logger
	metrics *metrics
}

// New creates a runner. Run runs it.
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

// Run takes up jobs until ctx is done, and then leaves its own to the next run. It
// returns nil.
func (r *Runner) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	said := false
	for {
		claim := uuid.New()
		job, ok, err := r.deps.Jobs.ClaimReplay(ctx, r.names, claim, r.deps.Config.Lease)
		if err != nil && ctx.Err() == nil && !said {
			r.logger.Warn("it cannot be looked whether there are replays to do; it is tried again", "error", err)
		}
		said = err != nil
		if ok {
			r.carryOut(ctx, job, claim)
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Why a run ends before its job is done.
var (
	errCancelled = errors.New("somebody cancelled it")
	errTooOften  = fmt.Errorf(
		"it was taken up %d times and never came to an end: the processes that carry it out die, or are ended", maxRuns,
	)
	errOtherLog = errors.New("the topic was created again, and the records that were meant are gone with the old one")
)

// carryOut works at a job until it is done, or this run must leave it.
func (r *Runner) carryOut(ctx context.Context, job jobs.Replay, claim uuid.UUID) {
	log := r.logger.With("replay", job.ID, "consumer", job.Consumer)
	log.Info("replay begins", "run", job.Runs, "workspace", job.Workspace)
	working, end := context.WithCancelCause(ctx)
	wanted, unwant := context.WithCancelCause(working)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		r.keep(working, end, unwant, job.ID, claim)
	}()
	p := newProgress(job, claim, r.deps.Jobs, r.metrics.of(job.Consumer))
	err := r.work(working, wanted, job, p, log)
	cause := context.Cause(working)
	end(nil)
	<-kept
	p.over()
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

// work does what is to be done of a job. working is done when this run must leave it,
// and wanted when nobody wants more of it than that nothing is left half done.
func (r *Runner) work(working, wanted context.Context, job jobs.Replay, p *progress, log *slog.Logger) error {
	if job.Runs > maxRuns {
		return errTooOften
	}
	if job.Runs > 1 && job.StartedAt != nil {
		err := r.until(working, "what other runs of the replay left cannot be put right yet", log, func() error {
			return r.deps.Consumers[job.Consumer].TakeOver(working, *job.StartedAt)
		})
		if err != nil {
			return err
		}
	}
	if job.CancelRequested { // of a run that has died since
		return errCancelled
	}
	return r.read(working, wanted, job, p, log)
}

// reasonOf is what an operator is told of a failure.
func reasonOf(err error) string {
	var broken *kafka.Discontinuity
	if errors.As(err, &broken) && broken.From < 0 {
		return errOtherLog.Error()
	}
	return err.Error()
}

// keep renews the claim until ctx is done. It ends the work when the claim is lost, and
// has no more of it begun when somebody cancels the job.
func (r *Runner) keep(ctx context.Context, end, unwant context.CancelCauseFunc, id, claim uuid.UUID) {
	tick := time.NewTicker(r.deps.Config.Lease / renewals)
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
			unwant(errCancelled)
		}
	}
}

// read reads and stores what is left of a job. What fails for a passing reason is
// tried again until it works or working is done. When it is not wanted any more, what
// was read is stored with all that belongs to it, however long that takes: a deletion
// that came meanwhile would else miss the rows that are just being inserted.
func (r *Runner) read(working, wanted context.Context, job jobs.Replay, p *progress, log *slog.Logger) error {
	topicID, newBatch, err := r.begin(wanted, job, log)
	if err != nil {
		return err
	}
	if topicID != job.TopicID {
		return errOtherLog
	}
	cfg := r.deps.Config
	topic := r.deps.Log.Topic(job.Topic).Name
	assigned, err := r.deps.Log.Assign(kafka.AssignOptions{
		Topic: topic, Name: "replay-" + job.Consumer, Spans: p.left(), FetchBytes: cfg.FetchBytes,
	})
	if err != nil {
		return err
	}
	defer assigned.Close()
	p.trimmed = assigned.Trimmed
	most := recordsAtOnce
	if job.MaxRows != nil { // so that it is kept to within a second, or a record
		cfg.BatchRows, most = max(min(cfg.BatchRows, int(*job.MaxRows/2)), 1), 1
	}
	h := &handler{
		progress: p, newBatch: newBatch, pace: newPace(wanted, job, r.deps.Busy),
		fewRows: max(cfg.BatchRows/fewer, 1), fewBytes: max(cfg.BatchBytes/fewer, 1),
	}
	loop := consumers.New(consumers.Config{
		Name: "replay", Group: "replay-" + job.Consumer, Topic: topic, BatchRows: cfg.BatchRows, BatchBytes: cfg.BatchBytes,
		BatchWait: cfg.BatchWait, FetchBytes: cfg.FetchBytes, Grace: cfg.Grace, StoreAtOnce: cfg.StoreAtOnce,
	}, h, r.deps.Log, log, nil)
	p.stored = func() int64 { return loop.Metrics().Rows.Load() }
	from := &source{Assignment: assigned, wanted: wanted, log: r.deps.Log, topic: job.Topic, id: job.TopicID, most: most}
	if err := loop.Reread(working, from); err != nil {
		return err
	}
	return from.cut
}

// begin has the consumer make ready, until it can.
func (r *Runner) begin(ctx context.Context, job jobs.Replay, log *slog.Logger) (
	topicID [16]byte, newBatch func() consumers.Batch, err error,
) {
	err = r.until(ctx, "the replay cannot begin yet", log, func() error {
		topicID, newBatch, err = r.deps.Consumers[job.Consumer].Begin(ctx, job.Workspace)
		return err
	})
	return topicID, newBatch, err
}

// until does something until it works, finds another log, or ctx is done: then it
// gives the cause.
func (r *Runner) until(ctx context.Context, cannot string, log *slog.Logger, do func() error) error {
	for said := false; ; said = true {
		err := do()
		if err == nil || errors.Is(err, kafka.ErrDiscontinued) {
			return err
		}
		if !said {
			log.Warn(cannot+"; it is tried again", "error", err)
		}
		if !sleep.For(ctx, retryWait) {
			return fmt.Errorf("%s: %w", cannot, context.Cause(ctx))
		}
	}
}

// finish notes the end of a job, until it can or ctx is done. Where it cannot, the
// next run finds nothing left to do and notes it.
func (r *Runner) finish(
	ctx context.Context, p *progress, state jobs.ReplayState, problem string, log *slog.Logger,
) {
	for {
		err := p.finish(context.WithoutCancel(ctx), state, problem)
		if err == nil {
			break
		}
		if errors.Is(err, jobs.ErrReplayTaken) {
			log.Warn("the replay is over, but it is another run's to say so", "state", state)
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

// release lets another run go on.
func (r *Runner) release(ctx context.Context, id, claim uuid.UUID, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteLimit)
	defer cancel()
	if err := r.deps.Jobs.ReleaseReplay(ctx, id, claim); err != nil {
		log.Warn("the replay could not be given back; the next run waits until its lease is over", "error", err)
		return
	}
	log.Info("replay is left to the next run")
}
