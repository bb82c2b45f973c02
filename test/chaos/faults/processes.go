package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/livegraph/livegraph/test/chaos/environment"
)

// consumerRoles are the roles that consume in a consumer group.
var consumerRoles = []string{"points", "commands", "embeddings", "audit"}

// errNotRunning means that the target of the fault does not run.
var errNotRunning = errors.New("it does not run")

// processFaults returns the faults of the binary's processes.
func processFaults(env *environment.Environment) []Fault {
	var all []Fault
	for _, role := range []string{"api", "points", "commands", "embeddings", "audit"} {
		pick := func(dice *rand.Rand) *environment.Role {
			candidates := slices.DeleteFunc(env.Roles(role), func(r *environment.Role) bool { return r.Duplicate })
			return candidates[dice.IntN(len(candidates))]
		}
		all = append(all,
			Fault{Kind: "kill/" + role, Lasts: outage, Inject: func(
				_ context.Context, dice *rand.Rand,
			) (func(context.Context) error, error) {
				process := pick(dice)
				release := process.Hold()
				process.Kill()
				return func(ctx context.Context) error {
					release()
					return process.WaitReady(ctx)
				}, nil
			}},
			Fault{Kind: "pause/" + role, Lasts: pauseLength, Inject: func(
				_ context.Context, dice *rand.Rand,
			) (func(context.Context) error, error) {
				process := pick(dice)
				if process.PID() == 0 {
					return nil, errNotRunning
				}
				return healWith(process.Pause()), nil
			}},
			Fault{Kind: "terminate/" + role, Lasts: instant, Inject: func(
				_ context.Context, dice *rand.Rand,
			) (func(context.Context) error, error) {
				process := pick(dice)
				return func(ctx context.Context) error {
					if err := process.Terminate(ctx); err != nil {
						return err
					}
					return process.WaitReady(ctx)
				}, nil
			}},
		)
	}
	return append(all, duplicateFaults(env)...)
}

// duplicateFaults returns the faults in which a further process joins a consumer group.
func duplicateFaults(env *environment.Environment) []Fault {
	var serial atomic.Int64
	var all []Fault
	for _, role := range consumerRoles {
		start := func() (*environment.Role, func(), error) {
			return env.StartDuplicate(role, fmt.Sprintf("%s-twin-%d", role, serial.Add(1)))
		}
		all = append(all,
			Fault{Kind: "twin/" + role, Lasts: between(3*time.Second, 6*time.Second), Inject: func(context.Context, *rand.Rand) (
				func(context.Context) error, error,
			) {
				_, end, err := start()
				if err != nil {
					return nil, err
				}
				return healWith(end), nil
			}},
			// The process that was paused for longer than its session resumes and believes that it
			// still owns the partitions of its duplicate.
			Fault{Kind: "stale/" + role, Seldom: true,
				Lasts: between(environment.SessionTimeout+2*time.Second, environment.SessionTimeout+5*time.Second),
				Inject: func(ctx context.Context, _ *rand.Rand) (func(context.Context) error, error) {
					duplicate, end, err := start()
					if err != nil {
						return nil, err
					}
					if err := duplicate.WaitReady(ctx); err != nil {
						end()
						return nil, err
					}
					resume := env.Roles(role)[0].Pause()
					return func(context.Context) error {
						resume()
						time.Sleep(2 * time.Second) // both processes run
						end()
						return nil
					}, nil
				}},
		)
	}
	return all
}

// engineFaults returns the faults of the engines' processes.
func engineFaults(env *environment.Environment) []Fault {
	var all []Fault
	for _, e := range env.Engines() {
		all = append(all,
			Fault{Kind: "kill/" + e.Name, Lasts: instant, Inject: func(context.Context, *rand.Rand) (
				func(context.Context) error, error,
			) {
				if e.PID() == 0 {
					return nil, errNotRunning
				}
				e.Kill()
				return e.WaitReady, nil
			}},
			Fault{Kind: "pause/" + e.Name, Lasts: pauseLength, Inject: func(context.Context, *rand.Rand) (
				func(context.Context) error, error,
			) {
				if e.PID() == 0 {
					return nil, errNotRunning
				}
				return healWith(e.Pause()), nil
			}},
		)
	}
	return all
}
