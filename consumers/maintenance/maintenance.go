// Package maintenance is the background work of role points that one process at a time
// does for the whole installation: it deletes the points that tombstones cover,
// removes points that are past their retention, removes deleted workspaces from all
// stores, trims the log by time, forgets tombstones that the log has outlived, prunes undo stacks, and purges
// deleted nodes.
//
// Each piece of work has a lease in Postgres: whichever process holds it does the
// work, and when it dies another takes over. Nothing rests on there being only one:
// every step may be done twice, at the same time too, and may be cut short and begun
// again. The package owns when and in which order; the statements are those of the
// stores.
package maintenance

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/platform/lease"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// Deps are what the work is done on. All are required except Logger and Metrics.
type Deps struct {
	Registry *stores.DB
	Points   *clickhouse.DB
	Log      *kafka.Client
	// Stores are those that have something of a workspace, in the order in which they
	// are emptied when it is deleted.
	Stores  []Store
	Config  Config
	Logger  *slog.Logger          // nil: slog.Default()
	Metrics prometheus.Registerer // nil: what is measured is not registered
}

// Config says when things are done. Zero is the default.
type Config struct {
	// RetentionEvery is how often old points are removed; 1 hour. They are in no
	// answer long before.
	RetentionEvery time.Duration
	// PruneEvery is how often tombstones are looked through; 6 hours.
	PruneEvery time.Duration
	// EraseEvery is how often it is looked whether a workspace was deleted; 1 second.
	EraseEvery time.Duration
	// SweepAfter is how long after a workspace was removed it is looked for once more;
	// 150 seconds, which is longer than an insert may take.
	SweepAfter time.Duration
	// DeleteEvery is how often it is looked whether points are to be deleted; half a
	// second. They are in no answer before.
	DeleteEvery time.Duration
	// SettleAfter is how old a deletion of points is when it is done for the last time;
	// 2 minutes, which is longer than an insert may take.
	SettleAfter time.Duration
	// TrimEvery is how often the log is looked through for records that are older than LogFor;
	// 10 minutes.
	TrimEvery time.Duration
	// LogFor is how long records are kept in the log; 0: for as long as there is room.
	LogFor time.Duration
	// GraphEvery is how often graphs are looked through for undo entries that nobody can
	// reach, and for deleted nodes that are not to be kept; 1 hour.
	GraphEvery time.Duration
	// DeletedNodesFor is how long what a deleted node was is kept; 0: forever.
	DeletedNodesFor time.Duration
	// PurgeEvery is how often it is looked whether nodes are to be purged; half a second.
	PurgeEvery time.Duration
	// LeaseFor is how long the work of a process that died waits for another; 15
	// seconds.
	LeaseFor time.Duration
	// Now is the clock; nil: the machine's.
	Now func() time.Time
}

func (c Config) withDefaults() Config {
	for _, setting := range []struct {
		at    *time.Duration
		value time.Duration
	}{
		{&c.RetentionEvery, time.Hour}, {&c.PruneEvery, 6 * time.Hour}, {&c.EraseEvery, time.Second},
		{&c.DeleteEvery, time.Second / 2}, {&c.SettleAfter, 2 * time.Minute},
		{&c.GraphEvery, time.Hour}, {&c.TrimEvery, 10 * time.Minute}, {&c.PurgeEvery, time.Second / 2},
		{&c.SweepAfter, 150 * time.Second}, {&c.LeaseFor, 15 * time.Second},
	} {
		if *setting.at <= 0 {
			*setting.at = setting.value
		}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Runner does the work while Run runs.
type Runner struct {
	Deps
	metrics *metrics
}

// New creates one. Somebody has to call Run.
func New(deps Deps) *Runner {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	deps.Logger = deps.Logger.With("component", "upkeep")
	deps.Config = deps.Config.withDefaults()
	return &Runner{Deps: deps, metrics: newMetrics(deps.Metrics)}
}

// job is a piece of work with its lease.
type job struct {
	name  string
	every time.Duration
	// rests keeps the lease until the work is due again, so that it is done once in
	// that time by all processes together.
	rests bool
	due   func(ctx context.Context) (bool, error)
	do    func(ctx context.Context) error
}

// Run does the work until ctx is done, which is no error.
func (u *Runner) Run(ctx context.Context) error {
	always := func(context.Context) (bool, error) { return true, nil }
	var work errgroup.Group
	for _, j := range []job{
		{name: "retention", every: u.Config.RetentionEvery, rests: true, due: always, do: u.expire},
		{name: "tombstones", every: u.Config.PruneEvery, rests: true, due: always, do: u.prune},
		{name: "deletions", every: u.Config.DeleteEvery, due: u.anyToDelete, do: u.deletePoints},
		{name: "log", every: u.Config.TrimEvery, rests: true, due: always, do: u.trimLog},
		{name: "graphs", every: u.Config.GraphEvery, rests: true, due: always, do: u.tidyGraphs},
		{name: "purges", every: u.Config.PurgeEvery, due: u.anyToPurge, do: u.purgeNodes},
		{name: "workspaces", every: u.Config.EraseEvery, due: u.anyToErase, do: u.eraseWorkspaces},
	} {
		work.Go(func() error { return u.run(ctx, j) })
	}
	return work.Wait()
}

func (u *Runner) run(ctx context.Context, j job) error {
	held := lease.New(u.Registry, j.name, u.Config.LeaseFor)
	defer u.giveBack(ctx, j, held)
	tick := time.NewTicker(j.every)
	defer tick.Stop()
	for failing := false; ; {
		err := u.turn(ctx, j, held)
		if ctx.Err() != nil {
			return nil // told to end
		}
		if err != nil {
			u.metrics.failures.WithLabelValues(j.name).Inc()
		}
		if failed := err != nil; failed != failing { // once, not each time
			failing = failed
			if failed {
				u.Logger.Warn("background work fails; it is tried again", "work", j.name, "error", err)
			} else {
				u.Logger.Info("background work goes on", "work", j.name)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// turn does the work once, if it is due and no other process has it.
func (u *Runner) turn(ctx context.Context, j job, held *lease.Lease) error {
	if due, err := j.due(ctx); err != nil || !due {
		return err
	}
	err := held.While(ctx, j.do)
	if errors.Is(err, lease.ErrElsewhere) {
		return nil
	}
	if err == nil && j.rests {
		err = held.Rest(ctx, j.every)
	}
	return err
}

// giveBack lets another process go on at once.
func (u *Runner) giveBack(ctx context.Context, j job, held *lease.Lease) {
	if err := held.Release(ctx); err != nil {
		u.Logger.Info("a lease runs out by itself", "work", j.name, "error", err)
	}
}

// rest waits as long as the step before took, so that half of the store's time is
// always for others.
func rest(ctx context.Context, took time.Duration) error {
	sleep.For(ctx, min(max(took, minPause), maxPause))
	return ctx.Err()
}

const (
	minPause = 20 * time.Millisecond
	maxPause = time.Minute
)
