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
	renewals = 3 // in the time that a lease holds
)

var errAway = errors.New("the store is away")

// table is a store in memory, by the same rules as that of Postgres, that can be unavailable or
// not answer. It counts what it is asked.
type table struct {
	mu     sync.Mutex
	holder uuid.UUID
	until  time.Time
	away   bool
	hangs  bool
	asked  int
}

func (s *table) TakeLease(ctx context.Context, _ string, holder uuid.UUID, hold time.Duration) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.hangs {
		<-ctx.Done()
		return false, ctx.Err()
	}
	if s.away {
		return false, errAway
	}
	if s.holder != holder && time.Now().Before(s.until) {
		return false, nil
	}
	s.holder, s.until = holder, time.Now().Add(hold)
	return true, nil
}

func (s *table) GiveLease(_ context.Context, _ string, holder uuid.UUID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holder == holder {
		s.until = time.Time{}
	}
	return nil
}

// with changes the store while it is asked.
func (s *table) with(change func(s *table)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func TestOneHoldsALeaseUntilItIsReleasedOrRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &table{}
		a, b := lease.New(store, "work", hold), lease.New(store, "work", hold)
		take := func(l *lease.Lease, want bool) {
			t.Helper()
			held, err := l.Take(t.Context())
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
		store := &table{}
		l := lease.New(store, "work", hold)
		for range 100 {
			require.NoError(t, l.Check(t.Context()))
			require.GreaterOrEqual(t, time.Until(store.until), hold*2/3)
			time.Sleep(time.Second)
		}
		require.Equal(t, 10, store.asked)
		store.away = true
		time.Sleep(hold / 3)
		require.ErrorIs(t, l.Check(t.Context()), errAway)
		store.away = false
		require.NoError(t, l.Check(t.Context()), "it is asked again at once")
	})
}

func TestWorkKeepsItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &table{}
		l, other := lease.New(store, "work", hold), lease.New(store, "work", hold)
		require.NoError(t, l.While(t.Context(), func(ctx context.Context) error {
			require.ErrorIs(t, other.While(ctx, func(context.Context) error {
				t.Error("two at the same time")
				return nil
			}), lease.ErrElsewhere)
			time.Sleep(10*hold + time.Second)
			require.NoError(t, ctx.Err())
			store.with(func(s *table) { s.away = true }) // one renewal fails
			time.Sleep(hold / renewals)
			store.with(func(s *table) { s.away = false })
			time.Sleep(hold)
			return ctx.Err()
		}))
		failed := errors.New("the work's own")
		require.ErrorIs(t, l.While(t.Context(), func(context.Context) error { return failed }), failed)
		require.NoError(t, l.Rest(t.Context(), time.Hour))
		require.Equal(t, time.Now().Add(time.Hour), store.until)
		require.NoError(t, l.Rest(t.Context(), time.Second))
		require.Equal(t, time.Now().Add(hold), store.until, "no shorter than the lease")
	})
}

func TestWorkEndsBeforeAnotherMayBegin(t *testing.T) {
	for name, fail := range map[string]func(*table){
		"the store is away":         func(s *table) { s.away = true },
		"the store does not answer": func(s *table) { s.hangs = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &table{}
				l := lease.New(store, "work", hold)
				var told time.Time
				err := l.While(t.Context(), func(ctx context.Context) error {
					time.Sleep(hold + time.Second)
					store.with(fail)
					<-ctx.Done()
					told = time.Now()
					return nil
				})
				require.ErrorContains(t, err, "has run out")
				require.NotErrorIs(t, err, lease.ErrLost)
				require.False(t, told.After(store.until), "%s after", told.Sub(store.until))
			})
		})
	}
}

func TestWorkEndsWhenAnotherHasTakenItOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &table{}
		began := time.Now()
		err := lease.New(store, "work", hold).While(t.Context(), func(ctx context.Context) error {
			store.with(func(s *table) { s.holder, s.until = uuid.New(), time.Now().Add(time.Hour) })
			<-ctx.Done()
			return nil
		})
		require.ErrorIs(t, err, lease.ErrLost)
		require.LessOrEqual(t, time.Since(began), hold/3)

		ctx, cancel := context.WithCancel(t.Context())
		store.until = time.Time{}
		require.ErrorIs(t, lease.New(store, "work", hold).While(ctx, func(ctx context.Context) error {
			cancel()
			<-ctx.Done()
			return nil
		}), context.Canceled)
	})
}
