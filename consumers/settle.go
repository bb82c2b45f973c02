package consumers

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/storage/kafka"
)

// settle sends what of a stored batch can never be stored to the dead letters, and notes
// how far everything is done. It fails only when ctx is done, or the partitions are
// another's.
func (l *Loop) settle(ctx context.Context, b *batch, refused []kafka.DeadLetter) error {
	if err := l.bury(ctx, append(b.letters, refused...)); err != nil {
		return err
	}
	next := b.offsets()
	return l.untilDone(ctx, "noting how far the consumer is", func(ctx context.Context) error {
		return l.handler.Advance(ctx, next)
	})
}

// storeOrHalve stores a prepared batch. If something in it can never be stored,
// its records are stored in two halves, and so on until one record is alone: that
// one is given back as a dead letter.
func (l *Loop) storeOrHalve(ctx context.Context, work Batch, records []*kgo.Record) ([]kafka.DeadLetter, error) {
	err := l.untilDone(ctx, "storing a batch", work.Store)
	switch {
	case err == nil:
		l.metrics.Rows.Add(int64(work.Rows()))
		return nil, nil
	case !isPermanent(err):
		return nil, err
	case len(records) <= 1:
		var letters []kafka.DeadLetter
		for _, r := range records {
			letters = append(letters, kafka.DeadLetter{Record: r, Reason: "refused by the store: " + err.Error()})
		}
		return letters, nil
	}
	l.logger.Warn("the store refuses something in a batch; storing its halves", "records", len(records), "error", err)
	var letters []kafka.DeadLetter
	middle := len(records) / 2
	for _, half := range [][]*kgo.Record{records[:middle], records[middle:]} {
		refused, err := l.storeAgain(ctx, half)
		if err != nil {
			return nil, err
		}
		letters = append(letters, refused...)
	}
	return letters, nil
}

// storeAgain makes a new batch of records that were read before and stores it.
func (l *Loop) storeAgain(ctx context.Context, records []*kgo.Record) ([]kafka.DeadLetter, error) {
	work := l.handler.NewBatch()
	defer work.Release()
	// What a record is compared with may have changed since it was added first, as the
	// time before which tombstones are forgotten has.
	var letters []kafka.DeadLetter
	added := make([]*kgo.Record, 0, len(records))
	for _, r := range records {
		if err := work.Add(r); err != nil {
			letters = append(letters, unreadable(r, err))
			continue
		}
		added = append(added, r)
	}
	if len(added) == 0 {
		return letters, nil
	}
	if err := l.untilDone(ctx, "preparing a batch", work.Prepare); err != nil {
		return nil, err
	}
	refused, err := l.storeOrHalve(ctx, work, added)
	return append(letters, refused...), err
}

// unreadable returns the dead letter of a record that could not be added to a batch.
func unreadable(r *kgo.Record, err error) kafka.DeadLetter {
	return kafka.DeadLetter{Record: r, Reason: "unreadable: " + err.Error()}
}

// bury writes dead letters and waits for their acknowledgement.
func (l *Loop) bury(ctx context.Context, letters []kafka.DeadLetter) error {
	if len(letters) == 0 {
		return nil
	}
	if h, ok := l.handler.(refuser); ok {
		return l.untilDone(ctx, "noting refused records", func(ctx context.Context) error { return h.Refused(ctx, letters) })
	}
	for i := range letters {
		r := letters[i].Record
		letters[i].Version = l.handler.Version(r)
		l.logger.Error("dead letter", "topic", r.Topic, "partition", r.Partition, "offset", r.Offset,
			"requestId", string(kafka.Header(r, kafka.HeaderRequestID)), "reason", letters[i].Reason)
	}
	err := l.untilDone(ctx, "writing dead letters", func(ctx context.Context) error {
		return l.log.ProduceDeadLetters(ctx, letters)
	})
	if err != nil {
		return err
	}
	l.metrics.DeadLetters.Add(int64(len(letters)))
	if h, ok := l.handler.(deadLetterObserver); ok {
		return l.untilDone(
			ctx, "noting dead letters", func(ctx context.Context) error { return h.OnDeadLetters(ctx, letters) },
		)
	}
	return nil
}
