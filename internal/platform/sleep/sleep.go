// Package sleep has a sleep that ends with its context, and jitter.
package sleep

import (
	"context"
	"math/rand/v2"
	"time"
)

// For sleeps for d. It returns false if ctx is done earlier.
func For(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Jitter returns a random duration from 0.5 to 1.5 times d, so that processes that do the
// same work every d do not do it at the same time. d must be positive.
func Jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d) //nolint:gosec // G404: it need not be unpredictable
}
