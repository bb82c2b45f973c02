// Package sleep waits for a time or for the end of a context.
package sleep

import (
	"context"
	"math/rand/v2"
	"time"
)

// For waits for d; false: ctx was done before.
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

// Jitter returns a random time from half of d to one and a half, so that processes that do
// the same work every d do not all do it at once. d is above 0.
func Jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d) //nolint:gosec // G404: nobody gains by guessing it
}
