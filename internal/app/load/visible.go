package load

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// answeredRequest is an answered request whose freshness is to be measured.
type answeredRequest struct {
	checkpoint string
	answered   time.Time
}

// startWatchers starts the watchers. The returned function stops them and waits for them.
// If orderly is true, they first finish their current request, whose points are about to
// become visible.
func (r *run) startWatchers(ctx context.Context) (stop func(orderly bool)) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	for range watchers {
		work.Go(func() { r.measureFreshness(ctx) })
	}
	return func(orderly bool) {
		close(r.answered)
		if !orderly {
			cancel()
		}
		work.Wait()
		cancel()
	}
}

// measureFreshness waits for the points of one request after the other to become visible.
func (r *run) measureFreshness(ctx context.Context) {
	for s := range r.answered {
		if err := r.fleet.client.WaitVisible(ctx, s.checkpoint); err == nil {
			r.freshness.add(time.Since(s.answered))
		}
	}
}

// waitVisible waits until every accepted point is visible, but at most for gracePeriod
// after the end of ctx.
func (r *run) waitVisible(ctx context.Context) error {
	waitCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.plan.WaitTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(gracePeriod, cancel) })()
	if r.encode.noCheckpoint {
		// The answered points are in the log. When later points of every series are visible,
		// they are visible, too.
		return r.fleet.register(waitCtx)
	}
	group, waitCtx := errgroup.WithContext(waitCtx)
	group.SetLimit(watchers)
	for _, checkpoint := range r.checkpoints.all() {
		group.Go(func() error { return r.fleet.client.WaitVisible(waitCtx, checkpoint) })
	}
	return group.Wait()
}

// checkpointSet contains the checkpoints to wait for so that the points of all requests so
// far are visible. If a request of a group began after another of the same group was
// answered, its checkpoint covers both: it wrote to the same partitions, after the other.
type checkpointSet struct {
	mu      sync.Mutex
	byGroup map[int][]groupCheckpoint
}

type groupCheckpoint struct {
	checkpoint      string
	begun, answered time.Time
}

func (m *checkpointSet) add(group int, added groupCheckpoint) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.byGroup[group] = append(slices.DeleteFunc(m.byGroup[group], func(old groupCheckpoint) bool {
		return old.answered.Before(added.begun)
	}), added)
}

func (m *checkpointSet) all() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var checkpoints []string
	for _, group := range m.byGroup {
		for _, c := range group {
			checkpoints = append(checkpoints, c.checkpoint)
		}
	}
	return checkpoints
}
