package lease_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/lease"
)

const (
	hold     = 30 * time.Second
	renewals = 3 // within the duration of a lease
)

var errUnavailable = errors.New("the store is unavailable")

// memoryStore is a store in memory with the same rules as that of Postgres. It can be made
// unavailable or made to hang, and counts the requests.
type memoryStore struct {
	mu          sync.Mutex
	holder      uuid.UUID
	until       time.Time
	unavailable bool
	hangs       bool
	requests    int
}

func (s *memoryStore) AcquireLease(ctx context.Context, _ string, holder uuid.UUID, hold time.Duration) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if s.hangs {
		<-ctx.Done()
		return false, ctx.Err()
	}
	if s.unavailable {
		return false, errUnavailable
	}
	if s.holder != holder && time.Now().Before(s.until) {
		return false, nil
	}
	s.holder, s.until = holder, time.Now().Add(hold)
	return true, nil
}

func (s *memoryStore) ReleaseLease(_ context.Context, _ string, holder uuid.UUID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holder == holder {
		s.until = time.Time{}
	}
	return nil
}

// update changes the store while it is in use.
func (s *memoryStore) update(change func(s *memoryStore)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// lateStore executes a request after a while, even if it was cancelled, as a database may.
type lateStore struct {
	memoryStore
	executed sync.WaitGroup
}

func (s *lateStore) AcquireLease(ctx context.Context, name string, holder uuid.UUID, hold time.Duration) (bool, error) {
	type result struct {
		held bool
		err  error
	}
	results := make(chan result, 1)
	s.executed.Go(func() {
		time.Sleep(300 * time.Millisecond)
		held, err := s.memoryStore.AcquireLease(context.WithoutCancel(ctx), name, holder, hold)
		results <- result{held, err}
	})
	select {
	case r := <-results:
		return r.held, r.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func TestARequestThatIsCancelledDoesNotTakeTheLeaseAfterItsRelease(t *testing.T) {
	released := func(t *testing.T, store *lateStore) {
		t.Helper()
		store.executed.Wait()
		held, err := lease.New(store, "work", hold).Acquire(t.Context())
		require.NoError(t, err)
		require.True(t, held, "another process can have the lease")
	}
	synctest.Test(t, func(t *testing.T) {
		store := &lateStore{}
		l := lease.New(store, "work", hold)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		time.AfterFunc(100*time.Millisecond, cancel)
		held, err := l.Acquire(ctx)
		require.NoError(t, err)
		require.True(t, held)
		require.NoError(t, l.Release(ctx))
		released(t, store)
	})
	synctest.Test(t, func(t *testing.T) { // while the lease is renewed
		store := &lateStore{}
		l := lease.New(store, "work", hold)
		require.NoError(t, l.Run(t.Context(), func(context.Context) error {
			time.Sleep(hold/renewals + 100*time.Millisecond)
			return nil
		}))
		require.NoError(t, l.Release(t.Context()))
		released(t, store)
	})
	synctest.Test(t, func(t *testing.T) { // a store that does not answer
		store := &memoryStore{hangs: true}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		began := time.Now()
		_, err := lease.New(store, "work", hold).Acquire(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 1100*time.Millisecond, time.Since(began))
	})
}

func TestALeaseHasOneOwnerUntilItIsReleasedOrExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memoryStore{}
		a, b := lease.New(store, "work", hold), lease.New(store, "work", hold)
		take := func(l *lease.Lease, want bool) {
			t.Helper()
			held, err := l.Acquire(t.Context())
			require.NoError(t, err)
			require.Equal(t, want, held)
		}
		take(a, true)
		take(b, false)
		require.NoError(t, a.Release(t.Context()))
		take(b, true)
		take(a, false)
		require.NoError(t, a.Release(t.Context()), "it has nothing to release")
		take(a, false)
		time.Sleep(hold)
		take(a, true)
		require.ErrorIs(t, b.Check(t.Context()), lease.ErrLost)
	})
}

func TestALeaseIsRenewedBeforeAThirdOfItIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memoryStore{}
		l := lease.New(store, "work", hold)
		for range 100 {
			require.NoError(t, l.Check(t.Context()))
			require.GreaterOrEqual(t, time.Until(store.until), hold*2/3)
			time.Sleep(time.Second)
		}
		require.Equal(t, 10, store.requests)
		store.unavailable = true
		time.Sleep(hold / 3)
		require.ErrorIs(t, l.Check(t.Context()), errUnavailable)
		store.unavailable = false
		require.NoError(t, l.Check(t.Context()), "it is asked again at once")
	})
}

func TestWorkKeepsItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memoryStore{}
		l, other := lease.New(store, "work", hold), lease.New(store, "work", hold)
		require.NoError(t, l.Run(t.Context(), func(ctx context.Context) error {
			require.ErrorIs(t, other.Run(ctx, func(context.Context) error {
				t.Error("two at the same time")
				return nil
			}), lease.ErrHeld)
			time.Sleep(10*hold + time.Second)
			require.NoError(t, ctx.Err())
			store.update(func(s *memoryStore) { s.unavailable = true }) // one renewal fails
			time.Sleep(hold / renewals)
			store.update(func(s *memoryStore) { s.unavailable = false })
			time.Sleep(hold)
			return ctx.Err()
		}))
		failed := errors.New("the work's own")
		require.ErrorIs(t, l.Run(t.Context(), func(context.Context) error { return failed }), failed)
		require.NoError(t, l.Hold(t.Context(), time.Hour))
		require.Equal(t, time.Now().Add(time.Hour), store.until)
		require.NoError(t, l.Hold(t.Context(), time.Second))
		require.Equal(t, time.Now().Add(hold), store.until, "no shorter than the lease")
	})
}

func TestWorkEndsBeforeAnotherMayBegin(t *testing.T) {
	for name, fail := range map[string]func(*memoryStore){
		"the store is unavailable":  func(s *memoryStore) { s.unavailable = true },
		"the store does not answer": func(s *memoryStore) { s.hangs = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &memoryStore{}
				l := lease.New(store, "work", hold)
				var cancelledAt time.Time
				err := l.Run(t.Context(), func(ctx context.Context) error {
					time.Sleep(hold + time.Second)
					store.update(fail)
					<-ctx.Done()
					cancelledAt = time.Now()
					return nil
				})
				require.ErrorContains(t, err, "has run out")
				require.NotErrorIs(t, err, lease.ErrLost)
				require.False(t, cancelledAt.After(store.until), "%s after", cancelledAt.Sub(store.until))
			})
		})
	}
}

func TestWorkEndsWhenAnotherHasTakenItOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memoryStore{}
		start := time.Now()
		err := lease.New(store, "work", hold).Run(t.Context(), func(ctx context.Context) error {
			store.update(func(s *memoryStore) { s.holder, s.until = uuid.New(), time.Now().Add(time.Hour) })
			<-ctx.Done()
			return nil
		})
		require.ErrorIs(t, err, lease.ErrLost)
		require.LessOrEqual(t, time.Since(start), hold/3)

		ctx, cancel := context.WithCancel(t.Context())
		store.until = time.Time{}
		require.ErrorIs(t, lease.New(store, "work", hold).Run(ctx, func(ctx context.Context) error {
			cancel()
			<-ctx.Done()
			return nil
		}), context.Canceled)
	})
}
