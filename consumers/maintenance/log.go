package maintenance

import (
	"context"

	"github.com/livegraph/livegraph/storage/kafka"
)

// trimLog removes from the log what is older than it is kept: by size alone, what was there
// of a deleted workspace would stay for as long as nothing new comes.
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
