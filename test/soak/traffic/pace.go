package traffic

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Step is what a number of callers that wait for their answers had.
type Step struct {
	Callers   int
	PerSecond float64 // accepted, until consumers had caught up
	P99       float64 // ms
	CaughtUp  time.Duration
}

// callers are the steps of the ramp.
var callers = []int{4, 8, 16, 32, 64}

// enoughMore is by how much a step must be better than the best before it to go on.
const enoughMore = 1.05

// Warm has a few callers ask as quickly as they are answered, for a while. A request takes
// longer when there is more to read: after [Recent] queries read about as much as later,
// and what is measured then holds for long.
func (f *Traffic) Warm(ctx context.Context, long time.Duration) error {
	f.keepAsking(ctx, callers[0], long)
	f.tally.reset()
	return ctx.Err()
}

// keepAsking has callers ask for a while.
func (f *Traffic) keepAsking(ctx context.Context, callers int, long time.Duration) {
	began := time.Now()
	var work sync.WaitGroup
	for range callers {
		work.Go(func() {
			for time.Since(began) < long && ctx.Err() == nil {
				f.one(ctx)
			}
		})
	}
	work.Wait()
}

// Capacity has ever more callers ask as quickly as they are answered, each number for
// a while, until more of them have no more answered. What counts is what has been
// accepted until the consumers have done it, which caughtUp waits for. It begins to count
// anew when it is done.
func (f *Traffic) Capacity(
	ctx context.Context, each time.Duration, caughtUp func(context.Context) error,
) (best float64, steps []Step, err error) {
	for _, n := range callers {
		f.Latest()
		began := time.Now()
		f.keepAsking(ctx, n, each)
		asked := time.Now()
		if err := caughtUp(ctx); err != nil {
			return 0, steps, err
		}
		had := f.Latest()
		step := Step{
			Callers: n, PerSecond: float64(had.Accepted()) / time.Since(began).Seconds(), P99: had.Took(0.99),
			CaughtUp: time.Since(asked),
		}
		steps = append(steps, step)
		enough := step.PerSecond < best*enoughMore
		best = max(best, step.PerSecond)
		if enough {
			break
		}
	}
	f.tally.reset()
	return best, steps, ctx.Err()
}

// Run sends so many requests a second until ctx ends, whether they are answered or not,
// and keeps streams open beside. It returns when the last is answered.
func (f *Traffic) Run(ctx context.Context, perSecond float64) {
	var work sync.WaitGroup
	defer work.Wait()
	for n := range f.t.Streams {
		work.Go(func() { f.follow(ctx, n) })
	}
	const look = 5 * time.Millisecond
	tick := time.NewTicker(look)
	defer tick.Stop()
	var open atomic.Int64
	going := context.WithoutCancel(ctx) // what is under way is not cut off
	began, due := time.Now(), 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for ; due < int(perSecond*time.Since(began).Seconds()); due++ {
			if open.Load() >= int64(f.t.MostOpen) {
				f.tally.unsent()
				continue
			}
			open.Add(1)
			work.Go(func() {
				defer open.Add(-1)
				f.one(going)
			})
		}
	}
}

// follow keeps a stream open, and begins another when it has ended or was long enough.
func (f *Traffic) follow(ctx context.Context, n int) {
	path := []string{"/api/live-data/stream?metric=m1", "/api/queries/events"}[n%2]
	for ctx.Err() == nil {
		length := 20*time.Second + time.Duration(rand.Int64N(int64(40*time.Second)))
		once, cancel := context.WithTimeout(ctx, length)
		answer, err := f.first(once, n/2, request{method: http.MethodGet, path: path, stream: true})
		switch {
		case err == nil:
			f.tally.add(streams, answer.StatusCode, 0)
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
		case once.Err() == nil:
			f.tally.add(streams, 0, 0)
		}
		cancel()
		select {
		case <-ctx.Done():
		case <-time.After(time.Second): // a reader that comes back
		}
	}
}

// streams is the name of that kind. It has no time: a stream ends when we end it.
const streams = "streams"
