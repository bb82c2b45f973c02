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
		require.True(t, b.Admits())
		require.False(t, b.Failed())
		require.False(t, b.Failed())
		require.True(t, b.Admits(), "some failures are tolerated")
		require.True(t, b.Failed(), "it opens")
		require.False(t, b.Admits())
		for range 3 {
			time.Sleep(time.Second)
			var admitted atomic.Int32
			var group sync.WaitGroup
			for range 50 {
				group.Go(func() {
					if b.Admits() {
						admitted.Add(1)
					}
				})
			}
			group.Wait()
			require.EqualValues(t, 1, admitted.Load(), "one tries")
			require.False(t, b.Failed(), "it is open already")
		}
		time.Sleep(time.Second)
		require.True(t, b.Admits())
		require.False(t, b.Admits())
		time.Sleep(time.Second)
		require.True(t, b.Admits(), "a try without a result does not keep it open permanently")
		require.True(t, b.Answered(), "it closes")
		require.False(t, b.Answered())
		require.True(t, b.Admits())
		require.True(t, b.Admits())
	})
}
