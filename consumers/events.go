package consumers

import (
	"context"
	"errors"

	"github.com/livegraph/livegraph/storage/kafka"
)

// ObserveBeyond returns the state of a topic, named without the prefix. A state in which a partition ends
// below one of the given offsets is confirmed: a single broker may have an old state.
func ObserveBeyond(
	ctx context.Context, log *kafka.Client, topic string, offsets map[int32]int64,
) (kafka.TopicState, error) {
	seen, err := log.ObserveTopic(ctx, topic)
	if err != nil {
		return kafka.TopicState{}, err
	}
	for p, at := range offsets {
		if int(p) >= len(seen.State) || at > seen.State[p].End {
			return log.ConfirmTopic(ctx, topic)
		}
	}
	return seen, nil
}

var errFewerPartitions = errors.New("the topic has fewer partitions than are assigned")

// EventStartOffsets returns the start offsets for a handler that uses events only as notifications
// and reads the changes themselves from the store. The start is the committed offset, if the
// log contains it. A committed offset beyond the log's end belongs to another log or was moved
// by an operator. In that case, and without a committed offset, the start is the log's start,
// because events that are consumed again change nothing. Events that the log has lost in
// between are detected as missing changes of their workspaces.
func (l *Loop) EventStartOffsets(ctx context.Context, committed map[int32]int64) (map[int32]int64, error) {
	seen, err := ObserveBeyond(ctx, l.log, kafka.TopicEvents, committed)
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
