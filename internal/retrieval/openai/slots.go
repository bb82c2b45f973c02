package openai

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// slotTimeout is how long a request waits for a free slot.
const slotTimeout = time.Second

// ErrBusy is the cause of the error of a request for which there was no free slot.
var ErrBusy = errors.New("as many requests as allowed are being answered")

// slots bounds the requests that a server answers at the same time, in total and for each workspace.
type slots struct {
	server            string // in errors, such as "the chat model"
	limit, limitOfOne int

	mu          sync.Mutex
	used        int
	ofWorkspace map[uuid.UUID]int
	released    chan struct{} // closed when a slot becomes free
}

func newSlots(server string, limit int) *slots {
	limit = max(limit, 1)
	return &slots{
		server: server, limit: limit, limitOfOne: (limit + 1) / 2, ofWorkspace: map[uuid.UUID]int{},
		released: make(chan struct{}),
	}
}

// acquire waits up to a second for a free slot. The caller must call release. The error is an Unavailable fault whose
// cause is [ErrBusy], or the cause of ctx.
func (s *slots) acquire(ctx context.Context, workspace uuid.UUID) (release func(), err error) {
	expired := time.NewTimer(slotTimeout)
	defer expired.Stop()
	for {
		taken, released := s.take(workspace)
		if taken {
			return func() { s.release(workspace) }, nil
		}
		select {
		case <-released:
		case <-expired.C:
			return nil, fault.Wrap(ErrBusy, fault.Unavailable, s.server+" is busy").After(retryAfter)
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
