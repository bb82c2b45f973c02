package lexical

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/lease"
	"github.com/livegraph/livegraph/internal/platform/outage"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

const (
	// leaseName is the name of the lease for filling.
	leaseName = "lexical-fill"
	// leaseFor is the duration of a lease, after which another process takes over from one
	// that has died. It is longer than any transaction under a lease.
	leaseFor = 90 * time.Second
	// fillPageSize is the maximum number of workspaces that one query returns.
	fillPageSize = 1_000
)

// filler builds the text index of incomplete workspaces from their nodes. One process does this
// at a time: a second one would do no harm but have no benefit.
type filler struct {
	c      *Consumer
	logger *slog.Logger
	lease  *lease.Lease
	wake   chan struct{}
}

func newFiller(c *Consumer) *filler {
	return &filler{
		c: c, logger: c.logger, lease: lease.New(c.deps.Graph, leaseName, leaseFor),
		wake: make(chan struct{}, 1),
	}
}

// releaseLease releases a lease, so that another process can take over immediately.
func releaseLease(ctx context.Context, l *lease.Lease, logger *slog.Logger) {
	if err := l.Release(ctx); err != nil {
		logger.Debug("the lease was not given back", "error", err)
	}
}

// notify wakes the filler because a workspace is incomplete.
func (f *filler) notify() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// run fills until ctx is done.
func (f *filler) run(ctx context.Context) {
	defer releaseLease(ctx, f.lease, f.logger)
	outages := outage.Log{Failed: "the text lane cannot be filled yet", Recovered: "the text lane can be filled again"}
	for interval := f.c.deps.Config.FillEvery; ; {
		err := f.round(ctx)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, lease.ErrLost) {
			err = nil
		}
		outages.Note(ctx, f.logger, err)
		wait := sleep.Jitter(interval)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-f.wake:
		}
		timer.Stop()
	}
}

// round fills every incomplete workspace.
func (f *filler) round(ctx context.Context) error {
	if held, err := f.lease.Acquire(ctx); err != nil || !held {
		return err
	}
	for {
		found, err := f.c.deps.Graph.UnfilledLexical(ctx, f.c.deps.Config.Behind, fillPageSize)
		f.c.metrics.unfilled.Set(float64(len(found)))
		if err != nil || len(found) == 0 {
			return err
		}
		for i, workspace := range found {
			if err := f.fill(ctx, workspace); err != nil {
				return err
			}
			f.c.metrics.unfilled.Set(float64(len(found) - i - 1))
		}
		if len(found) < fillPageSize {
			return nil
		}
	}
}

// fill builds the text index of a workspace.
func (f *filler) fill(ctx context.Context, workspace uuid.UUID) error {
	began, nodes := time.Now(), 0
	for complete := false; !complete; {
		if err := f.lease.Check(ctx); err != nil {
			return err
		}
		var done textindex.LexicalDone
		var err error
		if done, complete, err = f.c.deps.Graph.FillLexical(ctx, workspace); err != nil {
			return err
		}
		nodes += done.Written + done.Removed
		f.c.metrics.recordDone(done)
	}
	f.c.metrics.filled.Inc()
	if nodes > 0 {
		f.logger.Info(
			"the text lane of a workspace was filled", "workspace", workspace, "nodes", nodes, "took",
			time.Since(began).Round(time.Millisecond),
		)
	}
	return nil
}
