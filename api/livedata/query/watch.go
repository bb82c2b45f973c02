package query

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// watchInterval is how often the watermarks are read while a request waits.
const watchInterval = 20 * time.Millisecond

// WatermarkStore reads the progress of the points consumer: for each partition, the offset
// below which everything is visible.
type WatermarkStore interface {
	Watermarks(ctx context.Context, topicID [16]byte) (map[int32]int64, error)
}

// watcher waits for records to become visible. All waiting requests share one read of the
// watermarks every watchInterval; without waiting requests there are no reads. It has no
// goroutine: the first waiting request that finds the last read too old starts the next one.
type watcher struct {
	store WatermarkStore

	mu         sync.Mutex
	topic      [16]byte
	watermarks map[int32]int64 // never decrease, so an old value remains sufficient
	readAt     time.Time
	reading    chan struct{} // closed when the current read is done; nil: there is none
}

// wait waits until all positions are visible. At the deadline of ctx it returns a Timeout error.
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
		if w.watermarks[p.Partition] <= p.Offset {
			return false
		}
	}
	return true
}

// refresh reads the watermarks if the last read is older than watchInterval, or waits for the
// read of another request.
func (w *watcher) refresh(ctx context.Context, topic [16]byte) error {
	w.mu.Lock()
	if w.topic == topic && time.Since(w.readAt) < watchInterval {
		w.mu.Unlock()
		return nil
	}
	if done := w.reading; done != nil {
		w.mu.Unlock()
		select {
		case <-done:
			return nil // it may have failed: the requests that still wait retry
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
	w.topic, w.watermarks, w.readAt = topic, maps.Clone(marks), time.Now()
	return nil
}
