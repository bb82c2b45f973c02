// Package sleep waits for no longer than anyone who waits is wanted.
package sleep

import (
	"context"
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
