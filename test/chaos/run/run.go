// Package run injects faults into an environment under load, round after round, and reports
// violated invariants.
//
// A round runs the load, injects faults that overlap at random, heals each after its duration, ends
// the load, lets the system settle, and checks the invariants. It is one line of the run's log (see
// [Line]). The faults are determined by the seed.
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

	"github.com/livegraph/livegraph/test/chaos/environment"
	"github.com/livegraph/livegraph/test/chaos/faults"
)

const (
	healTimeout   = 3 * time.Minute // to heal one fault
	quietTimeout  = time.Minute     // for requests in flight at the end of a round
	settleTimeout = 9 * time.Minute
	checkTimeout  = 11 * time.Minute
	afterFaults   = 500 * time.Millisecond // of load after all faults are healed
)

// Load sends requests to the environment and checks its state.
type Load interface {
	// Run sends requests until ctx ends.
	Run(ctx context.Context)
	// Settle waits until all requests have had their effect.
	Settle(ctx context.Context) error
	// Check returns the violated invariants.
	Check(ctx context.Context) []Violation
}

// Options configure a Runner.
type Options struct {
	Begin
	Faults              int           // minimum number of faults
	Duration            time.Duration // in place of Faults; rounds of the first half restart all processes
	Spacing             time.Duration // between the starts of two faults of a round, on average
	Kinds               []faults.Fault
	Log                 io.Writer // NDJSON
	Logger              *slog.Logger
	ContinueOnViolation bool
}

// Runner runs rounds.
type Runner struct {
	o      Options
	env    *environment.Environment
	load   Load
	rounds []Round
	began  time.Time
}

// New creates a runner for an environment that is ready.
func New(env *environment.Environment, load Load, o Options) *Runner {
	return &Runner{o: o, env: env, load: load}
}

// Run runs rounds until the number of faults is reached, a violation is found, or ctx ends. It
// returns the summary also with an error.
func (r *Runner) Run(ctx context.Context) (Summary, error) {
	r.began = time.Now()
	r.o.At, r.o.Begin.Kinds = r.began.UTC(), len(r.o.Kinds)
	if err := write(r.o.Log, Line{Begin: &r.o.Begin}); err != nil {
		return Summary{}, err
	}
	schedule := newPlan(r.o.Kinds, r.o.Seed, r.o.Spacing)
	var failure error
	for injected := 0; r.shouldContinue(injected) && ctx.Err() == nil && failure == nil; {
		round := r.round(ctx, schedule.next(r.o.PerRound))
		if ctx.Err() != nil {
			break // an interrupted round has no valid result
		}
		r.rounds = append(r.rounds, round)
		failure = write(r.o.Log, Line{Round: &round})
		for _, f := range round.Faults {
			if f.Missed == "" {
				injected++
			}
		}
		r.logRound(&round, injected)
		if len(round.Violations) > 0 && !r.o.ContinueOnViolation {
			break
		}
	}
	summary := summarize(r.rounds, time.Since(r.began))
	return summary, errors.Join(failure, write(r.o.Log, Line{Summary: &summary}))
}

// shouldContinue reports whether there is another round after this number of faults.
func (r *Runner) shouldContinue(injected int) bool {
	if r.o.Duration > 0 {
		return time.Since(r.began) < r.o.Duration
	}
	return injected < r.o.Faults
}

// restartAll sends SIGTERM to each process, one after the other, and waits until it is ready again.
func (r *Runner) restartAll(ctx context.Context, report func(int, string, string)) {
	for _, role := range r.env.Roles("") {
		if role.Duplicate || ctx.Err() != nil {
			continue
		}
		restartCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healTimeout)
		err := role.Terminate(restartCtx)
		if err == nil {
			err = role.WaitReady(restartCtx)
		}
		cancel()
		if err != nil {
			report(15, "a process was not restarted", role.Name+": "+err.Error())
		}
	}
}

// round runs one round.
func (r *Runner) round(ctx context.Context, planned []plannedFault) Round {
	round := Round{
		Round: len(r.rounds) + 1, Seed: r.o.Seed, Violations: []Violation{}, Began: time.Since(r.began).Milliseconds(),
		Rolled: time.Since(r.began) < r.o.Duration/2,
	}
	report := func(invariant int, what, evidence string) {
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
		r.restartAll(ctx, report)
	}
	round.Faults, round.Unhealed = r.inject(ctx, planned, began)
	if r.o.Losing { // a loss must be logged, see package faults
		for _, u := range round.Unhealed {
			report(0, "a loss was not noticed", u)
		}
	}
	recovery, cancel := context.WithTimeout(ctx, healTimeout)
	defer cancel()
	if err := r.env.WaitReady(recovery); err != nil {
		report(0, "something did not come back", err.Error())
	}
	sleep(ctx, afterFaults)
	stop()
	select {
	case <-quiet:
	case <-time.After(quietTimeout):
		report(
			0, "requests are neither answered nor refused",
			"the load has not ended "+quietTimeout.String()+" after it was told to",
		)
		<-quiet
	}
	round.Load = time.Since(began).Milliseconds()
	r.settle(ctx, &round, report)
	r.checkProcesses(&round, report)
	return round
}

// settle waits until the environment has settled, and checks it.
func (r *Runner) settle(ctx context.Context, round *Round, report func(int, string, string)) {
	began := time.Now()
	settling, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	err := r.load.Settle(settling)
	round.Settle = time.Since(began).Milliseconds()
	if err != nil {
		report(0, "it does not settle", err.Error())
		return
	}
	began = time.Now()
	checking, done := context.WithTimeout(ctx, checkTimeout)
	defer done()
	round.Violations = append(round.Violations, r.load.Check(checking)...)
	round.Check = time.Since(began).Milliseconds()
}

// checkProcesses records the Vitals and exits of the processes, and reports unexpected exits.
func (r *Runner) checkProcesses(round *Round, report func(int, string, string)) {
	round.Vitals = r.env.Vitals()
	round.Exits = r.env.Exits()
	for _, v := range CheckExits(round.Exits) {
		report(v.Invariant, v.What, v.Evidence)
	}
}

// CheckExits returns the exits that are violations.
func CheckExits(exits []environment.Exit) (found []Violation) {
	report := func(invariant int, what, evidence string) {
		found = append(found, Violation{invariant, what, evidence})
	}
	for _, e := range exits {
		crashed := strings.Contains(e.Tail, "panic:") || strings.Contains(e.Tail, "fatal error:") ||
			strings.Contains(e.Tail, "DATA RACE")
		// A starting process exits when a store is unavailable for a minute, and is started again.
		switch {
		case e.Asked && !e.Ready && e.How == "signal: terminated": // it had not installed its signal handler
		case e.Asked && !crashed:
			report(15, "SIGTERM was not answered by exit status 0", fmt.Sprintf("%s: %s: %s", e.Process, e.How, e.Tail))
		case e.Ready || crashed:
			report(14, "a process ended by itself", fmt.Sprintf("%s: %s: %s", e.Process, e.How, e.Tail))
		}
	}
	return found
}

// inject injects the faults, each at its time, and heals them.
func (r *Runner) inject(
	ctx context.Context, planned []plannedFault, began time.Time,
) (all []Injected, unhealed []string) {
	all = make([]Injected, len(planned))
	var mu sync.Mutex
	var work sync.WaitGroup
	for i, f := range planned {
		work.Go(func() {
			sleep(ctx, f.after)
			start := time.Now()
			all[i] = Injected{Kind: f.Kind, At: start.Sub(began).Milliseconds()}
			heal, err := f.Inject(ctx, f.dice)
			if err != nil {
				all[i].Missed = err.Error()
			} else {
				sleep(ctx, f.Lasts(f.dice))
			}
			if heal != nil {
				healing, cancel := context.WithTimeout(context.WithoutCancel(ctx), healTimeout)
				defer cancel()
				if err := heal(healing); err != nil {
					mu.Lock()
					defer mu.Unlock()
					unhealed = append(unhealed, f.Kind+": "+err.Error())
				}
			}
			all[i].Lasted = time.Since(start).Milliseconds()
		})
	}
	work.Wait()
	return all, unhealed
}

// logRound logs the result of a round.
func (r *Runner) logRound(round *Round, injected int) {
	var kinds []string
	for _, f := range round.Faults {
		if f.Missed == "" {
			kinds = append(kinds, f.Kind)
		}
	}
	r.o.Logger.Info("round", "round", round.Round, "faults", injected, "kinds", strings.Join(kinds, " "),
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

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// faultType returns the part of a kind before the slash.
func faultType(kind string) string {
	prefix, _, _ := strings.Cut(kind, "/")
	return prefix
}
