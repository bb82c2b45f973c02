package maintenance

import (
	"context"
	"time"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// deletionBatch is the number of deletions of points that are executed together.
const deletionBatch = 1000

// hasDueDeletions reports whether a deletion of points is due, and sets the metrics of pending
// deletions.
func (u *Runner) hasDueDeletions(ctx context.Context) (bool, error) {
	waiting, oldest, err := u.Registry.UnexecutedDeletions(ctx)
	if err != nil {
		return false, err
	}
	u.metrics.pointDeletions.Set(float64(waiting))
	u.metrics.oldestDeletion.Set(oldest.Seconds())
	due, err := u.Registry.DueDeletions(ctx, u.Config.SettleAfter, 1)
	return len(due) > 0, err
}

// deletePoints deletes the points that tombstones cover, the oldest tombstones first, until no
// deletion is due. The tombstones are durable and queries hide the covered points, so neither
// the consumer nor the caller who requested the deletion waits for it. Each deletion is executed
// when it is new, and again when no earlier insert can still be in flight: a process that was
// killed may have left one.
func (u *Runner) deletePoints(ctx context.Context) error {
	for {
		due, err := u.Registry.DueDeletions(ctx, u.Config.SettleAfter, deletionBatch)
		if err != nil || len(due) == 0 {
			return err
		}
		began := time.Now()
		if err := u.Points.Delete(ctx, deletionsOf(due)...); err != nil {
			return err
		}
		if err := u.Registry.MarkDeletionsDone(ctx, due); err != nil {
			return err
		}
		u.metrics.deleted.Add(float64(len(due)))
		u.Logger.Debug("points are deleted", "deletions", len(due), "took", time.Since(began).Round(time.Millisecond))
	}
}

func deletionsOf(due []registry.UnsettledDeletion) []clickhouse.Deletion {
	deletions := make([]clickhouse.Deletion, len(due))
	for i, d := range due {
		wholeSource := d.Ceiling == registry.CeilingUnlimited
		deletions[i] = clickhouse.Deletion{
			Workspace: d.Workspace, Source: d.Source, Metric: d.Metric, FromUS: d.FromUS, ToUS: d.ToUS,
			Ceiling: d.Ceiling, WholeSource: wholeSource, ForgetSeries: wholeSource && d.Final,
		}
	}
	return deletions
}
