package budget_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/budget"
)

func TestSharesNeverExceedTheBudget(t *testing.T) {
	b := budget.New(10)
	share, ok := b.TryAcquire(6)
	require.True(t, ok)
	require.True(t, b.Fits(4))
	require.False(t, b.Fits(5))
	_, ok = b.TryAcquire(5)
	require.False(t, ok)
	require.False(t, share.Grow(5))
	require.True(t, share.Grow(4))
	require.EqualValues(t, 10, share.Size())
	require.EqualValues(t, 10, b.Used())
	require.EqualValues(t, 3, b.Refused())
	share.Release()
	share.Release()
	require.Zero(t, b.Used(), "a share is returned once")
	_, ok = b.TryAcquire(11)
	require.False(t, ok, "more than there is")
	all, ok := b.TryAcquire(10)
	require.True(t, ok)
	all.Release()
	(*budget.Share)(nil).Release()
}

func TestWorkThatWaitsGetsItsShareWhenOthersRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(10)
		first, err := b.Acquire(t.Context(), 7)
		require.NoError(t, err)
		got := make(chan *budget.Share, 1)
		go func() {
			share, err := b.Acquire(t.Context(), 1000) // all of it
			require.NoError(t, err)
			got <- share
		}()
		synctest.Wait()
		require.Empty(t, got)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = b.Acquire(ctx, 5)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		first.Release()
		all := <-got
		require.EqualValues(t, 10, all.Size())
		all.Release()
		require.Zero(t, b.Used())
	})
}

func TestConcurrentSharesAddUp(t *testing.T) {
	b := budget.New(100)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 1000 {
				if share, ok := b.TryAcquire(20); ok {
					share.Grow(10)
					if used := b.Used(); used > 100 {
						t.Errorf("%d are used", used)
					}
					share.Release()
				}
			}
		})
	}
	group.Wait()
	require.Zero(t, b.Used())
	require.True(t, b.Fits(100))
}

func TestAShareCanBeShrunk(t *testing.T) {
	b := budget.New(10)
	share, ok := b.TryAcquire(10)
	require.True(t, ok)
	share.Shrink(12)
	require.EqualValues(t, 10, b.Used())
	share.Shrink(3)
	require.EqualValues(t, 3, b.Used())
	require.EqualValues(t, 3, share.Size())
	rest, ok := b.TryAcquire(7)
	require.True(t, ok)
	share.Release()
	rest.Release()
	require.Zero(t, b.Used())
}
