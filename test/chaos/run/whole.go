package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/livegraph/livegraph/test/chaos/faults"
	"github.com/livegraph/livegraph/test/chaos/load"
	"github.com/livegraph/livegraph/test/chaos/world"
)

// workspaces is how many tenants the load has.
const workspaces = 3

// Config says what a whole run is: a world, a load on it, and faults.
type Config struct {
	World    world.Options
	Commit   string
	Faults   int      // how many, at least
	PerRound int      // that overlap
	Load     float64  // share of load.DefaultRate, for worlds beside each other; 0: all of it
	Only     []string // patterns of kinds, as of path.Match; none: all
	Losing   bool     // the faults that lose data by definition, and no others
	Log      io.Writer
	GoOn     bool          // after a violation
	Stay     bool          // leave the world standing after a violation, until ctx ends
	For      time.Duration // in place of Faults, see Options
	Apart    time.Duration
	// Watch, if it is there, runs beside the rounds until they are over.
	Watch func(ctx context.Context, w *world.World, s *world.Stores)
}

// Whole makes a world, runs rounds on it and ends it. A violation is in the summary,
// and no error.
func Whole(ctx context.Context, c Config) (summary Summary, err error) {
	w, err := world.Start(ctx, c.World)
	if err != nil {
		return Summary{}, fmt.Errorf("starting the world: %w", err)
	}
	const stopLimit = time.Minute
	defer func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
		defer cancel()
		err = errors.Join(err, w.Stop(stopping))
	}()
	stores, err := w.Connect(ctx)
	if err != nil {
		return Summary{}, err
	}
	defer func() { err = errors.Join(err, stores.Close()) }()
	watching, unwatch := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { w.RemoveGhosts(watching, stores, faults.Groups()) })
	defer watch.Wait()
	defer unwatch()
	if c.Watch != nil {
		watch.Go(func() { c.Watch(watching, w, stores) })
	}
	kinds, err := choose(faults.All(w, stores), c.Only, c.Losing)
	if err != nil {
		return Summary{}, err
	}
	var driven Load
	if c.Losing {
		c.PerRound = 1 // each loss is looked at by itself
		driven, err = newSurvivor(ctx, w)
	} else {
		driven, err = Drive(ctx, w, stores, load.Config{
			Seed: c.World.Seed, Workspaces: workspaces, Rate: load.DefaultRate().Share(c.Load), Log: c.World.Log,
		})
	}
	if err != nil {
		return Summary{}, fmt.Errorf("preparing the load: %w", err)
	}
	edition := c.World.Kafka
	if edition == "" {
		edition = "embedded"
	}
	summary, err = New(w, driven, Options{
		Begin: Begin{
			Seed: c.World.Seed, Commit: c.Commit, Kafka: edition, Embedder: c.World.Embedder, Disks: c.World.Disks,
			Losing: c.Losing, PerRound: c.PerRound, Load: c.Load,
		},
		Faults: c.Faults, For: c.For, Apart: c.Apart, Kinds: kinds, Log: c.Log, Logger: c.World.Log, GoOn: c.GoOn,
	}).Run(ctx)
	if c.Stay && summary.Violations > 0 {
		for _, e := range w.Engines() {
			c.World.Log.Info("the world stays", "engine", e.Name, "address", e.Direct)
		}
		c.World.Log.Info("the world stays", "apis", w.APIs(), "workspace", w.First.WorkspaceID, "key", w.First.AdminKey)
		<-ctx.Done()
	}
	return summary, err
}

// choose keeps the kinds that are asked for.
func choose(all []faults.Fault, only []string, losing bool) ([]faults.Fault, error) {
	chosen := slices.DeleteFunc(all, func(f faults.Fault) bool {
		return f.Loses != losing || len(only) > 0 && !slices.ContainsFunc(only, func(pattern string) bool {
			matches, err := path.Match(pattern, f.Kind)
			return err == nil && matches
		})
	})
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no kind of fault is like %q", only)
	}
	return chosen, nil
}

// driver is the load on the stores of one world.
type driver struct {
	*load.Load
	stores load.Stores
}

// Drive prepares the load on a world, as c says; where the world is, is filled in.
func Drive(ctx context.Context, w *world.World, s *world.Stores, c load.Config) (Load, error) {
	c.APIs, c.Admin = w.APIs(), load.Operator{Name: w.First.AdminUser, Password: w.First.AdminPassword}
	for _, r := range w.Roles("") {
		c.Metrics = append(c.Metrics, "http://"+r.Metrics+"/metrics")
	}
	l, err := load.New(ctx, c)
	return driver{l, load.Stores{
		Postgres: s.Postgres, ClickHouse: s.ClickHouse, Kafka: s.Kafka, KafkaOptions: w.DirectKafka(),
		Redis: s.Redis, Milvus: s.Milvus,
	}}, err
}

// Run drives until ctx ends, and looks meanwhile at what is over by the time of Check.
func (d driver) Run(ctx context.Context) {
	var watch sync.WaitGroup
	watch.Go(func() { d.WatchFences(ctx, d.stores) })
	defer watch.Wait()
	d.Load.Run(ctx)
}

// Settle waits until all that was asked for has had its effect.
func (d driver) Settle(ctx context.Context) error {
	return d.Load.Settle(ctx, d.stores)
}

// Check returns what must never be.
func (d driver) Check(ctx context.Context) []Violation {
	var all []Violation
	for _, v := range d.Load.Check(ctx, d.stores) {
		all = append(all, Violation{v.Invariant, v.What, v.Evidence})
	}
	return all
}
