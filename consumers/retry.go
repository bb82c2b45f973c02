package consumers

import (
	"context"
	"log/slog"
	"time"

	"github.com/livegraph/livegraph/internal/platform/retry"
)

// Temporary failures are retried without a limit.
const (
	minRetryDelay = 50 * time.Millisecond
	maxRetryDelay = time.Second // so that a recovered store is used within seconds
	// logInterval is the interval at which a lasting failure is logged, instead of at each try.
	logInterval = 30 * time.Second
)

// retrier retries one operation and logs its failures.
type retrier struct {
	operation  string
	logger     *slog.Logger
	pace       retry.Backoff
	failed     int
	since      time.Time
	lastLogged time.Time
}

func newRetrier(logger *slog.Logger, what string) *retrier {
	return &retrier{operation: what, logger: logger, pace: retry.New(minRetryDelay, maxRetryDelay)}
}

// wait logs the failure and waits for the next try. It returns false if ctx is done.
func (r *retrier) wait(ctx context.Context, err error) bool {
	r.failed++
	now := time.Now()
	if r.failed == 1 {
		r.since = now
	}
	if r.failed == 1 || now.Sub(r.lastLogged) >= logInterval {
		r.lastLogged = now
		r.logger.WarnContext(
			ctx, r.operation+" failed and is tried again", "tries", r.failed, "since", r.since.UTC(), "error", err,
		)
	}
	return r.pace.Wait(ctx)
}

// logRecovery logs that the operation works again, if it had failed.
func (r *retrier) logRecovery() {
	if r.failed > 0 {
		r.logger.Info(r.operation+" works again", "tries", r.failed, "after", time.Since(r.since).Round(time.Millisecond))
	}
}

// retryUntilDone calls do until it succeeds, fails permanently or ctx is done. It counts each
// temporary failure.
func (l *Loop) retryUntilDone(ctx context.Context, what string, do func(context.Context) error) error {
	r := newRetrier(l.logger, what)
	for {
		err := do(ctx)
		if err == nil {
			r.logRecovery()
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
