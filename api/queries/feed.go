package queries

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// pollInterval is how often workspaces with open streams are asked for their newest
// change, in one statement for all: what a change waits at most before it is sent.
const pollInterval = 100 * time.Millisecond

// headStore knows how far each graph is.
type headStore interface {
	GraphSequences(ctx context.Context, workspaces []uuid.UUID) (map[uuid.UUID]int64, error)
}

// Feed tells streams that their workspace has a new change. What the change is they
// read from the journal, which is the truth: so a stream that slept, or came back,
// misses nothing and gets nothing twice.
type Feed struct {
	store headStore

	mu      sync.Mutex
	watched map[uuid.UUID]*head
}

// head is what is known of a workspace with open streams.
type head struct {
	streams  int
	sequence int64
	changed  chan struct{} // closed when sequence goes up, and then a new one
}

// Register makes the open streams known to the registerer; nil: nothing happens.
func (f *Feed) Register(registerer prometheus.Registerer) {
	promauto.With(registerer).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "livegraph_graph_streams", Help: "Open streams of changes of graphs.",
	}, func() float64 { return float64(f.Streams()) })
}

// NewFeed creates a feed; Run keeps it going.
func NewFeed(store headStore) *Feed { return &Feed{store: store, watched: map[uuid.UUID]*head{}} }

// Run asks until ctx is done.
func (f *Feed) Run(ctx context.Context) error {
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	silent := false
	for {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return nil
		}
		err := f.poll(ctx)
		if failed := err != nil && ctx.Err() == nil; failed != silent {
			if silent = failed; failed {
				slog.WarnContext(ctx, "streams of changes wait for Postgres", "error", err)
			}
		}
	}
}

// pollLimit is how long a poll may take; a later one asks the same.
const pollLimit = 2 * time.Second

func (f *Feed) poll(ctx context.Context) error {
	workspaces := f.workspaces()
	if len(workspaces) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pollLimit)
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

func (h *head) raise(sequence int64) {
	if sequence > h.sequence {
		h.sequence = sequence
		close(h.changed)
		h.changed = make(chan struct{})
	}
}

// join has the workspace watched until leave is called, at most most streams at a
// time.
func (f *Feed) join(workspace uuid.UUID, most int) (leave func(), ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.watched[workspace]
	if h == nil {
		h = &head{changed: make(chan struct{})}
		f.watched[workspace] = h
	}
	if h.streams == most {
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

// newest returns the newest sequence that is known, and what is closed when there is a
// newer one. The caller has joined.
func (f *Feed) newest(workspace uuid.UUID) (sequence int64, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.watched[workspace]
	return h.sequence, h.changed
}

// Streams is how many are open.
func (f *Feed) Streams() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range f.watched {
		n += h.streams
	}
	return n
}
