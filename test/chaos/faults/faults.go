// Package faults is what can go wrong around Livegraph, each as a value that makes it
// happen in a world and takes it back: processes and engines that are killed, paused or
// replaced, connections that break, and engines that refuse for their own reasons.
//
// A fault hits one thing. Several may hold at once, of the same thing too; what one
// cannot do because another was there first it gives as an error, which is no failure.
package faults

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/livegraph/livegraph/test/chaos/world"
)

// Fault is one kind of fault.
type Fault struct {
	Kind string // what is done, and to what: kill/points
	// Seldom is set for what takes long to settle.
	Seldom bool
	// Loses is set for what loses acknowledged data by definition.
	Loses bool
	// Lasts gives how long it is to hold.
	Lasts func(dice *rand.Rand) time.Duration
	// Inject makes it happen; heal takes it back and returns when that is done. An
	// error says that it did not happen, or not all of it: heal, if there is one, is
	// called all the same.
	Inject func(ctx context.Context, dice *rand.Rand) (heal func(context.Context) error, err error)
}

// All returns every kind that is possible in a world, always in the same order.
func All(w *world.World, s *world.Stores) []Fault {
	var all []Fault
	all = append(all, processes(w)...)
	all = append(all, engines(w)...)
	all = append(all, networks(w)...)
	all = append(all, logs(w, s)...)
	all = append(all, clickhouses(w, s)...)
	all = append(all, postgreses(w, s)...)
	all = append(all, redises(w, s)...)
	all = append(all, milvuses(s)...)
	return append(all, disks(w)...)
}

// between returns a time within bounds.
func between(least, most time.Duration) func(*rand.Rand) time.Duration {
	return func(dice *rand.Rand) time.Duration { return least + time.Duration(dice.Int64N(int64(most-least))) }
}

// moment is for what happens at once.
func moment(*rand.Rand) time.Duration { return 0 }

// pausing is mostly short, and now and then longer than a consumer's session.
func pausing(dice *rand.Rand) time.Duration {
	switch roll := dice.IntN(100); {
	case roll < 90:
		return between(time.Second, 3*time.Second)(dice)
	case roll < 98:
		return between(3*time.Second, 12*time.Second)(dice)
	default:
		return between(12*time.Second, 30*time.Second)(dice)
	}
}

// away is how long something stays away.
var away = between(200*time.Millisecond, 3*time.Second)

// nothing heals what needs no healing.
func nothing(context.Context) error { return nil }

// undo makes a heal of what takes something back at once.
func undo(do func()) func(context.Context) error {
	return func(context.Context) error { do(); return nil }
}

// insist tries until it works or ctx ends: what takes a fault back must happen, though
// the engine be unavailable for another.
func insist(ctx context.Context, try func(context.Context) error) error {
	const pause, limit = 100 * time.Millisecond, 3 * time.Second
	for {
		once, cancel := context.WithTimeout(ctx, limit)
		err := try(once)
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
