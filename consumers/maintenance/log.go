package maintenance

import (
	"context"

	"github.com/livegraph/livegraph/storage/kafka"
)

// trimLog removes records that are older than LogFor from the log. If the log were limited only by
// size, records of a deleted workspace would remain as long as no new records arrive.
func (u *Runner) trimLog(ctx context.Context) error {
	if u.Config.LogFor <= 0 {
		return nil
	}
	before := u.Config.Now().Add(-u.Config.LogFor)
	for _, name := range []string{kafka.TopicPoints, kafka.TopicCommands, kafka.TopicEvents, kafka.TopicAudit} {
		removed, err := u.Log.TrimBefore(ctx, name, before)
		if err != nil {
			return err
		}
		u.metrics.trimmed.Add(float64(removed))
		if removed > 0 {
			u.Logger.Info(
				"records that are older than the log is kept are removed", "topic", name, "records", removed, "before", before,
			)
		}
	}
	return nil
}
