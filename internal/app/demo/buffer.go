package demo

import (
	"context"
	"sync"

	"github.com/livegraph/livegraph/internal/app/demo/machine"
)

// buffer holds what was measured and not sent yet, in order. It is bounded: when
// the server is away for long the oldest go first, and are counted.
type buffer struct {
	mu      sync.Mutex
	batches [][]machine.Sample
	points  int
	most    int // points
	dropped int64
	closed  bool
	wake    chan struct{} // holds one signal: something changed
}

func newBuffer(most int) *buffer { return &buffer{most: most, wake: make(chan struct{}, 1)} }

// push adds a batch, dropping the oldest ones if it does not fit otherwise.
func (b *buffer) push(batch []machine.Sample) {
	if len(batch) == 0 {
		return
	}
	b.mu.Lock()
	b.batches = append(b.batches, batch)
	b.points += len(batch)
	for b.points > b.most {
		b.dropped += int64(len(b.batches[0]))
		b.points -= len(b.batches[0])
		b.batches[0] = nil
		b.batches = b.batches[1:]
	}
	b.mu.Unlock()
	b.signal()
}

// take waits for the oldest batches and gives as many as fit into most points,
// but one at least. It is false once the buffer is closed and empty, or ctx ends.
func (b *buffer) take(ctx context.Context, most int) ([]machine.Sample, bool) {
	for {
		b.mu.Lock()
		taken := b.takeLocked(most)
		closed := b.closed
		b.mu.Unlock()
		if taken != nil {
			return taken, true
		}
		if closed {
			return nil, false
		}
		select {
		case <-b.wake:
		case <-ctx.Done():
			return nil, false
		}
	}
}

func (b *buffer) takeLocked(most int) []machine.Sample {
	var taken []machine.Sample
	for len(b.batches) > 0 {
		next := b.batches[0]
		if taken != nil && len(taken)+len(next) > most {
			break
		}
		taken = append(taken, next...)
		b.points -= len(next)
		b.batches[0] = nil
		b.batches = b.batches[1:]
	}
	return taken
}

// close says that nothing more will be pushed.
func (b *buffer) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.signal()
}

// counts returns the points that wait and those that were dropped.
func (b *buffer) counts() (waiting int, dropped int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.points, b.dropped
}

func (b *buffer) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}
