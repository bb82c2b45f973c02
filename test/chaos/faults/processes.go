package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/livegraph/livegraph/test/chaos/world"
)

// twinRoles are the roles that share their work as a consumer group.
var twinRoles = []string{"points", "commands", "embeddings", "audit"}

// errAway says that what was to be hit was not there.
var errAway = errors.New("it does not run")

// processes are the faults of the binary's own processes.
func processes(w *world.World) []Fault {
	var all []Fault
	for _, role := range []string{"api", "points", "commands", "embeddings", "audit"} {
		pick := func(dice *rand.Rand) *world.Role {
			of := slices.DeleteFunc(w.Roles(role), func(r *world.Role) bool { return r.Twin })
			return of[dice.IntN(len(of))]
		}
		all = append(all,
			Fault{Kind: "kill/" + role, Lasts: away, Inject: func(
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
			Fault{Kind: "pause/" + role, Lasts: pausing, Inject: func(
				_ context.Context, dice *rand.Rand,
			) (func(context.Context) error, error) {
				process := pick(dice)
				if process.PID() == 0 {
					return nil, errAway
				}
				return undo(process.Pause()), nil
			}},
			Fault{Kind: "terminate/" + role, Lasts: moment, Inject: func(
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
	return append(all, twins(w)...)
}

// twins are further processes of a consumer group that come and go.
func twins(w *world.World) []Fault {
	var serial atomic.Int64
	var all []Fault
	for _, role := range twinRoles {
		start := func() (*world.Role, func(), error) {
			return w.Twin(role, fmt.Sprintf("%s-twin-%d", role, serial.Add(1)))
		}
		all = append(all,
			Fault{Kind: "twin/" + role, Lasts: between(3*time.Second, 6*time.Second), Inject: func(context.Context, *rand.Rand) (
				func(context.Context) error, error,
			) {
				_, end, err := start()
				if err != nil {
					return nil, err
				}
				return undo(end), nil
			}},
			// The one that is paused for longer than its session wakes up and believes
			// that it still owns what its twin has.
			Fault{Kind: "stale/" + role, Seldom: true, Lasts: between(world.Session+2*time.Second, world.Session+5*time.Second),
				Inject: func(ctx context.Context, _ *rand.Rand) (func(context.Context) error, error) {
					twin, end, err := start()
					if err != nil {
						return nil, err
					}
					if err := twin.WaitReady(ctx); err != nil {
						end()
						return nil, err
					}
					resume := w.Roles(role)[0].Pause()
					return func(context.Context) error {
						resume()
						time.Sleep(2 * time.Second) // both are awake
						end()
						return nil
					}, nil
				}},
		)
	}
	return all
}

// engines are the faults that every engine's process can have.
func engines(w *world.World) []Fault {
	var all []Fault
	for _, e := range w.Engines() {
		all = append(all,
			Fault{Kind: "kill/" + e.Name, Lasts: moment, Inject: func(context.Context, *rand.Rand) (
				func(context.Context) error, error,
			) {
				if e.PID() == 0 {
					return nil, errAway
				}
				e.Kill()
				return e.WaitReady, nil
			}},
			Fault{Kind: "pause/" + e.Name, Lasts: pausing, Inject: func(context.Context, *rand.Rand) (
				func(context.Context) error, error,
			) {
				if e.PID() == 0 {
					return nil, errAway
				}
				return undo(e.Pause()), nil
			}},
		)
	}
	return all
}
