// Package faults defines the faults that are injected into an environment: processes and engines
// that are killed, paused or duplicated, connections that break, and engines that refuse requests.
//
// A fault affects one process, engine or connection. Several faults may be active at once, also on
// the same target. If one cannot be injected because of another, Inject returns an error, which is
// not a failure of the run.
package faults

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/livegraph/livegraph/test/chaos/environment"
)

// Fault is one kind of fault.
type Fault struct {
	Kind string // what is done, and to which target: kill/points
	// Seldom is set for faults that take long to settle.
	Seldom bool
	// Loses is set for faults that lose acknowledged data by definition.
	Loses bool
	// Lasts returns how long the fault is active.
	Lasts func(dice *rand.Rand) time.Duration
	// Inject injects the fault; heal removes it and waits for the recovery. An error means that the
	// fault was not or only partly injected: heal is called all the same if it is not nil.
	Inject func(ctx context.Context, dice *rand.Rand) (heal func(context.Context) error, err error)
}

// All returns every kind that is possible in an environment, always in the same order.
func All(env *environment.Environment, s *environment.Stores) []Fault {
	var all []Fault
	all = append(all, processFaults(env)...)
	all = append(all, engineFaults(env)...)
	all = append(all, networkFaults(env)...)
	all = append(all, kafkaFaults(env, s)...)
	all = append(all, clickhouseFaults(env, s)...)
	all = append(all, postgresFaults(env, s)...)
	all = append(all, redisFaults(env, s)...)
	all = append(all, milvusFaults(s)...)
	return append(all, diskFaults(env)...)
}

// between returns a function that returns a random duration in [low, high).
func between(low, high time.Duration) func(*rand.Rand) time.Duration {
	return func(dice *rand.Rand) time.Duration { return low + time.Duration(dice.Int64N(int64(high-low))) }
}

// instant is the duration of faults that have no duration.
func instant(*rand.Rand) time.Duration { return 0 }

// pauseLength returns a duration that is usually short, and sometimes longer than a consumer's
// session.
func pauseLength(dice *rand.Rand) time.Duration {
	switch roll := dice.IntN(100); {
	case roll < 90:
		return between(time.Second, 3*time.Second)(dice)
	case roll < 98:
		return between(3*time.Second, 12*time.Second)(dice)
	default:
		return between(12*time.Second, 30*time.Second)(dice)
	}
}

// outage is the duration of an unavailability.
var outage = between(200*time.Millisecond, 3*time.Second)

// noHeal is the heal function of faults that need none.
func noHeal(context.Context) error { return nil }

// healWith returns a heal function that calls do.
func healWith(do func()) func(context.Context) error {
	return func(context.Context) error { do(); return nil }
}

// retry repeats attempt until it succeeds or ctx ends: a fault must be healed even while another
// fault makes the engine unavailable.
func retry(ctx context.Context, attempt func(context.Context) error) error {
	const pause, limit = 100 * time.Millisecond, 3 * time.Second
	for {
		attemptCtx, cancel := context.WithTimeout(ctx, limit)
		err := attempt(attemptCtx)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}
