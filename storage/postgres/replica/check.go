package replica

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/postgres"
)

// checkInterval is the interval at which Check reads the positions.
const checkInterval = 20 * time.Millisecond

// ErrLag is the error of a replica that lags too much.
var ErrLag = errLag

// Check returns how long the replica takes until it has what the primary has at the time of the call. The error is
// ErrLag if it does not have it within maxLag, and otherwise says why it cannot be used.
func Check(ctx context.Context, primary, replica *postgres.DB, maxLag time.Duration) (time.Duration, error) {
	o := &observer{primary: primary, replica: replica, maxLag: math.MaxInt64}
	began := time.Now()
	for {
		_, err := o.observe(ctx)
		switch took := time.Since(began); {
		case err == nil:
			return took, nil
		case !errors.Is(err, errUnknown):
			return took, err
		case took > maxLag:
			return took, errLag
		}
		if !sleep.For(ctx, checkInterval) {
			return time.Since(began), errLag
		}
	}
}
