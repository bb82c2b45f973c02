package sleep_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/sleep"
)

func TestAPauseLastsUntilItsTimeOrTheContextsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		require.True(t, sleep.For(t.Context(), time.Minute))
		require.Equal(t, time.Minute, time.Since(start))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		require.False(t, sleep.For(ctx, time.Minute))
		require.Equal(t, time.Second, time.Since(start))
	})
}

func TestJitterIsAroundItsTime(t *testing.T) {
	seen := map[time.Duration]struct{}{}
	for range 1000 {
		d := sleep.Jitter(time.Minute)
		require.GreaterOrEqual(t, d, 30*time.Second)
		require.Less(t, d, 90*time.Second)
		seen[d] = struct{}{}
	}
	require.Greater(t, len(seen), 900)
	require.Zero(t, sleep.Jitter(1), "the smallest one does not fail")
}
