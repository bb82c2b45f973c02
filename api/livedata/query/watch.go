package query

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// watchInterval is how often the watermarks are read while somebody waits.
const watchInterval = 20 * time.Millisecond

// WatermarkStore reports how far the points consumer is: by partition, the offset
// below which everything is visible.
type WatermarkStore interface {
	Watermarks(ctx context.Context, topicID [16]byte) (map[int32]int64, error)
}

// watcher waits for records to become visible. All who wait share one reading of
// the watermarks every watchInterval; while nobody waits there is none. It has no
// goroutine of its own: of those who wait, the first to find the last reading too
// old makes the next.
type watcher struct {
	store WatermarkStore

	mu      sync.Mutex
	topic   [16]byte
	marks   map[int32]int64 // never go down, so an old reading that suffices still does
	read    time.Time
	reading chan struct{} // closed when the reading under way is done; nil: none is
}

// wait returns when all positions are visible, with Timeout at ctx's deadline.
func (w *watcher) wait(ctx context.Context, topic [16]byte, positions []pointblock.Position) error {
	for {
		if w.visible(topic, positions) {
			return nil
		}
		if err := w.refresh(ctx, topic); err != nil {
			return err
		}
		if w.visible(topic, positions) {
			return nil
		}
		select {
		case <-ctx.Done():
			return waitOver(ctx)
		case <-time.After(watchInterval):
		}
	}
}

func waitOver(ctx context.Context) error {
	if ctx.Err() == context.DeadlineExceeded {
		return fault.New(fault.Timeout, "The points of the checkpoint are not visible yet").After(time.Second)
	}
	return ctx.Err()
}

func (w *watcher) visible(topic [16]byte, positions []pointblock.Position) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.topic != topic {
		return len(positions) == 0
	}
	for _, p := range positions {
		if w.marks[p.Partition] <= p.Offset {
			return false
		}
	}
	return true
}

// refresh sees to it that the reading is not older than watchInterval: it makes
// one, or waits for the one that another makes.
func (w *watcher) refresh(ctx context.Context, topic [16]byte) error {
	w.mu.Lock()
	if w.topic == topic && time.Since(w.read) < watchInterval {
		w.mu.Unlock()
		return nil
	}
	if done := w.reading; done != nil {
		w.mu.Unlock()
		select {
		case <-done:
			return nil // it may have failed: anyone who still waits tries again
		case <-ctx.Done():
			return waitOver(ctx)
		}
	}
	done := make(chan struct{})
	w.reading = done
	w.mu.Unlock()

	marks, err := w.store.Watermarks(ctx, topic)

	w.mu.Lock()
	defer w.mu.Unlock()
	w.reading = nil
	close(done)
	if err != nil {
		if ctx.Err() != nil {
			return waitOver(ctx)
		}
		return err
	}
	w.topic, w.marks, w.read = topic, maps.Clone(marks), time.Now()
	return nil
}
