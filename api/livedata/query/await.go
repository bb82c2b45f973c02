package query

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/livedata/checkpoint"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

// deadLetteredHeader is the header with the number of records of the checkpoint that became
// dead letters. It is set in all formats, because not all have an envelope.
const deadLetteredHeader = "X-Livegraph-Dead-Lettered"

// DeadRecordStore reports which records of the log became dead letters.
type DeadRecordStore interface {
	DeadRecords(ctx context.Context, topicID [16]byte, records []jobs.LogPosition) (int64, error)
}

// awaitCheckpoint waits until the points of the checkpoint, if there is one, are visible. It
// returns how many of its records will never be visible because they became dead letters.
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
	a.checkpointWaiters.Add(1)
	defer a.checkpointWaiters.Add(-1)
	err = a.watch.wait(ctx, topic, c.Positions)
	if fault.Is(err, fault.Timeout) {
		a.checkpointTimeouts.Add(1)
		return 0, fault.New(fault.Timeout, "The points of the checkpoint are not visible yet").
			With("checkpoint", token).After(time.Second).Because(err)
	}
	if err != nil {
		return 0, err
	}
	positions := make([]jobs.LogPosition, len(c.Positions))
	for i, p := range c.Positions {
		positions[i] = jobs.LogPosition{Partition: p.Partition, Offset: p.Offset}
	}
	return a.DeadRecords.DeadRecords(ctx, topic, positions)
}
