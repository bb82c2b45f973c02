// Package maintenance is the background work of role points that one process at a time does for
// the whole installation. It deletes the points that tombstones cover, removes points that are
// past their retention, removes deleted workspaces from all stores, trims the log by time, prunes
// tombstones that the log no longer requires, prunes undo stacks, and purges deleted nodes.
//
// Each job has a lease in Postgres. The process that holds the lease does the work; if it dies,
// another process takes over. Correctness does not depend on a single process: every step may be
// executed twice, also at the same time, and may be repeated after an interruption. The package
// defines when and in which order the work is done; the stores have the statements.
package maintenance

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/platform/lease"
	"github.com/livegraph/livegraph/internal/platform/outage"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// Deps are the dependencies of the work. All are required except Logger and Metrics.
type Deps struct {
	Registry *stores.DB
	Points   *clickhouse.DB
	Log      *kafka.Client
	// Stores are the stores with data of workspaces, in the order in which they are emptied
	// when a workspace is deleted.
	Stores  []Store
	Config  Config
	Logger  *slog.Logger          // nil: slog.Default()
	Metrics prometheus.Registerer // nil: metrics are not registered
}

// Config configures the work. A zero value selects the default.
type Config struct {
	// RetentionEvery is how often old points are removed; 1 hour. Queries hide them from the
	// end of their retention on.
	RetentionEvery time.Duration
	// PruneEvery is how often tombstones are pruned; 6 hours.
	PruneEvery time.Duration
	// EraseEvery is how often deletions of workspaces are polled; 1 second.
	EraseEvery time.Duration
	// SweepAfter is the time between the removal of a workspace and its repetition; 150
	// seconds, which is longer than an insert may take.
	SweepAfter time.Duration
	// DeleteEvery is how often deletions of points are polled; half a second. Queries hide
	// the points before they are deleted.
	DeleteEvery time.Duration
	// SettleAfter is the age at which a deletion of points is executed for the last time; 2
	// minutes, which is longer than an insert may take.
	SettleAfter time.Duration
	// TrimEvery is how often records that are older than LogFor are removed from the log; 10
	// minutes.
	TrimEvery time.Duration
	// LogFor is how long records are kept in the log; 0: limited only by the size of the log.
	LogFor time.Duration
	// GraphEvery is how often graphs are searched for unreachable undo entries, and for deleted
	// nodes that are older than DeletedNodesFor; 1 hour.
	GraphEvery time.Duration
	// DeletedNodesFor is how long the contents of a deleted node are kept; 0: permanently.
	DeletedNodesFor time.Duration
	// PurgeEvery is how often purges of nodes are polled; half a second.
	PurgeEvery time.Duration
	// LeaseFor is the duration of a lease, after which another process takes over the work of
	// one that died; 15 seconds.
	LeaseFor time.Duration
	// Now returns the current time; nil: time.Now.
	Now func() time.Time
}

func (c Config) withDefaults() Config {
	for _, setting := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&c.RetentionEvery, time.Hour}, {&c.PruneEvery, 6 * time.Hour}, {&c.EraseEvery, time.Second},
		{&c.DeleteEvery, time.Second / 2}, {&c.SettleAfter, 2 * time.Minute},
		{&c.GraphEvery, time.Hour}, {&c.TrimEvery, 10 * time.Minute}, {&c.PurgeEvery, time.Second / 2},
		{&c.SweepAfter, 150 * time.Second}, {&c.LeaseFor, 15 * time.Second},
	} {
		if *setting.field <= 0 {
			*setting.field = setting.value
		}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Runner does the background work of the package.
type Runner struct {
	Deps
	metrics *metrics
}

// New creates a Runner. It does nothing until Run is called.
func New(deps Deps) *Runner {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	deps.Logger = deps.Logger.With("component", "maintenance")
	deps.Config = deps.Config.withDefaults()
	return &Runner{Deps: deps, metrics: newMetrics(deps.Metrics)}
}

// job is a kind of background work with its own lease.
type job struct {
	name  string
	every time.Duration
	// keepLease keeps the lease until the work is due again, so that all processes together do
	// it once in that time.
	keepLease bool
	due       func(ctx context.Context) (bool, error)
	do        func(ctx context.Context) error
}

// Run does the work until ctx is done. It then returns nil.
func (u *Runner) Run(ctx context.Context) error {
	always := func(context.Context) (bool, error) { return true, nil }
	var work errgroup.Group
	for _, j := range []job{
		{name: "retention", every: u.Config.RetentionEvery, keepLease: true, due: always, do: u.expire},
		{name: "tombstones", every: u.Config.PruneEvery, keepLease: true, due: always, do: u.prune},
		{name: "deletions", every: u.Config.DeleteEvery, due: u.hasDueDeletions, do: u.deletePoints},
		{name: "log", every: u.Config.TrimEvery, keepLease: true, due: always, do: u.trimLog},
		{name: "graphs", every: u.Config.GraphEvery, keepLease: true, due: always, do: u.maintainGraphs},
		{name: "purges", every: u.Config.PurgeEvery, due: u.hasPurges, do: u.purgeNodes},
		{name: "workspaces", every: u.Config.EraseEvery, due: u.hasDueErasures, do: u.eraseWorkspaces},
	} {
		work.Go(func() error { return u.run(ctx, j) })
	}
	return work.Wait()
}

func (u *Runner) run(ctx context.Context, j job) error {
	workLease := lease.New(u.Registry, j.name, u.Config.LeaseFor)
	defer u.release(ctx, j, workLease)
	tick := time.NewTicker(j.every)
	defer tick.Stop()
	outages := outage.Log{Failed: "background work fails; it is tried again", Recovered: "background work succeeds again"}
	for {
		err := u.runOnce(ctx, j, workLease)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			u.metrics.failures.WithLabelValues(j.name).Inc()
		}
		outages.Note(ctx, u.Logger, err, "work", j.name)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// runOnce does the work of a job once, if it is due and no other process has the lease.
func (u *Runner) runOnce(ctx context.Context, j job, workLease *lease.Lease) error {
	if due, err := j.due(ctx); err != nil || !due {
		return err
	}
	err := workLease.Run(ctx, j.do)
	if errors.Is(err, lease.ErrHeld) {
		return nil
	}
	if err == nil && j.keepLease {
		err = workLease.Hold(ctx, j.every)
	}
	return err
}

// release releases the lease of a job, so that another process can take over at once.
func (u *Runner) release(ctx context.Context, j job, workLease *lease.Lease) {
	if err := workLease.Release(ctx); err != nil {
		u.Logger.Info("a lease runs out by itself", "work", j.name, "error", err)
	}
}

// pause sleeps as long as the previous step took, within minPause and maxPause, so that at least
// half of the time of the store is available to other work.
func pause(ctx context.Context, took time.Duration) error {
	sleep.For(ctx, min(max(took, minPause), maxPause))
	return ctx.Err()
}

const (
	minPause = 20 * time.Millisecond
	maxPause = time.Minute
)
