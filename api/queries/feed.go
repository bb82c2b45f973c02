package queries

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/livegraph/livegraph/internal/platform/outage"
)

// pollInterval is how often the newest changes of workspaces with open streams are read, in
// one statement for all. It is the maximum delay before a change is sent.
const pollInterval = 100 * time.Millisecond

// headStore reads the newest sequence of each graph.
type headStore interface {
	GraphSequences(ctx context.Context, workspaces []uuid.UUID) (map[uuid.UUID]int64, error)
}

// Feed notifies streams of new changes of their workspaces. Streams read the changes from the
// journal, so a stream that was delayed or resumed misses no change and receives none twice.
type Feed struct {
	store headStore

	mu      sync.Mutex
	watched map[uuid.UUID]*workspaceHead
}

// workspaceHead is the newest known sequence of a workspace with open streams.
type workspaceHead struct {
	streams  int
	sequence int64
	changed  chan struct{} // closed and replaced when sequence increases
}

// Register registers the metrics of the feed; with nil it does nothing.
func (f *Feed) Register(registerer prometheus.Registerer) {
	promauto.With(registerer).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "livegraph_graph_streams", Help: "Number of open streams of graph changes.",
	}, func() float64 { return float64(f.Streams()) })
}

// NewFeed creates a feed. The caller must call Run.
func NewFeed(store headStore) *Feed {
	return &Feed{store: store, watched: map[uuid.UUID]*workspaceHead{}}
}

// Run polls the newest sequences until ctx is done.
func (f *Feed) Run(ctx context.Context) error {
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	outages := outage.Log{
		Failed: "streams of changes wait for Postgres", Recovered: "streams of changes continue",
	}
	for {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return nil
		}
		outages.Note(ctx, slog.Default(), f.poll(ctx))
	}
}

// pollTimeout bounds a poll. The next one retries.
const pollTimeout = 2 * time.Second

func (f *Feed) poll(ctx context.Context) error {
	workspaces := f.workspaces()
	if len(workspaces) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	heads, err := f.store.GraphSequences(ctx, workspaces)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for workspace, sequence := range heads {
		if h := f.watched[workspace]; h != nil {
			h.raise(sequence)
		}
	}
	return nil
}

func (f *Feed) workspaces() []uuid.UUID {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]uuid.UUID, 0, len(f.watched))
	for workspace := range f.watched {
		list = append(list, workspace)
	}
	return list
}

func (h *workspaceHead) raise(sequence int64) {
	if sequence > h.sequence {
		h.sequence = sequence
		close(h.changed)
		h.changed = make(chan struct{})
	}
}

// join adds a stream of the workspace, which is watched until leave is called. It returns false
// if the workspace has limit streams already.
func (f *Feed) join(workspace uuid.UUID, limit int) (leave func(), ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.watched[workspace]
	if h == nil {
		h = &workspaceHead{changed: make(chan struct{})}
		f.watched[workspace] = h
	}
	if h.streams == limit {
		return nil, false
	}
	h.streams++
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if h.streams--; h.streams == 0 {
			delete(f.watched, workspace)
		}
	}, true
}

// newest returns the newest known sequence, and a channel that is closed when there is a newer
// one. The caller must have joined.
func (f *Feed) newest(workspace uuid.UUID) (sequence int64, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.watched[workspace]
	return h.sequence, h.changed
}

// Streams returns the number of open streams.
func (f *Feed) Streams() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range f.watched {
		n += h.streams
	}
	return n
}
