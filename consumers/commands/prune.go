package commands

import (
	"context"
	"log/slog"
	"time"

	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// How outcomes that are old are removed: a few at a time, so that no transaction is
// long.
const (
	outcomesKept = 24 * time.Hour
	pruneEvery   = time.Minute
	pruneAtOnce  = 2000
	prunePause   = 50 * time.Millisecond
)

// pruner removes outcomes that nobody can ask for any more.
type pruner struct {
	db      *stores.DB
	kept    time.Duration
	logger  *slog.Logger
	metrics *metrics
}

func (p *pruner) run(ctx context.Context) {
	failing := false
	for sleep.For(ctx, pruneEvery) {
		err := p.prune(ctx)
		if ctx.Err() == nil && (err != nil) != failing {
			if failing = err != nil; failing {
				p.logger.Warn("old outcomes of commands cannot be removed", "error", err)
			}
		}
	}
}

// prune removes all that are old now.
func (p *pruner) prune(ctx context.Context) error {
	for {
		removed, err := p.db.PruneOutcomes(ctx, p.kept, pruneAtOnce)
		if err != nil {
			return err
		}
		p.metrics.pruned.Add(float64(removed))
		if removed < pruneAtOnce || !sleep.For(ctx, prunePause) {
			return ctx.Err()
		}
	}
}
