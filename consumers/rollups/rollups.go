// Package rollups has what the points come to in each minute and each hour computed,
// in the background of role points: new hours when they are over, and older ones
// again when points of theirs came late, were overwritten or were deleted.
//
// The package owns when that is done, and that one process at a time does it for the
// whole installation: the work is ClickHouse's, so more of them would not be faster.
// What is done, and why it is right anyone who does it, is in storage/clickhouse; see
// docs/adr/0016-rollups.md.
package rollups

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/livegraph/livegraph/internal/platform/lease"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/clickhouse"
)

// leaseName is what the work is called among those that one process does.
const leaseName = "rollups"

const (
	// ticksPerQuiet is how often it is looked whether there is work.
	ticksPerQuiet = 4
	longestTick   = 15 * time.Second
	// leaseFor is longer than a statement may take, on top of the age that the lease may
	// have before it, so that none of a process that lost the lease runs beside those of
	// the next.
	leaseFor = clickhouse.RollUpLimit + 90*time.Second
	// doubtFor is how long nothing is begun after a failure: a statement that got no
	// answer may run as long.
	doubtFor = clickhouse.RollUpLimit + 15*time.Second
)

// Deps are what the worker works with. All are required except Logger and Metrics.
type Deps struct {
	Points  *clickhouse.DB
	Leases  lease.Store // says which process does the work
	Config  Config
	Logger  *slog.Logger          // nil: slog.Default()
	Metrics prometheus.Registerer // nil: what is measured is not registered
}

// Config says when rollups are computed.
type Config struct {
	// Quiet is how long after a change rollups are computed again, at least.
	Quiet time.Duration
	// Late is how long after the end of an hour it is computed.
	Late time.Duration
	// LeaseFor is how long the work of a process that died waits for another, and
	// DoubtFor how long nothing is begun after a failure; zero: longer than a
	// statement may take, which is what they are for.
	LeaseFor, DoubtFor time.Duration
}

// Worker has the rollups computed while Run runs.
type Worker struct {
	deps    Deps
	logger  *slog.Logger
	metrics *metrics
	lease   *lease.Lease

	doubt   time.Time // nothing is begun before
	failing bool
}

// New creates a worker. Somebody has to call Run.
func New(deps Deps) *Worker {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	if deps.Config.LeaseFor == 0 {
		deps.Config.LeaseFor = leaseFor
	}
	if deps.Config.DoubtFor == 0 {
		deps.Config.DoubtFor = doubtFor
	}
	return &Worker{
		deps: deps, logger: deps.Logger.With("component", "rollups"), metrics: newMetrics(deps.Metrics),
		lease: lease.New(deps.Leases, leaseName, deps.Config.LeaseFor),
	}
}

// Run works until ctx is done, which is no error.
func (w *Worker) Run(ctx context.Context) error {
	defer w.release(ctx)
	every := min(w.deps.Config.Quiet/ticksPerQuiet, longestTick)
	for {
		w.say(ctx, w.turn(ctx))
		if !sleep.For(ctx, sleep.Jitter(every)) {
			return nil
		}
	}
}

// turn does a pass, if it is due and no other process has the work.
func (w *Worker) turn(ctx context.Context) error {
	status, err := w.deps.Points.RollupStatus(ctx)
	if err != nil {
		return err
	}
	if !status.Clean.IsZero() {
		w.metrics.age.Set(status.Age.Seconds())
	}
	if time.Now().Before(w.doubt) {
		return nil
	}
	held, err := w.lease.Take(ctx)
	if err != nil || !held {
		return err
	}
	began := time.Now()
	report, err := w.deps.Points.RollUp(ctx, clickhouse.RollupPass{
		Quiet: w.deps.Config.Quiet, Late: w.deps.Config.Late, Proceed: w.lease.Check,
	})
	w.metrics.observe(&report, time.Since(began), err)
	if err != nil {
		w.doubt = time.Now().Add(w.deps.Config.DoubtFor)
		return err
	}
	if report.Minutes > 0 {
		w.logger.Debug("rolled up", "marks", report.Marks, "minutes", report.Minutes, "points", report.Points,
			"clean", report.Clean, "took", time.Since(began).Round(time.Millisecond))
	}
	return nil
}

// release lets another process go on at once, unless a statement of ours may be
// running: then the lease has to run out.
func (w *Worker) release(ctx context.Context) {
	if time.Now().Before(w.doubt) {
		return
	}
	if err := w.lease.Release(ctx); err != nil {
		w.logger.Info("the lease runs out by itself", "error", err)
	}
}

// say logs the first of several failures, and their end.
func (w *Worker) say(ctx context.Context, err error) {
	if ctx.Err() != nil || (err != nil) == w.failing {
		return
	}
	if w.failing = err != nil; w.failing {
		w.logger.Warn("rollups cannot be computed; queries read points instead, and it is tried again", "error", err)
	} else {
		w.logger.Info("rollups are computed again")
	}
}
