package query

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/livedata/checkpoint"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

// deadLetteredHeader reports how many records of the checkpoint were put aside, where an
// answer has no envelope, too.
const deadLetteredHeader = "X-Livegraph-Dead-Lettered"

// DeadRecordStore knows which records of the log were put aside.
type DeadRecordStore interface {
	DeadRecords(ctx context.Context, topicID [16]byte, records []jobs.LogPosition) (int64, error)
}

// awaitCheckpoint returns when the points of the checkpoint, if there is one, are
// visible, and returns how many of its records never will be, because they were put
// among the dead letters.
func (a *api) awaitCheckpoint(ctx context.Context, workspace uuid.UUID, token string) (dead int64, err error) {
	if token == "" {
		return 0, nil
	}
	c, err := checkpoint.Decode(&a.sealer, token, workspace)
	if err != nil {
		return 0, err
	}
	topic := a.TopicID()
	if c.Topic != topic {
		return 0, fault.Field(
			fault.Malformed, "checkpoint", "is of a log that is no longer there: its points cannot be waited for",
		)
	}
	ctx, cancel := context.WithTimeout(ctx, a.CheckpointWait)
	defer cancel()
	a.waiting.Add(1)
	defer a.waiting.Add(-1)
	err = a.watch.wait(ctx, topic, c.Positions)
	if fault.Is(err, fault.Timeout) {
		a.overdue.Add(1)
		return 0, fault.New(fault.Timeout, "The points of the checkpoint are not visible yet").
			With("checkpoint", token).After(time.Second).Because(err)
	}
	if err != nil {
		return 0, err
	}
	places := make([]jobs.LogPosition, len(c.Positions))
	for i, p := range c.Positions {
		places[i] = jobs.LogPosition{Partition: p.Partition, Offset: p.Offset}
	}
	return a.Dead.DeadRecords(ctx, topic, places)
}
