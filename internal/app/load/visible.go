package load

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// sighting is an answered request whose points are to be seen.
type sighting struct {
	checkpoint string
	answered   time.Time
}

// startWatching starts the watchers. What is given ends them: after what they are
// at, which is about to be visible, or at once.
func (r *run) startWatching(ctx context.Context) (stop func(orderly bool)) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	for range watchers {
		work.Go(func() { r.watchSome(ctx) })
	}
	return func(orderly bool) {
		close(r.watch)
		if !orderly {
			cancel()
		}
		work.Wait()
		cancel()
	}
}

// watchSome waits for one request's points after the other.
func (r *run) watchSome(ctx context.Context) {
	for s := range r.watch {
		if err := r.fleet.client.WaitVisible(ctx, s.checkpoint); err == nil {
			r.freshness.add(time.Since(s.answered))
		}
	}
}

// settle waits until every accepted point is visible, or for the
// grace time once ctx has ended.
func (r *run) settle(ctx context.Context) error {
	settling, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.plan.Patience)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })()
	if r.encode.silent {
		// What has been answered is in the log, and a point of every series is behind it.
		return r.fleet.register(settling)
	}
	group, settling := errgroup.WithContext(settling)
	group.SetLimit(watchers)
	for _, checkpoint := range r.marks.all() {
		group.Go(func() error { return r.fleet.client.WaitVisible(settling, checkpoint) })
	}
	return group.Wait()
}

// marks are the checkpoints that stand for all requests so far. Of two requests of
// one group, of which one began when the other was answered, the later stands for
// both: it wrote to the same partitions, behind the other.
type marks struct {
	mu sync.Mutex
	of map[int][]mark
}

type mark struct {
	checkpoint      string
	begun, answered time.Time
}

func (m *marks) add(group int, fresh mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of[group] = append(slices.DeleteFunc(m.of[group], func(old mark) bool {
		return old.answered.Before(fresh.begun)
	}), fresh)
}

func (m *marks) all() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var checkpoints []string
	for _, marks := range m.of {
		for _, mark := range marks {
			checkpoints = append(checkpoints, mark.checkpoint)
		}
	}
	return checkpoints
}
