// Package budget bounds what concurrent work holds together: bytes of request bodies, memory
// of what they are parsed into, values of answers. Work takes a share before it allocates and
// releases it when it is done. Whether it waits for a share or is refused is up to the caller.
package budget

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// Budget is an amount, in a unit of the caller's, that is divided into shares. It is safe for
// concurrent use.
type Budget struct {
	limit   int64
	free    *semaphore.Weighted
	used    atomic.Int64
	refused atomic.Int64
}

// New creates a budget of limit, of which nothing is used.
func New(limit int64) *Budget {
	return &Budget{limit: limit, free: semaphore.NewWeighted(limit)}
}

// Limit returns the whole amount.
func (b *Budget) Limit() int64 { return b.limit }

// Used returns how much the shares have together.
func (b *Budget) Used() int64 { return b.used.Load() }

// Refused returns how often Take, Grow and Fits refused.
func (b *Budget) Refused() int64 { return b.refused.Load() }

// Fits reports whether there is n left, without taking it.
func (b *Budget) Fits(n int64) bool {
	if b.used.Load()+n <= b.limit {
		return true
	}
	b.refused.Add(1)
	return false
}

// Take returns a share of n, or reports that not so much is left. It never waits: work that is
// refused at once does not pile up.
func (b *Budget) Take(n int64) (*Share, bool) {
	s := &Share{budget: b}
	if !s.Grow(n) {
		return nil, false
	}
	return s, true
}

// Wait returns a share of n when so much is left, in the order of the calls, or the context's
// error. What needs more than the whole budget gets all of it.
func (b *Budget) Wait(ctx context.Context, n int64) (*Share, error) {
	n = min(n, b.limit)
	if err := b.free.Acquire(ctx, n); err != nil {
		return nil, err
	}
	b.used.Add(n)
	s := &Share{budget: b}
	s.size.Store(n)
	return s, nil
}

// Share is a part of a budget that somebody has. A nil Share is one of nothing.
type Share struct {
	budget *Budget
	size   atomic.Int64
}

// Size returns how much it is.
func (s *Share) Size() int64 { return s.size.Load() }

// Grow adds n to the share, or reports that not so much is left. It never waits. It must not
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
