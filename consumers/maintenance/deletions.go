package maintenance

import (
	"context"
	"time"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// deletionsAtOnce is how many deletions of points are done together.
const deletionsAtOnce = 1000

// anyToDelete reports whether points are to be deleted, and shows how many deletions
// wait.
func (u *Runner) anyToDelete(ctx context.Context) (bool, error) {
	waiting, oldest, err := u.Registry.UnexecutedDeletions(ctx)
	if err != nil {
		return false, err
	}
	u.metrics.pointDeletions.Set(float64(waiting))
	u.metrics.oldestDeletion.Set(oldest.Seconds())
	due, err := u.Registry.DueDeletions(ctx, u.Config.SettleAfter, 1)
	return len(due) > 0, err
}

// deletePoints deletes what tombstones cover, the oldest first, until nothing is due.
// The tombstones are durable and queries leave out what they cover, so nobody waits for
// this: not the consumer, which goes on with the points of all workspaces, and not who
// asked for the deletion. Each deletion is done when it is new, and once more when no
// insert from before it can be under way: a process that died may have left one.
func (u *Runner) deletePoints(ctx context.Context) error {
	for {
		due, err := u.Registry.DueDeletions(ctx, u.Config.SettleAfter, deletionsAtOnce)
		if err != nil || len(due) == 0 {
			return err
		}
		began := time.Now()
		if err := u.Points.Delete(ctx, deletionsOf(due)...); err != nil {
			return err
		}
		if err := u.Registry.DeletionsDone(ctx, due); err != nil {
			return err
		}
		u.metrics.deleted.Add(float64(len(due)))
		u.Logger.Debug("points are deleted", "deletions", len(due), "took", time.Since(began).Round(time.Millisecond))
	}
}

func deletionsOf(due []registry.UnsettledDeletion) []clickhouse.Deletion {
	deletions := make([]clickhouse.Deletion, len(due))
	for i, d := range due {
		whole := d.Ceiling == registry.CeilingUnlimited
		deletions[i] = clickhouse.Deletion{
			Workspace: d.Workspace, Source: d.Source, Metric: d.Metric, FromUS: d.FromUS, ToUS: d.ToUS,
			Ceiling: d.Ceiling, WholeSource: whole, Forget: whole && d.Settles,
		}
	}
	return deletions
}
