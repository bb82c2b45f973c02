package consumers

import (
	"context"
	"errors"

	"github.com/livegraph/livegraph/storage/kafka"
)

var errFewerPartitions = errors.New("the topic has fewer partitions than are assigned")

// StartOfEvents decides where a handler begins that takes an event as the news that
// something has changed, and looks up what: where the group has committed, if the log
// has that. A commit beyond the log's end is not of this log, or somebody has moved it;
// then, and without one, it begins at the log's start, because what comes again changes
// nothing. What the log has lost in between shows as missing changes of its workspaces.
func (l *Loop) StartOfEvents(ctx context.Context, committed map[int32]int64) (map[int32]int64, error) {
	seen, err := l.log.ObserveTopic(ctx, kafka.TopicEvents)
	if err != nil {
		return nil, err
	}
	from := make(map[int32]int64, len(committed))
	for p, at := range committed {
		if int(p) >= len(seen.State) {
			return nil, kafka.NewDiscontinuity(p, -1, errFewerPartitions)
		}
		log := seen.State[p]
		switch {
		case at > log.End:
			l.logger.Warn(
				"more is committed than there is; events are consumed from the log's start", "partition", p, "committed", at, "end",
				log.End,
			)
			at = log.Start
		case at < 0:
			at = log.Start
		case at < log.Start:
			l.metrics.Lost.Add(log.Start - at)
			l.logger.Warn("events were trimmed before they were consumed; what they touched is read from the graph",
				"partition", p, "next", at, "start", log.Start)
			at = log.Start
		}
		from[p] = at
	}
	return from, nil
}
