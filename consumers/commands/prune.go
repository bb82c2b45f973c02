package commands

import (
	"context"
	"log/slog"
	"time"

	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// Old outcomes are removed in small batches, so that no transaction is long.
const (
	defaultOutcomesKept = 24 * time.Hour
	pruneInterval       = time.Minute
	pruneBatch          = 2000
	prunePause          = 50 * time.Millisecond
)

// pruner removes outcomes that are older than their retention.
type pruner struct {
	db      *stores.DB
	kept    time.Duration
	logger  *slog.Logger
	metrics *metrics
}

func (p *pruner) run(ctx context.Context) {
	failing := false
	for sleep.For(ctx, pruneInterval) {
		err := p.prune(ctx)
		if ctx.Err() == nil && (err != nil) != failing {
			if failing = err != nil; failing {
				p.logger.Warn("old outcomes of commands cannot be removed", "error", err)
			}
		}
	}
}

// prune removes all outcomes that are too old now.
func (p *pruner) prune(ctx context.Context) error {
	for {
		removed, err := p.db.PruneOutcomes(ctx, p.kept, pruneBatch)
		if err != nil {
			return err
		}
		p.metrics.pruned.Add(float64(removed))
		if removed < pruneBatch || !sleep.For(ctx, prunePause) {
			return ctx.Err()
		}
	}
}
