// Package budget limits the total of a resource that concurrent work uses: bytes of request
// bodies, memory of parsed requests, values of responses. Work takes a share before it allocates
// and releases it at the end. The caller chooses whether to wait for a share or to be refused.
package budget

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// Budget is an amount, in a unit of the caller's choice, that is divided into shares. It is safe
// for concurrent use.
type Budget struct {
	limit   int64
	free    *semaphore.Weighted
	used    atomic.Int64
	refused atomic.Int64
}

// New creates a budget with a limit.
func New(limit int64) *Budget {
	return &Budget{limit: limit, free: semaphore.NewWeighted(limit)}
}

// Limit returns the limit of the budget.
func (b *Budget) Limit() int64 { return b.limit }

// Used returns the total of the shares.
func (b *Budget) Used() int64 { return b.used.Load() }

// Refused returns the number of refusals of Take, Grow and Fits.
func (b *Budget) Refused() int64 { return b.refused.Load() }

// Fits reports whether n is available, without taking it.
func (b *Budget) Fits(n int64) bool {
	if b.used.Load()+n <= b.limit {
		return true
	}
	b.refused.Add(1)
	return false
}

// TryAcquire returns a share of n, or false if n is not available. It never waits, so that refused work
// does not queue up.
func (b *Budget) TryAcquire(n int64) (*Share, bool) {
	s := &Share{budget: b}
	if !s.Grow(n) {
		return nil, false
	}
	return s, true
}

// Acquire waits until n is available, in the order of the calls, and returns a share of n. If n is
// above the limit, the share is the limit. It returns the error of ctx if ctx is done.
func (b *Budget) Acquire(ctx context.Context, n int64) (*Share, error) {
	n = min(n, b.limit)
	if err := b.free.Acquire(ctx, n); err != nil {
		return nil, err
	}
	b.used.Add(n)
	s := &Share{budget: b}
	s.size.Store(n)
	return s, nil
}

// Share is a part of a budget. Release of a nil Share does nothing.
type Share struct {
	budget *Budget
	size   atomic.Int64
}

// Size returns the size of the share.
func (s *Share) Size() int64 { return s.size.Load() }

// Grow adds n to the share. It returns false if n is not available. It never waits. It must not
// be called after Release.
func (s *Share) Grow(n int64) bool {
	if !s.budget.free.TryAcquire(n) {
		s.budget.refused.Add(1)
		return false
	}
	s.budget.used.Add(n)
	s.size.Add(n)
	return true
}

// Shrink reduces the share to n, unless it is smaller. It must not be called concurrently with other methods.
func (s *Share) Shrink(n int64) {
	excess := s.Size() - n
	if excess <= 0 {
		return
	}
	s.size.Add(-excess)
	s.budget.used.Add(-excess)
	s.budget.free.Release(excess)
}

// Release returns the share to the budget. Calls after the first do nothing.
func (s *Share) Release() {
	if s == nil {
		return
	}
	if n := s.size.Swap(0); n > 0 {
		s.budget.used.Add(-n)
		s.budget.free.Release(n)
	}
}
