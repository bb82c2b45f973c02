package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/livegraph/livegraph/test/chaos/faults"
	"github.com/livegraph/livegraph/test/chaos/run"
	"github.com/livegraph/livegraph/test/soak/watch"
)

const (
	healLimit    = 3 * time.Minute
	restartLimit = 2 * time.Minute // for one process to end and to come back
	fewestFaults = 4
)

// event is a fault or a restart.
type event struct {
	What    string
	At      time.Duration // since the watch began
	Restart bool          // one of all processes, one after the other
	Missed  string        // why it did not happen
}

// kinds are the faults that may happen. Those are left out that lose data by definition,
// and offsets that are moved back: what an hour has brought would be consumed again,
// which at this load takes longer than the run.
func (s *soak) kinds() []faults.Fault {
	return slices.DeleteFunc(faults.All(s.world, s.stores), func(f faults.Fault) bool {
		return f.Loses || strings.HasPrefix(f.Kind, "offsets-")
	})
}

// fault has a fault happen every so often until ctx ends: each kind once in random order,
// then all again. A fault that lasts longer puts off the next.
func (s *soak) fault(ctx context.Context) {
	dice := rand.New(rand.NewPCG(s.config.world.Seed, 3))
	kinds := s.kinds()
	tick := time.NewTicker(s.faults)
	defer tick.Stop()
	for at := 0; ; at++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if at%len(kinds) == 0 {
			dice.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
		}
		s.inject(ctx, kinds[at%len(kinds)], dice)
	}
}

// inject makes a fault happen and takes it back.
func (s *soak) inject(ctx context.Context, f faults.Fault, dice *rand.Rand) {
	e := event{What: f.Kind, At: s.watch.Since()}
	heal, err := f.Inject(ctx, dice)
	if err != nil {
		e.Missed = err.Error()
	} else {
		pause(ctx, f.Lasts(dice))
	}
	s.note(e)
	if heal == nil {
		return
	}
	healing, cancel := context.WithTimeout(context.WithoutCancel(ctx), healLimit)
	defer cancel()
	if err := heal(healing); err != nil {
		s.say("a fault was not taken back: %s: %v", f.Kind, err)
	}
}

// restart restarts all processes, one after the other, some times in the first half of
// the run: so the second shows what goes up.
func (s *soak) restart(ctx context.Context) {
	times, parts := 4, 8
	if s.length < watch.LeastForTrends {
		times, parts = 1, 3
	}
	for n := range times {
		pause(ctx, time.Duration(n+1)*s.length/time.Duration(parts)-s.watch.Since())
		if ctx.Err() != nil {
			return
		}
		s.note(event{What: "rolling restart", At: s.watch.Since(), Restart: true})
		s.roll(ctx)
	}
}

// roll asks each process to end in order, and waits until it is back.
func (s *soak) roll(ctx context.Context) {
	for _, r := range s.world.Roles("") {
		if r.Twin || ctx.Err() != nil {
			continue
		}
		once, cancel := context.WithTimeout(context.WithoutCancel(ctx), restartLimit)
		err := r.Terminate(once)
		if err == nil {
			err = r.WaitReady(once)
		}
		cancel()
		if err != nil {
			s.wrong(run.Violation{
				Invariant: 15, What: "a process was not restarted", Evidence: fmt.Sprintf("%s: %v", r.Name, err),
			})
		}
	}
}

func (s *soak) note(e event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result.Events = append(s.result.Events, e)
}
