package lexical

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/lease"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

const (
	// leaseName is what filling is called among the work that one process does.
	leaseName = "lexical-fill"
	// leaseFor is how long the work of a process that died waits for another; no
	// transaction of what is done under a lease takes as long.
	leaseFor = 90 * time.Second
	// fillWorkspaces is how many workspaces are found by one look.
	fillWorkspaces = 1_000
)

// filler makes the text lane of workspaces from their nodes where it lacks something.
// One process does so at a time: that another one did, too, would be no harm, but no
// use either.
type filler struct {
	c      *Consumer
	db     *stores.DB
	logger *slog.Logger
	lease  *lease.Lease
	wake   chan struct{}
}

func newFiller(c *Consumer) *filler {
	return &filler{
		c: c, db: c.deps.Graph, logger: c.logger, lease: lease.New(c.deps.Graph, leaseName, leaseFor),
		wake: make(chan struct{}, 1),
	}
}

// release lets another process do the work at once.
func release(ctx context.Context, l *lease.Lease, logger *slog.Logger) {
	if err := l.Release(ctx); err != nil {
		logger.Debug("the lease was not given back", "error", err)
	}
}

// notify reports that a workspace lacks something.
func (f *filler) notify() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// run fills until ctx is done.
func (f *filler) run(ctx context.Context) {
	defer release(ctx, f.lease, f.logger)
	failing := false
	for every := f.c.deps.Config.FillEvery; ; {
		err := f.round(ctx)
		if ctx.Err() != nil {
			return
		}
		if failed := err != nil && !errors.Is(err, lease.ErrLost); failed != failing {
			if failing = failed; failing {
				f.logger.Warn("the text lane cannot be filled yet", "error", err)
			} else {
				f.logger.Info("the text lane can be filled again")
			}
		}
		wait := sleep.Jitter(every)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-f.wake:
		}
		timer.Stop()
	}
}

// round fills every workspace that lacks something.
func (f *filler) round(ctx context.Context) error {
	if held, err := f.lease.Take(ctx); err != nil || !held {
		return err
	}
	for {
		found, err := f.db.UnfilledLexical(ctx, f.c.deps.Config.Behind, fillWorkspaces)
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
		if len(found) < fillWorkspaces {
			return nil
		}
	}
}

// fill fills a workspace.
func (f *filler) fill(ctx context.Context, workspace uuid.UUID) error {
	began, nodes := time.Now(), 0
	for over := false; !over; {
		if err := f.lease.Check(ctx); err != nil {
			return err
		}
		var done textindex.LexicalDone
		var err error
		if done, over, err = f.db.FillLexical(ctx, workspace); err != nil {
			return err
		}
		nodes += done.Written + done.Removed
		f.c.metrics.done(done)
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
