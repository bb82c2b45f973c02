// Package retry implements exponential backoff: each wait is twice as long as the one before, up
// to a maximum, with jitter, so that clients that failed together do not retry together.
package retry

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/livegraph/livegraph/internal/platform/sleep"
)

// Backoff computes the waits between attempts. It implements backoff.BackOff. It is not safe for
// concurrent use.
type Backoff struct{ *backoff.ExponentialBackOff }

// New creates a Backoff. The first wait is 0.5 to 1.5 times initial, and no wait is longer than
// 1.5 times limit.
func New(initial, limit time.Duration) Backoff {
	p := backoff.NewExponentialBackOff()
	p.InitialInterval, p.MaxInterval, p.Multiplier, p.RandomizationFactor = initial, limit, 2, 0.5
	return Backoff{p}
}

// Wait waits until the next attempt. It returns false if ctx is done earlier.
func (p Backoff) Wait(ctx context.Context) bool { return sleep.For(ctx, p.NextBackOff()) }
