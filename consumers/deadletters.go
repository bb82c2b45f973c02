package consumers

import (
	"context"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/hooks"
)

// completeBatch writes the dead letters of a stored batch and calls Handler.Advance. It fails only
// if ctx is done, a failure is permanent, or the partitions belong to another member.
func (l *Loop) completeBatch(ctx context.Context, b *batch, refused []kafka.DeadLetter) error {
	if err := l.writeDeadLetters(ctx, append(b.deadLetters, refused...)); err != nil {
		return err
	}
	next := b.offsets()
	return l.retryUntilDone(ctx, "noting how far the consumer is", func(ctx context.Context) error {
		return l.handler.Advance(ctx, next)
	})
}

// storeOrHalve stores a prepared batch. If the batch contains a record that can never be stored,
// it stores the records in two halves, recursively. A half with that record alone is returned as
// a dead letter.
func (l *Loop) storeOrHalve(ctx context.Context, work Batch, records []*kgo.Record) ([]kafka.DeadLetter, error) {
	err := l.retryUntilDone(ctx, "storing a batch", work.Store)
	switch {
	case err == nil:
		l.metrics.Rows.Add(int64(work.Rows()))
		return nil, nil
	case !isPermanent(err):
		return nil, err
	case len(records) <= 1:
		var deadLetters []kafka.DeadLetter
		for _, r := range records {
			deadLetters = append(deadLetters, kafka.DeadLetter{Record: r, Reason: "refused by the store: " + err.Error()})
		}
		return deadLetters, nil
	}
	l.logger.Warn("the store refuses something in a batch; storing its halves", "records", len(records), "error", err)
	var deadLetters []kafka.DeadLetter
	middle := len(records) / 2
	for _, half := range [][]*kgo.Record{records[:middle], records[middle:]} {
		refused, err := l.storeAgain(ctx, half)
		if err != nil {
			return nil, err
		}
		deadLetters = append(deadLetters, refused...)
	}
	return deadLetters, nil
}

// storeAgain stores records that were read before in a new batch.
func (l *Loop) storeAgain(ctx context.Context, records []*kgo.Record) ([]kafka.DeadLetter, error) {
	work := l.handler.NewBatch()
	defer work.Release()
	// Add may refuse a record that it accepted before, because the state that it compares the
	// record with has changed, for example the age at which tombstones are removed.
	var deadLetters []kafka.DeadLetter
	accepted := make([]*kgo.Record, 0, len(records))
	for _, r := range records {
		if err := work.Add(r); err != nil {
			deadLetters = append(deadLetters, unreadable(r, err))
			continue
		}
		accepted = append(accepted, r)
	}
	if len(accepted) == 0 {
		return deadLetters, nil
	}
	if err := l.retryUntilDone(ctx, "preparing a batch", work.Prepare); err != nil {
		return nil, err
	}
	refused, err := l.storeOrHalve(ctx, work, accepted)
	return append(deadLetters, refused...), err
}

// unreadable returns the dead letter for a record that Batch.Add refused.
func unreadable(r *kgo.Record, err error) kafka.DeadLetter {
	return kafka.DeadLetter{Record: r, Reason: "unreadable: " + err.Error()}
}

// writeDeadLetters writes dead letters and waits for their acknowledgement.
func (l *Loop) writeDeadLetters(ctx context.Context, deadLetters []kafka.DeadLetter) error {
	if len(deadLetters) == 0 {
		return nil
	}
	if refused := l.cfg.Hooks.Refused; refused != nil {
		return l.retryUntilDone(
			ctx, "noting refused records", func(ctx context.Context) error { return refused(ctx, deadLetters) },
		)
	}
	for i := range deadLetters {
		r := deadLetters[i].Record
		deadLetters[i].Version = l.handler.Version(r)
		l.logger.Error("dead letter", "topic", r.Topic, "partition", r.Partition, "offset", r.Offset,
			"requestId", string(kafka.Header(r, kafka.HeaderRequestID)), "reason", deadLetters[i].Reason)
	}
	err := l.retryUntilDone(ctx, "writing dead letters", func(ctx context.Context) error {
		return l.log.ProduceDeadLetters(ctx, deadLetters)
	})
	if err != nil {
		return err
	}
	l.metrics.DeadLetters.Add(int64(len(deadLetters)))
	if written := l.cfg.Hooks.DeadLetters; written != nil {
		return l.retryUntilDone(
			ctx, "noting dead letters", func(ctx context.Context) error { return written(ctx, deadLetters) },
		)
	}
	return nil
}

// DeadRecords returns the dead letters as records of workspaces. It leaves out those whose workspace is not known.
func DeadRecords(
	deadLetters []kafka.DeadLetter, workspaceOf func(*kgo.Record) (uuid.UUID, error),
) (dead []hooks.DeadRecord) {
	for _, l := range deadLetters {
		if workspace, err := workspaceOf(l.Record); err == nil {
			dead = append(dead, hooks.DeadRecord{
				Workspace: workspace, Partition: l.Record.Partition, Offset: l.Record.Offset,
				RequestID: string(kafka.Header(l.Record, kafka.HeaderRequestID)),
			})
		}
	}
	return dead
}
