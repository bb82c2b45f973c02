// Package rollups computes the rollups of points by minute and hour, in the background of role
// points: new hours when they are over, and earlier ones again when points were added late,
// overwritten or deleted.
//
// The package schedules the passes, and ensures that one process at a time runs them for the whole
// installation: ClickHouse does the work, so more processes would not be faster. Package
// storage/clickhouse has the passes, which are correct whichever process runs them; see
// docs/adr/0016-rollups.md.
package rollups

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/livegraph/livegraph/internal/platform/lease"
	"github.com/livegraph/livegraph/internal/platform/outage"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/clickhouse"
)

// leaseName is the name of the lease.
const leaseName = "rollups"

const (
	// pollsPerQuiet is how often a pass is tried within Config.Quiet.
	pollsPerQuiet   = 4
	maxPollInterval = 15 * time.Second
	// leaseFor is longer than the limit of a statement plus the age that the lease may have when
	// the statement starts, so that statements of a process that lost the lease never run beside
	// those of the next process.
	leaseFor = clickhouse.RollUpLimit + 90*time.Second
	// failurePause is the pause after a failure. A statement without a response may run as long.
	failurePause = clickhouse.RollUpLimit + 15*time.Second
)

// Deps are the dependencies of a Worker. All are required except Logger and Metrics.
type Deps struct {
	Points  *clickhouse.DB
	Leases  lease.Store // decides which process does the work
	Config  Config
	Logger  *slog.Logger          // nil: slog.Default()
	Metrics prometheus.Registerer // nil: metrics are not registered
}

// Config configures when rollups are computed.
type Config struct {
	// Quiet is the minimum time between a change and the computation of its rollups.
	Quiet time.Duration
	// Late is the time between the end of an hour and its computation.
	Late time.Duration
	// LeaseFor is the duration of the lease, after which another process takes over, and DoubtFor
	// the pause after a failure. Both must be longer than the limit of a statement. Zero: defaults
	// that are.
	LeaseFor, DoubtFor time.Duration
}

// Worker runs passes of the rollups.
type Worker struct {
	deps    Deps
	logger  *slog.Logger
	metrics *metrics
	lease   *lease.Lease

	pausedUntil time.Time // no pass starts before
	outages     outage.Log
}

// New creates a Worker. It does nothing until Run is called.
func New(deps Deps) *Worker {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	if deps.Config.LeaseFor == 0 {
		deps.Config.LeaseFor = leaseFor
	}
	if deps.Config.DoubtFor == 0 {
		deps.Config.DoubtFor = failurePause
	}
	return &Worker{
		deps: deps, logger: deps.Logger.With("component", "rollups"), metrics: newMetrics(deps.Metrics),
		lease: lease.New(deps.Leases, leaseName, deps.Config.LeaseFor),
		outages: outage.Log{
			Failed:    "rollups cannot be computed; queries read points instead, and it is tried again",
			Recovered: "rollups are computed again",
		},
	}
}

// Run runs passes until ctx is done. It then returns nil.
func (w *Worker) Run(ctx context.Context) error {
	defer w.release(ctx)
	interval := min(w.deps.Config.Quiet/pollsPerQuiet, maxPollInterval)
	for {
		w.outages.Note(ctx, w.logger, w.runPass(ctx))
		if !sleep.For(ctx, sleep.Jitter(interval)) {
			return nil
		}
	}
}

// runPass runs a pass, if it is due and no other process has the lease.
func (w *Worker) runPass(ctx context.Context) error {
	status, err := w.deps.Points.RollupStatus(ctx)
	if err != nil {
		return err
	}
	if !status.Clean.IsZero() {
		w.metrics.age.Set(status.Age.Seconds())
	}
	if time.Now().Before(w.pausedUntil) {
		return nil
	}
	held, err := w.lease.Acquire(ctx)
	if err != nil || !held {
		return err
	}
	began := time.Now()
	report, err := w.deps.Points.RollUp(ctx, clickhouse.RollupPass{
		Quiet: w.deps.Config.Quiet, Late: w.deps.Config.Late, Proceed: w.lease.Check,
	})
	w.metrics.observe(&report, time.Since(began), err)
	if err != nil {
		w.pausedUntil = time.Now().Add(w.deps.Config.DoubtFor)
		return err
	}
	if report.Minutes > 0 {
		w.logger.Debug("rolled up", "marks", report.Marks, "minutes", report.Minutes, "points", report.Points,
			"clean", report.Clean, "took", time.Since(began).Round(time.Millisecond))
	}
	return nil
}

// release releases the lease, so that another process can take over at once. If a statement of this
// process may still be running, it does not: the lease must expire.
func (w *Worker) release(ctx context.Context) {
	if time.Now().Before(w.pausedUntil) {
		return
	}
	if err := w.lease.Release(ctx); err != nil {
		w.logger.Info("the lease runs out by itself", "error", err)
	}
}
