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

	"github.com/livegraph/livegraph/test/chaos/environment"
	"github.com/livegraph/livegraph/test/chaos/faults"
	"github.com/livegraph/livegraph/test/chaos/load"
)

// workspaces is the number of workspaces of the load.
const workspaces = 3

// Config configures a run: an environment, the load on it, and the faults.
type Config struct {
	Environment         environment.Options
	Commit              string
	Faults              int      // minimum number
	PerRound            int      // per round, overlapping
	Load                float64  // factor of load.DefaultRate, for several environments on one machine; 0: 1
	Only                []string // patterns of kinds for path.Match; empty: all
	Losing              bool     // only the faults that lose data by definition
	Log                 io.Writer
	ContinueOnViolation bool
	KeepRunning         bool          // after a violation, keep the environment running until ctx ends
	Duration            time.Duration // in place of Faults, see Options
	Spacing             time.Duration
	// Watch, if not nil, runs concurrently with the rounds until they are over.
	Watch func(ctx context.Context, env *environment.Environment, s *environment.Stores)
}

// Execute starts an environment, runs rounds in it and stops it. A violation is in the summary, and
// not an error.
func Execute(ctx context.Context, c Config) (summary Summary, err error) {
	env, err := environment.Start(ctx, c.Environment)
	if err != nil {
		return Summary{}, fmt.Errorf("starting the environment: %w", err)
	}
	const stopTimeout = time.Minute
	defer func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		err = errors.Join(err, env.Stop(stopping))
	}()
	stores, err := env.Connect(ctx)
	if err != nil {
		return Summary{}, err
	}
	defer func() { err = errors.Join(err, stores.Close()) }()
	watching, unwatch := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { env.RemoveDeadMembers(watching, stores, faults.Groups()) })
	defer watch.Wait()
	defer unwatch()
	if c.Watch != nil {
		watch.Go(func() { c.Watch(watching, env, stores) })
	}
	kinds, err := selectKinds(faults.All(env, stores), c.Only, c.Losing)
	if err != nil {
		return Summary{}, err
	}
	var driver Load
	if c.Losing {
		c.PerRound = 1 // each loss is checked separately
		driver, err = newLossLoad(ctx, env)
	} else {
		driver, err = NewLoad(ctx, env, stores, load.Config{
			Seed: c.Environment.Seed, Workspaces: workspaces, Rate: load.DefaultRate().Share(c.Load), Log: c.Environment.Log,
		})
	}
	if err != nil {
		return Summary{}, fmt.Errorf("preparing the load: %w", err)
	}
	edition := c.Environment.Kafka
	if edition == "" {
		edition = "embedded"
	}
	summary, err = New(env, driver, Options{
		Begin: Begin{
			Seed: c.Environment.Seed, Commit: c.Commit, Kafka: edition, Shards: c.Environment.Shards,
			Embedder: c.Environment.Embedder, Disks: c.Environment.Disks, Losing: c.Losing, PerRound: c.PerRound, Load: c.Load,
		},
		Faults: c.Faults, Duration: c.Duration, Spacing: c.Spacing, Kinds: kinds, Log: c.Log,
		Logger: c.Environment.Log, ContinueOnViolation: c.ContinueOnViolation,
	}).Run(ctx)
	if c.KeepRunning && summary.Violations > 0 {
		for _, e := range env.Engines() {
			c.Environment.Log.Info("the environment keeps running", "engine", e.Name, "address", e.Direct)
		}
		c.Environment.Log.Info(
			"the environment keeps running", "apis", env.APIs(), "workspace", env.First.WorkspaceID, "key", env.First.AdminKey,
		)
		<-ctx.Done()
	}
	return summary, err
}

// selectKinds returns the kinds that match the patterns.
func selectKinds(all []faults.Fault, only []string, losing bool) ([]faults.Fault, error) {
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

// boundLoad is the load on the stores of one environment.
type boundLoad struct {
	*load.Load
	stores load.Stores
}

// NewLoad creates the load on an environment. It sets the addresses in c.
func NewLoad(ctx context.Context, env *environment.Environment, s *environment.Stores, c load.Config) (Load, error) {
	c.APIs, c.Admin = env.APIs(), load.Operator{Name: env.First.AdminUser, Password: env.First.AdminPassword}
	for _, r := range env.Roles("") {
		c.Metrics = append(c.Metrics, "http://"+r.Metrics+"/metrics")
	}
	l, err := load.New(ctx, c)
	return boundLoad{l, load.Stores{
		Postgres: s.Postgres, ClickHouse: s.ClickHouse, Kafka: s.Kafka, KafkaOptions: env.DirectKafkaOptions(),
		Redis: s.Redis, Milvus: s.Milvus,
	}}, err
}

// Run sends requests until ctx ends, and meanwhile watches the consumed offsets, which Check cannot
// do afterwards.
func (d boundLoad) Run(ctx context.Context) {
	var watch sync.WaitGroup
	watch.Go(func() { d.WatchOffsets(ctx, d.stores) })
	defer watch.Wait()
	d.Load.Run(ctx)
}

// Settle waits until all requests have had their effect.
func (d boundLoad) Settle(ctx context.Context) error {
	return d.Load.Settle(ctx, d.stores)
}

// Check returns the violated invariants.
func (d boundLoad) Check(ctx context.Context) []Violation {
	var all []Violation
	for _, v := range d.Load.Check(ctx, d.stores) {
		all = append(all, Violation{v.Invariant, v.What, v.Evidence})
	}
	return all
}
