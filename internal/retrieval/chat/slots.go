package chat

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// slots bounds the texts that are written at the same time, in total and for each workspace.
type slots struct {
	limit, limitOfOne int

	mu          sync.Mutex
	used        int
	ofWorkspace map[uuid.UUID]int
	released    chan struct{} // closed when a slot becomes free
}

func newSlots(limit int) *slots {
	limit = max(limit, 1)
	return &slots{
		limit: limit, limitOfOne: (limit + 1) / 2, ofWorkspace: map[uuid.UUID]int{}, released: make(chan struct{}),
	}
}

// acquire waits for a free slot. The caller must call release.
func (s *slots) acquire(ctx context.Context, workspace uuid.UUID, timeout time.Duration) (release func(), err error) {
	expired := time.NewTimer(timeout)
	defer expired.Stop()
	for {
		taken, released := s.take(workspace)
		if taken {
			return func() { s.release(workspace) }, nil
		}
		select {
		case <-released:
		case <-expired.C:
			return nil, fault.Wrap(ErrBusy, fault.Unavailable, "the chat model is busy").After(retryAfter)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// take takes a slot if one is free; otherwise released is closed when it may be.
func (s *slots) take(workspace uuid.UUID) (taken bool, released <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used >= s.limit || s.ofWorkspace[workspace] >= s.limitOfOne {
		return false, s.released
	}
	s.used++
	s.ofWorkspace[workspace]++
	return true, nil
}

func (s *slots) release(workspace uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used--
	if s.ofWorkspace[workspace]--; s.ofWorkspace[workspace] == 0 {
		delete(s.ofWorkspace, workspace)
	}
	close(s.released)
	s.released = make(chan struct{})
}
