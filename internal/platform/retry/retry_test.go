package retry_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/retry"
)

func TestWaitsDoubleUpToABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := retry.New(100*time.Millisecond, time.Second)
		waits := []time.Duration{100, 200, 400, 800, 1000, 1000, 100}
		for i, want := range waits {
			if i == len(waits)-1 {
				p.Reset()
			}
			start := time.Now()
			require.True(t, p.Wait(t.Context()))
			want *= time.Millisecond
			require.InDelta(t, want, time.Since(start), float64(want)/2, "wait %d", i)
		}
	})
}

func TestNobodyWaitsWhoIsNotWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p, start := retry.New(time.Hour, time.Hour), time.Now()
		require.False(t, p.Wait(ctx))
		require.Equal(t, time.Second, time.Since(start))
	})
}

func TestThoseWhoWereRefusedTogetherDoNotComeBackTogether(t *testing.T) {
	waits := map[time.Duration]bool{}
	for range 100 {
		waits[retry.New(time.Second, time.Second).NextBackOff()] = true
	}
	require.Greater(t, len(waits), 50)
}
