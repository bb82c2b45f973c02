package load

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/sleep"
)

// Result is what a run measured. Rates are of all points from the first request
// on.
type Result struct {
	Requests int64 `json:"requests"` // answered with success
	Accepted int64 `json:"accepted"` // points
	Rejected int64 `json:"rejected"` // points that the server did not take
	Visible  int64 `json:"visible"`  // points; all that were accepted, if the wait for them was not cut short

	AcceptedSeconds   float64 `json:"acceptedSeconds"` // until the last answer
	VisibleSeconds    float64 `json:"visibleSeconds"`  // until all were visible
	AcceptedPerSecond float64 `json:"acceptedPerSecond"`
	VisiblePerSecond  float64 `json:"visiblePerSecond"`

	Latency   Distribution `json:"latency"`   // until the answer
	Freshness Distribution `json:"freshness"` // from the answer until visible; none of a format without checkpoints

	Refusals    map[string]int64 `json:"refusals"` // answers that asked for another try, by reason
	Interrupted bool             `json:"interrupted"`
}

// run is one run of a fleet.
type run struct {
	fleet   *Fleet
	plan    Plan
	layout  layout
	writing *writing
	encode  encoding
	total   int64    // requests
	bodies  [][]byte // made before; nil: each when it is due

	began     time.Time
	sent      time.Duration // until the last answer
	seen      time.Duration // until all points were visible
	next      atomic.Int64  // the number of the next request
	requests  atomic.Int64
	accepted  atomic.Int64
	rejected  atomic.Int64
	waiting   atomic.Bool
	latency   histogram
	freshness histogram
	watch     chan sighting
	marks     marks
}

// Run sends points as planned and returns when all are visible. When ctx ends
// before, it lets what is in flight end, and gives what it has with Interrupted.
// A request that is refused for good ends the run: the error comes with what was
// measured until then.
func (f *Fleet) Run(ctx context.Context, plan Plan) (Result, error) {
	plan, err := plan.complete(f.series)
	if err != nil {
		return Result{}, err
	}
	f.mu.Lock()
	clear(f.refusals)
	f.mu.Unlock()
	r := &run{
		fleet: f, plan: plan, layout: newLayout(f.series, plan.Batch), writing: f.writing(&plan),
		encode: encodings[plan.Format], watch: make(chan sighting), marks: marks{of: map[int][]mark{}},
	}
	r.total = r.layout.requests(plan.Points)
	if plan.Prepared {
		r.bodies = f.bodies(&plan)
	}
	if plan.Started != nil {
		plan.Started()
	}
	r.began = time.Now()
	stopProgress := r.tellProgress()
	defer stopProgress()

	// What is in flight may end when ctx does.
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, stop) })()
	stopWatching := r.startWatching(context.WithoutCancel(ctx))
	sending := r.send(ctx, working)
	r.sent = time.Since(r.began)

	r.waiting.Store(true)
	seeing := sending
	if sending == nil || ctx.Err() != nil {
		seeing = r.settle(ctx)
	}
	r.seen = time.Since(r.began)
	stopWatching(seeing == nil)
	return r.result(seeing == nil, ctx.Err() != nil), r.reason(ctx, sending, seeing)
}

// reason reports why a run is not whole, if it is not and nobody interrupted it.
func (r *run) reason(ctx context.Context, sending, seeing error) error {
	switch {
	case ctx.Err() != nil:
		return nil
	case sending != nil:
		return sending
	case errors.Is(seeing, context.DeadlineExceeded):
		return fmt.Errorf("the points are not all visible after %s", r.plan.Patience)
	default:
		return seeing
	}
}

// send makes all requests. It returns when all are answered, at the first that is
// refused for good, or, once ctx has ended, when those in flight are answered.
func (r *run) send(ctx, working context.Context) error {
	callers, working := errgroup.WithContext(working)
	for range r.plan.Callers {
		callers.Go(func() error { return r.call(ctx, working) })
	}
	return callers.Wait()
}

// call creates one request after the other.
func (r *run) call(ctx, working context.Context) error {
	var body []byte
	for ctx.Err() == nil && working.Err() == nil {
		n := r.next.Add(1) - 1
		if n >= r.total {
			return nil
		}
		group, s := r.layout.request(n)
		if r.bodies != nil {
			body = r.bodies[n]
		} else {
			body = r.encode.append(body[:0], r.writing, s)
		}
		due, ok := r.due(ctx, n)
		if !ok {
			return nil
		}
		if err := r.request(working, group, s, due, body); err != nil {
			return err
		}
	}
	return nil
}

// due waits until a request is to be sent. Without a rate that is now.
func (r *run) due(ctx context.Context, n int64) (time.Time, bool) {
	if r.plan.Rate == 0 {
		return time.Now(), true
	}
	size := float64(r.layout.width * r.layout.points)
	due := r.began.Add(time.Duration(float64(n) * size / r.plan.Rate * float64(time.Second)))
	wait := time.Until(due)
	return due, wait <= 0 || sleep.For(ctx, wait)
}

func (r *run) request(ctx context.Context, group int, s slice, due time.Time, body []byte) error {
	begun := time.Now()
	receipt, err := r.fleet.client.IngestBody(ctx, r.encode.media, body)
	answered := time.Now()
	if r.encode.silent {
		receipt.Accepted = int(s.size())
	}
	if err == nil && int64(receipt.Accepted+receipt.Rejected) != s.size() {
		err = fault.Newf(
			fault.BadGateway, "%d points were sent and %d answered for", s.size(), receipt.Accepted+receipt.Rejected,
		)
	}
	if err != nil {
		return fmt.Errorf("sending points: %w", err)
	}
	r.requests.Add(1)
	r.accepted.Add(int64(receipt.Accepted))
	r.rejected.Add(int64(receipt.Rejected))
	r.latency.add(answered.Sub(due))
	if r.encode.silent {
		return nil
	}
	r.marks.add(group, mark{receipt.Checkpoint, begun, answered})
	if r.plan.Unwatched {
		return nil
	}
	select {
	case r.watch <- sighting{receipt.Checkpoint, answered}:
	default:
	}
	return nil
}

// tellProgress tells it each second until it is stopped.
func (r *run) tellProgress() (stop func()) {
	if r.plan.Progress == nil {
		return func() {}
	}
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				r.plan.Progress(r.progress())
			}
		}
	}()
	return func() { close(done); <-over }
}

func (r *run) progress() Progress {
	p := Progress{Elapsed: time.Since(r.began), Accepted: r.accepted.Load(), Waiting: r.waiting.Load()}
	r.fleet.mu.Lock()
	defer r.fleet.mu.Unlock()
	for _, n := range r.fleet.refusals {
		p.Refusals += n
	}
	return p
}

func (r *run) result(visible, interrupted bool) Result {
	result := Result{
		Requests: r.requests.Load(), Accepted: r.accepted.Load(), Rejected: r.rejected.Load(),
		AcceptedSeconds: r.sent.Seconds(), Latency: r.latency.distribution(), Freshness: r.freshness.distribution(),
		Interrupted: interrupted,
	}
	result.AcceptedPerSecond = float64(result.Accepted) / r.sent.Seconds()
	if visible {
		result.Visible, result.VisibleSeconds = result.Accepted, r.seen.Seconds()
		result.VisiblePerSecond = float64(result.Accepted) / r.seen.Seconds()
	}
	r.fleet.mu.Lock()
	defer r.fleet.mu.Unlock()
	result.Refusals = maps.Clone(r.fleet.refusals)
	return result
}

// reasonOf names a refusal in few words, fit to count by.
func reasonOf(err error) string {
	var fe *fault.Error
	if errors.As(err, &fe) {
		return fe.Message
	}
	return "no answer"
}
