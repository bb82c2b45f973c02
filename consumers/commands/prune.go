package commands

import (
	"context"
	"log/slog"
	"time"

	"github.com/livegraph/livegraph/internal/platform/outage"
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
	outages := outage.Log{
		Failed: "old outcomes of commands cannot be removed", Recovered: "old outcomes of commands are removed again",
	}
	for sleep.For(ctx, pruneInterval) {
		outages.Note(ctx, p.logger, p.prune(ctx))
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
