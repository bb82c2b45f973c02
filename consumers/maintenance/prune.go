package maintenance

import (
	"context"
	"fmt"
	"time"

	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// pruneMargin lies between a mark of the log and the tombstones that are forgotten
// with what was before it. A record says when its request was received; it is in the
// log later than that, by a day where a request is repeated with its
// Idempotency-Key, and clocks differ.
const pruneMargin = 48 * time.Hour

// prune forgets the tombstones that the log has outlived. Every time it notes how
// far the log is. When everything below such a mark has been trimmed, there is
// nothing left in the log that was accepted before it, and its tombstones are needed
// by nobody but a dead letter; so that none comes back, the consumer refuses records
// that old (see points.batch.Add).
func (u *Runner) prune(ctx context.Context) error {
	state, err := u.Log.Observe(ctx)
	if err != nil {
		return fmt.Errorf("looking at the log: %w", err)
	}
	marks, err := u.Registry.LogMarks(ctx)
	if err != nil {
		return err
	}
	starts, ends := make([]int64, len(state.State)), make([]int64, len(state.State))
	for p, s := range state.State {
		starts[p], ends[p] = s.Start, s.End
	}
	if at, found := outlived(marks, state.ID, starts); found {
		pruned, err := u.Registry.PruneTombstones(ctx, at.Add(-pruneMargin))
		if err != nil {
			return err
		}
		u.metrics.pruned.Add(float64(pruned))
		if pruned > 0 {
			u.Logger.Info(
				"tombstones that the log has outlived are forgotten", "tombstones", pruned, "before", at.Add(-pruneMargin),
			)
		}
	}
	return u.Registry.AddLogMark(ctx, state.ID, ends)
}

// outlived returns the newest mark below which all is trimmed.
func outlived(marks []registry.LogMark, topic [16]byte, starts []int64) (time.Time, bool) {
	for _, m := range marks {
		trimmed := m.TopicID == topic // of another, what was there may have been copied
		for p, end := range m.Ends {
			trimmed = trimmed && p < len(starts) && starts[p] >= end
		}
		if trimmed {
			return m.At, true
		}
	}
	return time.Time{}, false
}
