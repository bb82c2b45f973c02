package breaker_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/breaker"
)

func TestWhatDoesNotAnswerIsTriedByOneAtATimeUntilItDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b breaker.Breaker
		require.True(t, b.Allow())
		require.False(t, b.RecordFailure())
		require.False(t, b.RecordFailure())
		require.True(t, b.Allow(), "some failures are tolerated")
		require.True(t, b.RecordFailure(), "it opens")
		require.False(t, b.Allow())
		for range 3 {
			time.Sleep(time.Second)
			var admitted atomic.Int32
			var group sync.WaitGroup
			for range 50 {
				group.Go(func() {
					if b.Allow() {
						admitted.Add(1)
					}
				})
			}
			group.Wait()
			require.EqualValues(t, 1, admitted.Load(), "one tries")
			require.False(t, b.RecordFailure(), "it is open already")
		}
		time.Sleep(time.Second)
		require.True(t, b.Allow())
		require.False(t, b.Allow())
		time.Sleep(time.Second)
		require.True(t, b.Allow(), "a try without a result does not keep it open permanently")
		require.True(t, b.RecordSuccess(), "it closes")
		require.False(t, b.RecordSuccess())
		require.True(t, b.Allow())
		require.True(t, b.Allow())
	})
}
