package maintenance

import (
	"context"
	"fmt"
	"time"

	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// pruneMargin is the minimum time between the tombstones that are pruned and the mark of the log.
// The receive time of a record is earlier than its time in the log: by up to a day if a request is
// repeated with its Idempotency-Key, and by the difference of clocks.
const pruneMargin = 48 * time.Hour

// prune removes the tombstones that the log no longer requires. Each call stores a mark with the
// current end of the log. When everything below a mark has been trimmed, the log contains no record
// that was accepted before it. Only dead letters could then need the earlier tombstones. So that no
// dead letter restores deleted points, the consumer rejects records of that age (see batch.Add of
// package points).
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
	if marked, found := newestTrimmed(marks, state.ID, starts); found {
		pruned, err := u.Registry.PruneTombstones(ctx, marked.Add(-pruneMargin))
		if err != nil {
			return err
		}
		u.metrics.pruned.Add(float64(pruned))
		if pruned > 0 {
			u.Logger.Info(
				"tombstones that the log has outlived are forgotten", "tombstones", pruned, "before", marked.Add(-pruneMargin),
			)
		}
	}
	return u.Registry.AddLogMark(ctx, state.ID, ends)
}

// newestTrimmed returns the time of the newest mark below which the log is trimmed entirely.
func newestTrimmed(marks []registry.LogMark, topic [16]byte, starts []int64) (time.Time, bool) {
	for _, m := range marks {
		trimmed := m.TopicID == topic // records of another topic may have been copied
		for p, end := range m.Ends {
			trimmed = trimmed && p < len(starts) && starts[p] >= end
		}
		if trimmed {
			return m.At, true
		}
	}
	return time.Time{}, false
}
