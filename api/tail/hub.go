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
)

// Hub serves the streams of a process. Run keeps it going.
type Hub struct {
	deps    Deps
	log     *slog.Logger
	budget  budget
	metrics *metrics
	turns   *semaphore.Weighted // of streams that are brought up to date

	mu          sync.Mutex
	open        int
	ofWorkspace map[uuid.UUID]int
	ofKey       map[uuid.UUID]int
	joining     []*joining
	leaving     []*subscriber
	interrupt   context.CancelFunc // ends the poll under way; nil: there is none
	next        map[int32]int64    // by partition, below which everything is in the queues
	wake        chan struct{}
	stopped     bool
}

// joining is a stream that waits for the tail to take it in.
type joining struct {
	stream *subscriber
	done   chan error // gets one
}

// NewHub creates a hub.
func NewHub(deps Deps) *Hub {
	deps.Limits = deps.Limits.withDefaults()
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	h := &Hub{
		deps: deps, log: deps.Logger.With("component", "point streams"), budget: budget{limit: deps.Limits.BufferedBytes},
		turns: semaphore.NewWeighted(turnsAtOnce), ofWorkspace: map[uuid.UUID]int{}, ofKey: map[uuid.UUID]int{},
		wake: make(chan struct{}, 1),
	}
	h.metrics = newMetrics(h, deps.Metrics)
	return h
}

// Streams is how many are open.
func (h *Hub) Streams() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open
}

// Sent notes that a stream has sent so many points.
func (h *Hub) Sent(points int) { h.metrics.points.Add(float64(points)) }

// admit counts a stream, or refuses it.
func (h *Hub) admit(workspace, key uuid.UUID) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	limits := h.deps.Limits
	var err error
	switch {
	case h.open >= limits.Streams:
		err = errTooMany("this server", limits.Streams)
	case h.ofWorkspace[workspace] >= limits.OfWorkspace:
		err = errTooMany("a workspace", limits.OfWorkspace)
	case h.ofKey[key] >= limits.OfKey:
		err = errTooMany("a key", limits.OfKey)
	default:
		h.open++
		h.ofWorkspace[workspace]++
		h.ofKey[key]++
		return nil
	}
	h.metrics.refused.Inc()
	return err
}

// discharge is the opposite of admit.
func (h *Hub) discharge(workspace, key uuid.UUID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
	for _, count := range []struct {
		of map[uuid.UUID]int
		id uuid.UUID
	}{{h.ofWorkspace, workspace}, {h.ofKey, key}} {
		if count.of[count.id]--; count.of[count.id] == 0 {
			delete(count.of, count.id)
		}
	}
}

// join has the tail take the subscriber in; from then on its from is set.
func (h *Hub) join(ctx context.Context, s *subscriber) error {
	ctx, cancel := context.WithTimeout(ctx, joinLimit)
	defer cancel()
	j := &joining{stream: s, done: make(chan error, 1)}
	h.mu.Lock()
	stopped := h.stopped
	h.joining = append(h.joining, j)
	h.mu.Unlock()
	if stopped {
		return errAway(errors.New("the hub does not run"))
	}
	h.notify()
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		h.leave(s)
		return errAway(ctx.Err())
	}
}

func errAway(cause error) error {
	return fault.New(fault.Unavailable, "The log cannot be followed at the moment").After(failurePace * 4).Because(cause)
}

// leave has the tail let the subscriber go.
func (h *Hub) leave(s *subscriber) {
	h.mu.Lock()
	h.leaving = append(h.leaving, s)
	h.mu.Unlock()
	h.notify()
}

// notify has the tail look who comes and goes.
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

// polling notes how to end a poll that is about to begin. It must not while somebody
// comes or goes.
func (h *Hub) polling(interrupt context.CancelFunc) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.joining)+len(h.leaving) > 0 {
		return false
	}
	h.interrupt = interrupt
	return true
}

// guests returns who comes and who goes.
func (h *Hub) guests() (coming []*joining, going []*subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	coming, going, h.interrupt = h.joining, h.leaving, nil
	h.joining, h.leaving = nil, nil
	return coming, going
}

// publish reports that everything below the offsets is in the queues.
func (h *Hub) publish(next map[int32]int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next = maps.Clone(next)
}

// settled raises a position to what is published, by partition that it has.
func (h *Hub) settled(p map[int32]int64) map[int32]int64 {
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
	r := &reader{hub: h, router: newRouter(h.deps.Sources, h.metrics, h.log, mostRemembered), next: map[int32]int64{}}
	defer h.stop()
	defer r.close()
	for ctx.Err() == nil {
		r.attend(ctx)
		if r.tail == nil {
			select {
			case <-h.wake:
			case <-ctx.Done():
			}
			continue
		}
		r.read(ctx)
	}
	r.endAll()
	return nil
}

// stop refuses who still wants to join.
func (h *Hub) stop() {
	h.mu.Lock()
	h.stopped = true
	h.mu.Unlock()
	coming, _ := h.guests()
	for _, j := range coming {
		j.done <- errAway(errors.New("the hub ends"))
	}
}
