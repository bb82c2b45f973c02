package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/livegraph/livegraph/test/bench/machine"
	"github.com/livegraph/livegraph/test/chaos/faults"
	"github.com/livegraph/livegraph/test/chaos/load"
	"github.com/livegraph/livegraph/test/chaos/run"
	"github.com/livegraph/livegraph/test/chaos/world"
	"github.com/livegraph/livegraph/test/soak/traffic"
	"github.com/livegraph/livegraph/test/soak/watch"
)

// checked are the requests of which a model is kept, beside the traffic: few, since the
// model has all of the run.
var checked = load.Rate{Ingest: 3, Commands: 3, Undo: 1, Reads: 1, Keys: 0.2}

const (
	setUpLimit   = 5 * time.Minute
	catchUpLimit = 3 * time.Minute
	settleLimit  = 20 * time.Minute
	checkLimit   = 20 * time.Minute
	stopLimit    = 2 * time.Minute
	// well is how long the load goes on when the last fault is taken back.
	well = 5 * time.Second
)

// soak is a run.
type soak struct {
	config
	out     io.Writer
	world   *world.World
	stores  *world.Stores
	load    run.Load
	traffic *traffic.Traffic
	watch   *watch.Watch

	mu     sync.Mutex
	result result
}

// run is the whole of it. An error says that it could not be made.
func (s *soak) run(ctx context.Context) (r *result, err error) {
	s.result.Began, s.result.Command, s.result.Length = time.Now().UTC(), s.command, s.length
	s.result.Share = s.share
	s.faults = min(s.faults, s.length/fewestFaults)
	s.result.FaultEvery = s.faults
	if s.result.Where, err = machine.Look(ctx, pagePath, "docs/"+imagesPath); err != nil {
		return nil, err
	}
	s.say("starting the engines and the processes")
	if s.world, err = world.Start(ctx, s.config.world); err != nil {
		return nil, fmt.Errorf("starting the world: %w", err)
	}
	defer func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
		defer cancel()
		err = errors.Join(err, s.world.Stop(stopping))
	}()
	if s.stores, err = s.world.Connect(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stores.Close()) }()
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	if err := s.measure(ctx); err != nil {
		return nil, fmt.Errorf("measuring the capacity: %w", err)
	}
	if err := s.hold(ctx); err != nil {
		return nil, err
	}
	s.check(ctx)
	s.result.Samples, s.result.Kinds, s.result.Order = s.watch.Samples(), s.traffic.ByKind(), s.traffic.Kinds()
	return &s.result, ctx.Err()
}

// prepare makes what the requests are about, and finds out with which engines.
func (s *soak) prepare(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, setUpLimit)
	defer cancel()
	said, err := s.world.Command(ctx, "doctor", "--json").Output()
	if len(said) == 0 && err != nil {
		return fmt.Errorf("asking which engines there are: %w", err)
	}
	if s.result.Engines, err = machine.Engines(said, s.config.world.Binary); err != nil {
		return err
	}
	first := s.world.First
	s.traffic, err = traffic.New(ctx, traffic.Target{
		APIs: s.world.APIs(), Key: first.AdminKey, Workspace: first.WorkspaceID, Name: first.AdminUser,
		Password: first.AdminPassword,
	})
	if err != nil {
		return fmt.Errorf("preparing the traffic: %w", err)
	}
	s.load, err = run.Drive(ctx, s.world, s.stores, load.Config{
		Seed: s.config.world.Seed, Workspaces: 2, Rate: checked, ReplayEvery: -1, Log: s.config.world.Log,
	})
	if err != nil {
		return fmt.Errorf("preparing the load that is checked: %w", err)
	}
	s.watch = watch.New(s.world, s.stores, s.traffic.Latest)
	return nil
}

// measure finds out how much the world bears.
func (s *soak) measure(ctx context.Context) (err error) {
	const least, most, share, warmShare = 3 * time.Second, 20 * time.Second, 60, 10
	each := min(max(s.length/share, least), most)
	s.result.Warm = min(traffic.Recent, s.length/warmShare)
	s.say("warming up for %s, then measuring the capacity", s.result.Warm)
	if err := s.traffic.Warm(ctx, s.result.Warm); err != nil {
		return err
	}
	if err := s.caughtUp(ctx); err != nil {
		return err
	}
	s.result.Capacity, s.result.Steps, err = s.traffic.Capacity(ctx, each, s.caughtUp)
	if err != nil {
		return err
	}
	for _, step := range s.result.Steps {
		s.say(
			"%d callers: %.0f requests/s, p99 %.0f ms, consumers had caught up %s later", step.Callers, step.PerSecond, step.P99,
			step.CaughtUp.Round(time.Millisecond),
		)
	}
	modelled := checked.Ingest + checked.Commands + checked.Undo + checked.Reads + checked.Keys
	s.result.Rate = max(s.share*s.result.Capacity-modelled, 1)
	s.result.Checked = modelled
	s.say(
		"%.0f %% of %.0f requests/s for %s: %.0f of traffic, %.0f that are checked", 100*s.share, s.result.Capacity, s.length,
		s.result.Rate, modelled,
	)
	return nil
}

// caughtUp waits until consumers have consumed all there is.
func (s *soak) caughtUp(ctx context.Context) error {
	const look = 100 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, catchUpLimit)
	defer cancel()
	for {
		lag, err := s.watch.Lag(ctx)
		if err == nil && slices.Max(append(slices.Collect(maps.Values(lag)), 0)) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the consumers do not catch up: %v: %w", lag, errors.Join(err, ctx.Err()))
		case <-time.After(look):
		}
	}
}

// hold is the run itself: traffic, the load that is checked, faults, restarts, samples.
func (s *soak) hold(ctx context.Context) error {
	const samples, often, seldom = 720, time.Second, 5 * time.Second
	s.watch = watch.New(s.world, s.stores, s.traffic.Latest)
	var all sync.WaitGroup
	defer all.Wait()
	holding, stop := context.WithCancel(ctx)
	defer stop()
	all.Go(func() { s.world.RemoveGhosts(holding, s.stores, faults.Groups()) })
	all.Go(func() { s.watch.Run(holding, min(max(s.length/samples, often), seldom)) })
	all.Go(func() { s.report(holding) })
	all.Go(func() { s.traffic.Run(holding, s.result.Rate) })
	all.Go(func() { s.load.Run(holding) })
	troubled, over := context.WithTimeout(ctx, s.length-min(well, s.length/4))
	defer over()
	var trouble sync.WaitGroup
	trouble.Go(func() { s.fault(troubled) })
	trouble.Go(func() { s.restart(troubled) })
	trouble.Wait()
	if err := s.world.WaitReady(ctx); err != nil {
		s.wrong(run.Violation{What: "something did not come back", Evidence: err.Error()})
	}
	pause(ctx, well)
	return ctx.Err()
}

// check lets the world settle, and looks for what must never be.
func (s *soak) check(ctx context.Context) {
	s.say("waiting until it has settled")
	settling, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	if err := s.load.Settle(settling); err != nil {
		s.wrong(run.Violation{What: "it does not settle", Evidence: err.Error()})
	} else {
		s.say("checking what stands")
		checking, done := context.WithTimeout(ctx, checkLimit)
		defer done()
		s.wrong(s.load.Check(checking)...)
	}
	s.wrong(run.Ends(s.world.Exits())...)
}

// wrong notes what must not be.
func (s *soak) wrong(found ...run.Violation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range found {
		s.say("VIOLATION of invariant %d: %s: %s", v.Invariant, v.What, v.Evidence)
		s.result.Violations = append(s.result.Violations, v)
	}
}

// report says every minute how it goes.
func (s *soak) report(ctx context.Context) {
	const fewest = 4
	tick := time.NewTicker(min(time.Minute, s.length/fewest))
	defer tick.Stop()
	seen := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		samples := s.watch.Samples()
		if len(samples) > seen {
			s.say("%s", s.summary(samples[seen:]))
			seen = len(samples)
		}
	}
}

// summary is a line about the samples since the last.
func (s *soak) summary(samples []watch.Sample) string {
	statuses, p99, unsent := map[int]int{}, 0.0, 0
	for _, sample := range samples {
		for status, n := range sample.Requests.ByStatus {
			statuses[status] += n
		}
		unsent += sample.Requests.Unsent
		p99 = max(p99, sample.Requests.Took(0.99))
	}
	last := samples[len(samples)-1]
	var takes []string
	for _, name := range slices.Sorted(maps.Keys(last.Processes)) {
		p := last.Processes[name]
		takes = append(takes, fmt.Sprintf(
			"%s %.0f MiB %.0f goroutines %.0f files", name, p.Resident/(1<<20), p.Goroutines, p.OpenFiles,
		))
	}
	var lag int64
	for _, n := range last.Lag {
		lag += n
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var trouble []string
	for _, e := range s.result.Events {
		if e.At > samples[0].At {
			trouble = append(trouble, e.What)
		}
	}
	return fmt.Sprintf("%s: answers %s, %d not sent, worst p99 %.0f ms; lag %d; %s; %s",
		last.At.Round(time.Second), statusText(statuses), unsent, p99, lag, strings.Join(takes, ", "),
		strings.Join(trouble, ", "))
}

// say tells whoever waits.
func (s *soak) say(format string, args ...any) {
	_, _ = fmt.Fprintf(s.out, time.Now().UTC().Format(time.TimeOnly)+" "+format+"\n", args...)
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
