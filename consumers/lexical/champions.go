package lexical

import (
	"context"
	"errors"

	"github.com/livegraph/livegraph/internal/platform/lease"
	"github.com/livegraph/livegraph/internal/platform/outage"
	"github.com/livegraph/livegraph/internal/platform/sleep"
)

// championLease is the name of the lease for the maintenance of champion lists.
const championLease = "lexical-champions"

// maxDueLists is the maximum number of lists that are refreshed per query for due lists.
const maxDueLists = 1_000

// champions maintains the champion lists of very frequent terms. It fills the lists of terms that
// have become frequent, and refreshes lists that have become too large or too small. Writers
// update the lists in between. It runs in parallel with the filler, which may be busy for long.
type champions struct {
	c     *Consumer
	lease *lease.Lease
}

func newChampions(c *Consumer) *champions {
	return &champions{c: c, lease: lease.New(c.deps.Graph, championLease, leaseFor)}
}

// run maintains lists until ctx is done.
func (m *champions) run(ctx context.Context) {
	defer releaseLease(ctx, m.lease, m.c.logger)
	outages := outage.Log{
		Failed:    "the heaviest postings of frequent terms cannot be listed yet",
		Recovered: "the heaviest postings of frequent terms can be listed again",
	}
	for interval := m.c.deps.Config.FillEvery; ; {
		err := m.round(ctx)
		if ctx.Err() != nil {
			return
		}
		outages.Note(ctx, m.c.logger, err)
		sleep.For(ctx, sleep.Jitter(interval))
	}
}

// round refreshes the lists that are due.
func (m *champions) round(ctx context.Context) error {
	if held, err := m.lease.Acquire(ctx); err != nil || !held {
		return err
	}
	due, err := m.c.deps.Graph.DueChampionLists(ctx, maxDueLists)
	m.c.metrics.listsDue.Set(float64(len(due)))
	if err != nil {
		return err
	}
	var failed error
	for i, list := range due {
		if held, err := m.lease.Acquire(ctx); err != nil || !held {
			return errors.Join(failed, err)
		}
		if err := m.c.deps.Graph.RefreshChampionList(ctx, list); err != nil {
			if failed = err; ctx.Err() != nil {
				return err
			}
			continue // one failure must not delay the other lists
		}
		m.c.metrics.lists.Inc()
		m.c.metrics.listsDue.Set(float64(len(due) - i - 1))
	}
	return failed
}
