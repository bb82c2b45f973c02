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

// Result contains the measurements of a run. Rates are averages over the whole run, from
// the first request on.
type Result struct {
	Requests int64 `json:"requests"` // answered with success
	Accepted int64 `json:"accepted"` // points
	Rejected int64 `json:"rejected"` // points
	Visible  int64 `json:"visible"`  // points; equals Accepted unless the wait for visibility ended early

	AcceptedSeconds   float64 `json:"acceptedSeconds"` // until the last answer
	VisibleSeconds    float64 `json:"visibleSeconds"`  // until all were visible
	AcceptedPerSecond float64 `json:"acceptedPerSecond"`
	VisiblePerSecond  float64 `json:"visiblePerSecond"`

	Latency   Distribution `json:"latency"`   // until the answer
	Freshness Distribution `json:"freshness"` // from the answer until visible; empty for a format without checkpoints

	Refusals    map[string]int64 `json:"refusals"` // answers that led to a retry, by reason
	Interrupted bool             `json:"interrupted"`
}

// run is a run of a fleet.
type run struct {
	fleet    *Fleet
	plan     Plan
	layout   layout
	bodySpec *bodySpec
	encode   encoding
	total    int64    // requests
	bodies   [][]byte // encoded in advance; nil: each is encoded before its request

	startedAt       time.Time
	sendDuration    time.Duration // until the last answer
	visibleDuration time.Duration // until all points were visible
	next            atomic.Int64  // the number of the next request
	requests        atomic.Int64
	accepted        atomic.Int64
	rejected        atomic.Int64
	waiting         atomic.Bool
	latency         histogram
	freshness       histogram
	answered        chan answeredRequest
	checkpoints     checkpointSet
}

// Run sends points as planned and returns when all are visible. If ctx ends before, it
// waits for the requests in flight and returns the measurements until then, with
// Interrupted set. A request that is refused permanently ends the run; the error is
// returned with the measurements until then.
func (f *Fleet) Run(ctx context.Context, plan Plan) (Result, error) {
	plan, err := plan.complete(f.series)
	if err != nil {
		return Result{}, err
	}
	f.mu.Lock()
	clear(f.refusals)
	f.mu.Unlock()
	r := &run{
		fleet: f, plan: plan, layout: newLayout(f.series, plan.Batch), bodySpec: f.bodySpec(&plan),
		encode: encodings[plan.Format], answered: make(chan answeredRequest),
		checkpoints: checkpointSet{byGroup: map[int][]groupCheckpoint{}},
	}
	r.total = r.layout.requests(plan.Points)
	if plan.Prepared {
		r.bodies = f.bodies(&plan)
	}
	if plan.Started != nil {
		plan.Started()
	}
	r.startedAt = time.Now()
	stopProgress := r.startProgress()
	defer stopProgress()

	// Requests in flight may finish for gracePeriod after ctx has ended.
	requestCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(gracePeriod, stop) })()
	stopWatchers := r.startWatchers(context.WithoutCancel(ctx))
	sendErr := r.send(ctx, requestCtx)
	r.sendDuration = time.Since(r.startedAt)

	r.waiting.Store(true)
	visibleErr := sendErr
	if sendErr == nil || ctx.Err() != nil {
		visibleErr = r.waitVisible(ctx)
	}
	r.visibleDuration = time.Since(r.startedAt)
	stopWatchers(visibleErr == nil)
	return r.result(visibleErr == nil, ctx.Err() != nil), r.reason(ctx, sendErr, visibleErr)
}

// reason returns the error of a run that failed. It is nil if the run was interrupted.
func (r *run) reason(ctx context.Context, sendErr, visibleErr error) error {
	switch {
	case ctx.Err() != nil:
		return nil
	case sendErr != nil:
		return sendErr
	case errors.Is(visibleErr, context.DeadlineExceeded):
		return fmt.Errorf("the points are not all visible after %s", r.plan.WaitTimeout)
	default:
		return visibleErr
	}
}

// send sends all requests. It returns when all are answered, when one is refused
// permanently, or, after the end of ctx, when those in flight are answered.
func (r *run) send(ctx, requestCtx context.Context) error {
	callers, requestCtx := errgroup.WithContext(requestCtx)
	for range r.plan.Callers {
		callers.Go(func() error { return r.call(ctx, requestCtx) })
	}
	return callers.Wait()
}

// call sends one request after the other.
func (r *run) call(ctx, requestCtx context.Context) error {
	var body []byte
	for ctx.Err() == nil && requestCtx.Err() == nil {
		n := r.next.Add(1) - 1
		if n >= r.total {
			return nil
		}
		group, s := r.layout.request(n)
		if r.bodies != nil {
			body = r.bodies[n]
		} else {
			body = r.encode.append(body[:0], r.bodySpec, s)
		}
		due, ok := r.waitDue(ctx, n)
		if !ok {
			return nil
		}
		if err := r.request(requestCtx, group, s, due, body); err != nil {
			return err
		}
	}
	return nil
}

// waitDue waits until request n is due and returns that time. Without a rate it returns at
// once. It returns false if ctx ends.
func (r *run) waitDue(ctx context.Context, n int64) (time.Time, bool) {
	if r.plan.Rate == 0 {
		return time.Now(), true
	}
	size := float64(r.layout.width * r.layout.points)
	due := r.startedAt.Add(time.Duration(float64(n) * size / r.plan.Rate * float64(time.Second)))
	wait := time.Until(due)
	return due, wait <= 0 || sleep.For(ctx, wait)
}

func (r *run) request(ctx context.Context, group int, s requestSpec, due time.Time, body []byte) error {
	startedAt := time.Now()
	receipt, err := r.fleet.client.IngestBody(ctx, r.encode.media, body)
	answeredAt := time.Now()
	if r.encode.noCheckpoint {
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
	r.latency.add(answeredAt.Sub(due))
	if r.encode.noCheckpoint {
		return nil
	}
	r.checkpoints.add(group, groupCheckpoint{receipt.Checkpoint, startedAt, answeredAt})
	if r.plan.SkipFreshness {
		return nil
	}
	select {
	case r.answered <- answeredRequest{receipt.Checkpoint, answeredAt}:
	default:
	}
	return nil
}

// startProgress calls Plan.Progress each second until stop is called.
func (r *run) startProgress() (stop func()) {
	if r.plan.Progress == nil {
		return func() {}
	}
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
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
	return func() { close(done); <-stopped }
}

func (r *run) progress() Progress {
	p := Progress{Elapsed: time.Since(r.startedAt), Accepted: r.accepted.Load(), Waiting: r.waiting.Load()}
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
		AcceptedSeconds: r.sendDuration.Seconds(), Latency: r.latency.distribution(), Freshness: r.freshness.distribution(),
		Interrupted: interrupted,
	}
	result.AcceptedPerSecond = float64(result.Accepted) / r.sendDuration.Seconds()
	if visible {
		result.Visible, result.VisibleSeconds = result.Accepted, r.visibleDuration.Seconds()
		result.VisiblePerSecond = float64(result.Accepted) / r.visibleDuration.Seconds()
	}
	r.fleet.mu.Lock()
	defer r.fleet.mu.Unlock()
	result.Refusals = maps.Clone(r.fleet.refusals)
	return result
}

// reasonOf returns a short description of a refusal by which refusals are counted.
func reasonOf(err error) string {
	var fe *fault.Error
	if errors.As(err, &fe) {
		return fe.Message
	}
	return "no answer"
}
