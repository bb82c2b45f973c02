package tail

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"

	"github.com/google/uuid"
	"golang.org/x/sync/semaphore"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/outage"
)

// Hub serves the streams of a process. Run reads the log for them.
type Hub struct {
	deps         Deps
	log          *slog.Logger
	budget       budget
	metrics      *metrics
	catchUpSlots *semaphore.Weighted // limits concurrent catch-ups

	mu          sync.Mutex
	open        int
	ofWorkspace map[uuid.UUID]int
	ofKey       map[uuid.UUID]int
	joining     []*joining
	leaving     []*subscriber
	interrupt   context.CancelFunc // cancels the current poll; nil: none
	next        map[int32]int64    // by partition, the offset below which all records are in the queues
	wake        chan struct{}
	stopped     bool
}

// joining is a stream that waits to join the shared tail.
type joining struct {
	stream *subscriber
	done   chan error // receives the result once
}

// NewHub creates a Hub.
func NewHub(deps Deps) *Hub {
	deps.Limits = deps.Limits.withDefaults()
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	h := &Hub{
		deps: deps, log: deps.Logger.With("component", "point streams"), budget: budget{limit: deps.Limits.BufferedBytes},
		catchUpSlots: semaphore.NewWeighted(maxCatchUps), ofWorkspace: map[uuid.UUID]int{}, ofKey: map[uuid.UUID]int{},
		wake: make(chan struct{}, 1),
	}
	h.metrics = newMetrics(h, deps.Metrics)
	return h
}

// Streams returns the number of open streams.
func (h *Hub) Streams() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open
}

// CountSent counts points that a stream has sent.
func (h *Hub) CountSent(points int) { h.metrics.points.Add(float64(points)) }

// admit counts a new stream, or returns an error if a limit is reached.
func (h *Hub) admit(workspace, key uuid.UUID) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	limits := h.deps.Limits
	var err error
	switch {
	case h.open >= limits.Streams:
		err = errTooMany("this server", limits.Streams)
	case h.ofWorkspace[workspace] >= limits.PerWorkspace:
		err = errTooMany("a workspace", limits.PerWorkspace)
	case h.ofKey[key] >= limits.PerKey:
		err = errTooMany("a key", limits.PerKey)
	default:
		h.open++
		h.ofWorkspace[workspace]++
		h.ofKey[key]++
		return nil
	}
	h.metrics.refused.Inc()
	return err
}

// release undoes admit.
func (h *Hub) release(workspace, key uuid.UUID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
	for _, c := range []struct {
		counts map[uuid.UUID]int
		id     uuid.UUID
	}{{h.ofWorkspace, workspace}, {h.ofKey, key}} {
		if c.counts[c.id]--; c.counts[c.id] == 0 {
			delete(c.counts, c.id)
		}
	}
}

// join adds the subscriber to the shared tail and waits until that is done. Then s.from is set.
func (h *Hub) join(ctx context.Context, s *subscriber) error {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	j := &joining{stream: s, done: make(chan error, 1)}
	h.mu.Lock()
	stopped := h.stopped
	h.joining = append(h.joining, j)
	h.mu.Unlock()
	if stopped {
		return errUnavailable(errors.New("the hub does not run"))
	}
	h.notify()
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		h.leave(s)
		return errUnavailable(ctx.Err())
	}
}

func errUnavailable(cause error) error {
	return fault.New(fault.Unavailable, "The log cannot be followed at the moment").After(retryDelay * 4).Because(cause)
}

// leave removes the subscriber from the shared tail. It does not wait.
func (h *Hub) leave(s *subscriber) {
	h.mu.Lock()
	h.leaving = append(h.leaving, s)
	h.mu.Unlock()
	h.notify()
}

// notify makes the shared tail process the streams that join and leave.
func (h *Hub) notify() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.interrupt != nil {
		h.interrupt()
	}
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// beginPoll sets the function that cancels the poll that is about to begin. It returns false,
// and the poll must not begin, if streams wait to join or leave.
func (h *Hub) beginPoll(interrupt context.CancelFunc) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.joining)+len(h.leaving) > 0 {
		return false
	}
	h.interrupt = interrupt
	return true
}

// takePending returns and removes the streams that wait to join and to leave.
func (h *Hub) takePending() (joins []*joining, leaves []*subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	joins, leaves, h.interrupt = h.joining, h.leaving, nil
	h.joining, h.leaving = nil, nil
	return joins, leaves
}

// publish records that all records below the offsets are in the queues.
func (h *Hub) publish(next map[int32]int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next = maps.Clone(next)
}

// published returns the offsets p, raised to the published ones.
func (h *Hub) published(p map[int32]int64) map[int32]int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	raised := maps.Clone(p)
	for partition, have := range p {
		raised[partition] = max(have, h.next[partition])
	}
	return raised
}

// Run reads the log while streams are open, until ctx is done.
func (h *Hub) Run(ctx context.Context) error {
	r := &reader{
		hub: h, router: newRouter(h.deps.Sources, h.metrics, h.log, maxCachedShared), next: map[int32]int64{},
		outages: outage.Log{Failed: "streams of points wait for Kafka", Recovered: "streams of points continue"},
	}
	defer h.stop()
	defer r.close()
	for ctx.Err() == nil {
		r.processPending(ctx)
		if r.tail == nil {
			select {
			case <-h.wake:
			case <-ctx.Done():
			}
			continue
		}
		r.read(ctx)
	}
	r.dropAll()
	return nil
}

// stop refuses streams that still wait to join.
func (h *Hub) stop() {
	h.mu.Lock()
	h.stopped = true
	h.mu.Unlock()
	joins, _ := h.takePending()
	for _, j := range joins {
		j.done <- errUnavailable(errors.New("the hub ends"))
	}
}
