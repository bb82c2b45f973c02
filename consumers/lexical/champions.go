package lexical

import (
	"context"

	"github.com/livegraph/livegraph/internal/platform/lease"
	"github.com/livegraph/livegraph/internal/platform/sleep"
)

// championLease is what the maintenance of champion lists is called among the work that
// one process does.
const championLease = "lexical-champions"

// championLists is how many lists are refreshed between two looks at which are due.
const championLists = 1_000

// champions maintains the champion lists of terms that very many nodes have: it fills
// those of terms that have become so frequent, and those that have become too large or
// too small. Writers keep them in between. It works beside the filler, which may be busy
// for long.
type champions struct {
	c     *Consumer
	lease *lease.Lease
}

func newChampions(c *Consumer) *champions {
	return &champions{c: c, lease: lease.New(c.deps.Graph, championLease, leaseFor)}
}

// run maintains lists until ctx is done.
func (m *champions) run(ctx context.Context) {
	defer release(ctx, m.lease, m.c.logger)
	failing := false
	for every := m.c.deps.Config.FillEvery; ; {
		err := m.round(ctx)
		if ctx.Err() != nil {
			return
		}
		if failed := err != nil; failed != failing {
			if failing = failed; failing {
				m.c.logger.Warn("the heaviest postings of frequent terms cannot be listed yet", "error", err)
			} else {
				m.c.logger.Info("the heaviest postings of frequent terms can be listed again")
			}
		}
		sleep.For(ctx, sleep.Jitter(every))
	}
}

// round refreshes the lists that are due.
func (m *champions) round(ctx context.Context) error {
	if held, err := m.lease.Take(ctx); err != nil || !held {
		return err
	}
	due, err := m.c.deps.Graph.DueChampionLists(ctx, championLists)
	m.c.metrics.listsDue.Set(float64(len(due)))
	if err != nil {
		return err
	}
	var failed error
	for i, list := range due {
		if held, err := m.lease.Take(ctx); err != nil || !held {
			return err
		}
		if err := m.c.deps.Graph.RefreshChampionList(ctx, list); err != nil {
			if failed = err; ctx.Err() != nil {
				return err
			}
			continue // the others are not to wait for one
		}
		m.c.metrics.lists.Inc()
		m.c.metrics.listsDue.Set(float64(len(due) - i - 1))
	}
	return failed
}
