package consumers

import (
	"context"
	"log/slog"
	"time"

	"github.com/livegraph/livegraph/internal/platform/retry"
)

// How failures that may pass are tried again: forever.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = time.Second // a store that is back is used within seconds
	// A failure that lasts is said again so often, not at every try.
	repeatedLog = 30 * time.Second
)

// retrying is one thing that is tried until it works.
type retrying struct {
	what   string
	logger *slog.Logger
	pace   retry.Pace
	failed int
	since  time.Time
	said   time.Time
}

func newRetrying(logger *slog.Logger, what string) *retrying {
	return &retrying{what: what, logger: logger, pace: retry.New(firstRetry, lastRetry)}
}

// wait says the failure and waits for the next try. False: ctx is done.
func (r *retrying) wait(ctx context.Context, err error) bool {
	r.failed++
	now := time.Now()
	if r.failed == 1 {
		r.since = now
	}
	if r.failed == 1 || now.Sub(r.said) >= repeatedLog {
		r.said = now
		r.logger.WarnContext(
			ctx, r.what+" failed and is tried again", "tries", r.failed, "since", r.since.UTC(), "error", err,
		)
	}
	return r.pace.Wait(ctx)
}

// worked says the end of a failure, if there was one.
func (r *retrying) worked() {
	if r.failed > 0 {
		r.logger.Info(r.what+" works again", "tries", r.failed, "after", time.Since(r.since).Round(time.Millisecond))
	}
}

// untilDone does something until it works, fails for good or ctx is done. Each
// failure is counted.
func (l *Loop) untilDone(ctx context.Context, what string, do func(context.Context) error) error {
	r := newRetrying(l.logger, what)
	for {
		err := do(ctx)
		if err == nil {
			r.worked()
			return nil
		}
		if isPermanent(err) || IsRejoin(err) {
			return err
		}
		l.metrics.Retries.Add(1)
		if !r.wait(ctx, err) {
			return err
		}
	}
}
