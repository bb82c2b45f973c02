package consumers

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/livegraph/livegraph/internal/platform/tracing"
	"github.com/livegraph/livegraph/storage/kafka"
)

// storing is a batch from the beginning of its storing to its commit.
type storing struct {
	*batch
	ctx   context.Context //nolint:containedctx // of the stage, for anyone who takes the batch on
	stage trace.Span
	began time.Time

	known   chan struct{} // closed when what follows is known
	refused []kafka.DeadLetter
	err     error
}

// begin has batches stored, Config.StoreAtOnce of them at a time. What waits to be
// finished counts: anyone who stores one at a time has each noted before the next begins.
func (s *lane) begin(ready <-chan *batch, begun chan<- *storing) error {
	defer close(begun)
	for b := range ready {
		select {
		case s.slots <- struct{}{}:
		case <-s.hard.Done():
			b.end(s.hard.Err())
			return s.hard.Err()
		}
		w := s.storing(b)
		go func() {
			defer close(w.known)
			w.refused, w.err = s.storeOrHalve(w.ctx, b.Batch, b.records)
		}()
		begun <- w // there is room: each has a slot
	}
	return nil
}

// storing is a batch whose storing begins now.
func (s *lane) storing(b *batch) *storing {
	began := time.Now()
	ctx, stage := s.stage(s.hard, b, "store")
	return &storing{batch: b, ctx: ctx, stage: stage, began: began, known: make(chan struct{})}
}

// finish settles and commits batches in their order, whichever is stored first.
func (s *lane) finish(begun <-chan *storing) error {
	for w, ok := s.next(begun); ok; w, ok = s.next(begun) {
		<-w.known
		err := w.err
		if err == nil {
			err = s.settle(w.ctx, w.batch, w.refused)
		}
		tracing.End(w.stage, err)
		if err != nil {
			w.end(err)
			return err
		}
		took := time.Since(w.began)
		s.metrics.StoreTime.Add(int64(took))
		s.metrics.Freshness.Store(int64(time.Since(w.oldest)))
		s.metrics.Batches.Add(1)
		s.metrics.Records.Add(int64(len(w.records) + len(w.letters)))
		s.shown.stored(w.batch, took)
		s.shown.advance(s.owned.of(w.next))
		s.commit(w.batch)
		w.end(nil)
		s.intake.finish(w.batch)
		w.Release()
		<-s.slots
	}
	return nil
}

// next waits for a batch that is being stored. When none has come by the time that what
// is stored may be committed, that is committed: nothing may come for long, and all that
// time what is stored would seem to be late.
func (s *lane) next(begun <-chan *storing) (w *storing, ok bool) {
	if len(s.uncommitted) > 0 {
		due := time.NewTimer(s.cfg.CommitEvery - time.Since(s.committed))
		defer due.Stop()
		select {
		case w, ok = <-begun:
			return w, ok
		case <-due.C:
			_ = s.commitNow(s.hard) // it has said so itself
		}
	}
	w, ok = <-begun
	return w, ok
}
