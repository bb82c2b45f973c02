package consumers

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/livegraph/livegraph/internal/platform/tracing"
	"github.com/livegraph/livegraph/storage/kafka"
)

// storeTask is a batch from the start of storing to its commit.
type storeTask struct {
	*batch
	ctx   context.Context //nolint:containedctx // of the stage
	stage trace.Span
	began time.Time

	stored  chan struct{} // closed when refused and err are set
	refused []kafka.DeadLetter
	err     error
}

// startStoring stores batches, up to Config.StoreAtOnce at the same time. Batches that wait for
// finish count, so with a limit of 1 each batch is finished before the next is stored.
func (s *pipeline) startStoring(ready <-chan *batch, tasks chan<- *storeTask) error {
	defer close(tasks)
	for b := range ready {
		select {
		case s.slots <- struct{}{}:
		case <-s.storeCtx.Done():
			b.end(s.storeCtx.Err())
			return s.storeCtx.Err()
		}
		w := s.newStoreTask(b)
		go func() {
			defer close(w.stored)
			w.refused, w.err = s.storeOrHalve(w.ctx, b.Batch, b.records)
		}()
		tasks <- w // does not block: the capacity is the number of slots
	}
	return nil
}

// newStoreTask creates a task that starts now.
func (s *pipeline) newStoreTask(b *batch) *storeTask {
	began := time.Now()
	ctx, stage := s.stage(s.storeCtx, b, "store")
	return &storeTask{batch: b, ctx: ctx, stage: stage, began: began, stored: make(chan struct{})}
}

// finish completes and commits batches in order, whatever the order in which they are stored.
func (s *pipeline) finish(tasks <-chan *storeTask) error {
	for w, ok := s.nextTask(tasks); ok; w, ok = s.nextTask(tasks) {
		<-w.stored
		err := w.err
		if err == nil {
			err = s.completeBatch(w.ctx, w.batch, w.refused)
		}
		tracing.End(w.stage, err)
		if err != nil {
			w.end(err)
			return err
		}
		took := time.Since(w.began)
		s.metrics.StoreTime.Add(int64(took))
		s.metrics.Freshness.Store(int64(time.Since(w.firstProduced)))
		s.metrics.Batches.Add(1)
		s.metrics.Records.Add(int64(len(w.records) + len(w.deadLetters)))
		s.collectors.observeStored(w.batch, took)
		s.collectors.setWatermarks(s.owned.filter(w.next))
		s.commit(w.batch)
		w.end(nil)
		s.accumulator.finish(w.batch)
		w.Release()
		<-s.slots
	}
	return nil
}

// nextTask waits for the next task. If none arrives before the next commit is allowed, it commits
// the stored offsets. Otherwise the lag would stay too high until the next batch.
func (s *pipeline) nextTask(tasks <-chan *storeTask) (w *storeTask, ok bool) {
	if len(s.uncommitted) > 0 {
		due := time.NewTimer(s.cfg.CommitEvery - time.Since(s.committed))
		defer due.Stop()
		select {
		case w, ok = <-tasks:
			return w, ok
		case <-due.C:
			_ = s.commitNow(s.storeCtx) // commitNow logs the error
		}
	}
	w, ok = <-tasks
	return w, ok
}
