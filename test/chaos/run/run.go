// Package run tries faults on a world under load, round after round, and says what must
// never have been.
//
// A round drives the load, injects some faults that overlap at random, each taken back
// after its time, ends the load, lets the system settle, and checks. It is one line of
// the run's log (see [Line]). What is done follows from the seed.
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/livegraph/livegraph/test/chaos/faults"
	"github.com/livegraph/livegraph/test/chaos/world"
)

const (
	healLimit   = 3 * time.Minute // for one fault to be taken back
	quietLimit  = time.Minute     // for requests under way at the end of a round
	settleLimit = 9 * time.Minute
	checkLimit  = 11 * time.Minute
	afterFaults = 500 * time.Millisecond // of load on a world that is well again
)

// Load is what drives the world, and knows what must stand.
type Load interface {
	// Run drives until ctx ends.
	Run(ctx context.Context)
	// Settle waits until all that was asked for has had its effect.
	Settle(ctx context.Context) error
	// Check returns what must never be.
	Check(ctx context.Context) []Violation
}

// Options say what to run.
type Options struct {
	Begin
	Faults int           // how many at least
	For    time.Duration // in place of Faults: rounds begin for so long; in the first half each restarts all processes
	Apart  time.Duration // between two faults of a round, on average
	Kinds  []faults.Fault
	Log    io.Writer // NDJSON
	Logger *slog.Logger
	GoOn   bool // after a violation, too
}

// Runner runs rounds.
type Runner struct {
	o      Options
	world  *world.World
	load   Load
	rounds []Round
	began  time.Time
}

// New creates a runner for a world that is well.
func New(w *world.World, load Load, o Options) *Runner {
	return &Runner{o: o, world: w, load: load}
}

// Run runs rounds until so many faults have happened, a violation is found, or ctx ends.
// The summary is of what was run, also with an error.
func (r *Runner) Run(ctx context.Context) (Summary, error) {
	r.began = time.Now()
	r.o.At, r.o.Begin.Kinds = r.began.UTC(), len(r.o.Kinds)
	if err := write(r.o.Log, Line{Begin: &r.o.Begin}); err != nil {
		return Summary{}, err
	}
	deal := newPlan(r.o.Kinds, r.o.Seed, r.o.Apart)
	var failure error
	for happened := 0; r.goesOn(happened) && ctx.Err() == nil && failure == nil; {
		round := r.round(ctx, deal.next(r.o.PerRound))
		if ctx.Err() != nil {
			break // cut short: what it found means nothing
		}
		r.rounds = append(r.rounds, round)
		failure = write(r.o.Log, Line{Round: &round})
		for _, f := range round.Faults {
			if f.Missed == "" {
				happened++
			}
		}
		r.say(&round, happened)
		if len(round.Violations) > 0 && !r.o.GoOn {
			break
		}
	}
	summary := summarise(r.rounds, time.Since(r.began))
	return summary, errors.Join(failure, write(r.o.Log, Line{Summary: &summary}))
}

// goesOn reports whether there is another round after so many faults.
func (r *Runner) goesOn(happened int) bool {
	if r.o.For > 0 {
		return time.Since(r.began) < r.o.For
	}
	return happened < r.o.Faults
}

// roll asks each process to end in order, one after the other, and waits until it is back.
func (r *Runner) roll(ctx context.Context, bad func(int, string, string)) {
	for _, role := range r.world.Roles("") {
		if role.Twin || ctx.Err() != nil {
			continue
		}
		once, cancel := context.WithTimeout(context.WithoutCancel(ctx), healLimit)
		err := role.Terminate(once)
		if err == nil {
			err = role.WaitReady(once)
		}
		cancel()
		if err != nil {
			bad(15, "a process was not restarted", role.Name+": "+err.Error())
		}
	}
}

// round is one round.
func (r *Runner) round(ctx context.Context, deal []planned) Round {
	round := Round{
		Round: len(r.rounds) + 1, Seed: r.o.Seed, Violations: []Violation{}, Began: time.Since(r.began).Milliseconds(),
		Rolled: time.Since(r.began) < r.o.For/2,
	}
	bad := func(invariant int, what, evidence string) {
		round.Violations = append(round.Violations, Violation{invariant, what, evidence})
	}
	began := time.Now()
	loading, stop := context.WithCancel(ctx)
	defer stop()
	quiet := make(chan struct{})
	go func() {
		defer close(quiet)
		r.load.Run(loading)
	}()
	if round.Rolled {
		r.roll(ctx, bad)
	}
	round.Faults, round.Unhealed = r.inject(ctx, deal, began)
	if r.o.Losing { // what is lost there has to be said, see package faults
		for _, u := range round.Unhealed {
			bad(0, "a loss was not noticed", u)
		}
	}
	back, cancel := context.WithTimeout(ctx, healLimit)
	defer cancel()
	if err := r.world.WaitReady(back); err != nil {
		bad(0, "something did not come back", err.Error())
	}
	pause(ctx, afterFaults)
	stop()
	select {
	case <-quiet:
	case <-time.After(quietLimit):
		bad(
			0, "requests are neither answered nor refused",
			"the load has not ended "+quietLimit.String()+" after it was told to",
		)
		<-quiet
	}
	round.Load = time.Since(began).Milliseconds()
	r.settle(ctx, &round, bad)
	r.inspect(&round, bad)
	return round
}

// settle waits until the world has settled, and checks it.
func (r *Runner) settle(ctx context.Context, round *Round, bad func(int, string, string)) {
	began := time.Now()
	settling, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	err := r.load.Settle(settling)
	round.Settle = time.Since(began).Milliseconds()
	if err != nil {
		bad(0, "it does not settle", err.Error())
		return
	}
	began = time.Now()
	checking, done := context.WithTimeout(ctx, checkLimit)
	defer done()
	round.Violations = append(round.Violations, r.load.Check(checking)...)
	round.Check = time.Since(began).Milliseconds()
}

// inspect looks at the processes.
func (r *Runner) inspect(round *Round, bad func(int, string, string)) {
	round.Vitals = r.world.Vitals()
	round.Exits = r.world.Exits()
	for _, v := range Ends(round.Exits) {
		bad(v.Invariant, v.What, v.Evidence)
	}
}

// Ends reports which ends of processes must not have been.
func Ends(exits []world.Exit) (found []Violation) {
	bad := func(invariant int, what, evidence string) {
		found = append(found, Violation{invariant, what, evidence})
	}
	for _, e := range exits {
		crashed := strings.Contains(e.Tail, "panic:") || strings.Contains(e.Tail, "fatal error:") ||
			strings.Contains(e.Tail, "DATA RACE")
		// A start gives up when a store stays away for a minute, and is made again.
		switch {
		case e.Asked && !e.Ready && e.How == "signal: terminated": // it had not come to hear of signals
		case e.Asked && !crashed:
			bad(15, "SIGTERM was not answered by exit status 0", fmt.Sprintf("%s: %s: %s", e.Process, e.How, e.Tail))
		case e.Ready || crashed:
			bad(14, "a process ended by itself", fmt.Sprintf("%s: %s: %s", e.Process, e.How, e.Tail))
		}
	}
	return found
}

// inject makes the faults happen, each in its time, and takes them back.
func (r *Runner) inject(ctx context.Context, deal []planned, began time.Time) (all []Injected, unhealed []string) {
	all = make([]Injected, len(deal))
	var mu sync.Mutex
	var work sync.WaitGroup
	for i, f := range deal {
		work.Go(func() {
			pause(ctx, f.after)
			at := time.Now()
			all[i] = Injected{Kind: f.Kind, At: at.Sub(began).Milliseconds()}
			heal, err := f.Inject(ctx, f.dice)
			if err != nil {
				all[i].Missed = err.Error()
			} else {
				pause(ctx, f.Lasts(f.dice))
			}
			if heal != nil {
				healing, cancel := context.WithTimeout(context.WithoutCancel(ctx), healLimit)
				defer cancel()
				if err := heal(healing); err != nil {
					mu.Lock()
					defer mu.Unlock()
					unhealed = append(unhealed, f.Kind+": "+err.Error())
				}
			}
			all[i].Lasted = time.Since(at).Milliseconds()
		})
	}
	work.Wait()
	return all, unhealed
}

// say reports how it goes.
func (r *Runner) say(round *Round, happened int) {
	var kinds []string
	for _, f := range round.Faults {
		if f.Missed == "" {
			kinds = append(kinds, f.Kind)
		}
	}
	r.o.Logger.Info("round", "round", round.Round, "faults", happened, "kinds", strings.Join(kinds, " "),
		"loadMs", round.Load, "settleMs", round.Settle, "checkMs", round.Check, "violations", len(round.Violations))
	for _, f := range round.Faults {
		if f.Missed != "" {
			r.o.Logger.Info("a fault did not happen", "kind", f.Kind, "reason", f.Missed)
		}
	}
	for _, u := range round.Unhealed {
		r.o.Logger.Warn("a fault was not taken back", "fault", u)
	}
	for _, v := range round.Violations {
		r.o.Logger.Error(
			"VIOLATION", "seed", round.Seed, "round", round.Round, "invariant", v.Invariant, "what", v.What, "evidence",
			v.Evidence,
		)
	}
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// family is what a kind does, without what it does it to.
func family(kind string) string {
	does, _, _ := strings.Cut(kind, "/")
	return does
}
