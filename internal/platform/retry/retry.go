// Package retry paces what is tried again: each wait is twice as long as the one before, up
// to a bound, with jitter, so that those who were refused together do not come back together.
package retry

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/livegraph/livegraph/internal/platform/sleep"
)

// Pace reports how long to wait before the next try. It is for one goroutine. It is a
// backoff.BackOff, too.
type Pace struct{ *backoff.ExponentialBackOff }

// New creates a pace. The first wait is between half and one and a half times first, and
// none is longer than one and a half times most.
func New(first, most time.Duration) Pace {
	p := backoff.NewExponentialBackOff()
	p.InitialInterval, p.MaxInterval, p.Multiplier, p.RandomizationFactor = first, most, 2, 0.5
	return Pace{p}
}

// Wait waits for the next try; false: ctx was done before.
func (p Pace) Wait(ctx context.Context) bool { return sleep.For(ctx, p.NextBackOff()) }
