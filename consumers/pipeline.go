package consumers

import (
	"context"
	"maps"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/platform/tracing"
)

// pipeline runs the stages prepare and store for the records of all partitions of a session or,
// with Config.ByPartition, of one partition.
type pipeline struct {
	*session
	partition   int32 // or allPartitions
	accumulator *accumulator
	slots       chan struct{}      // semaphore: batches that are being stored
	storeCtx    context.Context    //nolint:containedctx // ends with the session's, or when the partition is revoked
	cancel      context.CancelFunc // ends storeCtx

	uncommitted map[int32]kgo.EpochOffset // used only by the goroutine of finish
	committed   time.Time
}

func newPipeline(s *session, partition int32) *pipeline {
	l := &pipeline{
		session: s, partition: partition, accumulator: newAccumulator(s.cfg, s.handler),
		slots: make(chan struct{}, s.cfg.StoreAtOnce),
	}
	l.storeCtx, l.cancel = context.WithCancel(s.storeCtx)
	return l
}

// run prepares and stores batches until the accumulator is closed and empty.
func (s *pipeline) run() error {
	defer s.cancel()
	ready, tasks := make(chan *batch), make(chan *storeTask, s.cfg.StoreAtOnce)
	var work errgroup.Group
	for _, stage := range []func() error{
		func() error { return s.prepare(ready) },
		func() error { return s.startStoring(ready, tasks) },
		func() error { return s.finish(tasks) },
	} {
		work.Go(func() error { return s.endSessionOnError(stage()) })
	}
	err := work.Wait()
	for w := range tasks { // batches after the one that failed
		<-w.stored
		w.end(s.storeCtx.Err())
	}
	s.commitRemaining()
	if err == nil {
		err = s.pipelines.finish(s.storeCtx, []int32{s.partition})
	}
	return err
}

// endSessionOnError ends the session if a stage has returned an error. Otherwise the other stages
// would wait for the failed one while the group still considers this member alive. All batches
// in flight are discarded, because batches after the failed one must not be committed without
// it. It returns err, or nil if the pipeline ended because its partition was revoked.
func (s *pipeline) endSessionOnError(err error) error {
	if err == nil || (s.storeCtx.Err() != nil && s.session.storeCtx.Err() == nil) {
		return nil
	}
	s.cancelPoll(err)
	s.cancelStore()
	return err
}

// prepare prepares batches while earlier ones are stored.
func (s *pipeline) prepare(ready chan<- *batch) error {
	defer close(ready)
	for {
		b := s.accumulator.next(s.storeCtx)
		if b == nil {
			return s.storeCtx.Err()
		}
		began := time.Now()
		ctx, span := s.stage(s.traceBatch(b), b, "prepare")
		err := s.retryUntilDone(ctx, "preparing a batch", b.Prepare)
		tracing.End(span, err)
		if err != nil {
			b.end(err)
			return err
		}
		took := time.Since(began)
		s.metrics.PrepareTime.Add(int64(took))
		s.collectors.prepare.Observe(took.Seconds())
		select {
		case ready <- b:
		case <-s.storeCtx.Done():
			b.end(s.storeCtx.Err())
			return s.storeCtx.Err()
		}
	}
}

// commit commits the end offsets of a batch, and those of earlier batches that are not yet
// committed, for the partitions that are still owned. A failure is only logged: the next batch
// commits higher offsets, and records above the committed offsets are consumed again.
func (s *pipeline) commit(b *batch) {
	if s.group == nil {
		return // Reread has no group
	}
	if s.uncommitted == nil {
		s.uncommitted = map[int32]kgo.EpochOffset{}
	}
	maps.Copy(s.uncommitted, b.next)
	if time.Since(s.committed) < s.cfg.CommitEvery {
		return
	}
	ctx, span := s.stage(s.storeCtx, b, "commit")
	tracing.End(span, s.commitNow(ctx))
}

// commitRemaining commits the offsets that CommitEvery has delayed, when no batch is in flight.
func (s *pipeline) commitRemaining() {
	if len(s.uncommitted) > 0 {
		_ = s.commitNow(context.WithoutCancel(s.storeCtx)) // commitNow logs the error
	}
}

func (s *pipeline) commitNow(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	err := s.group.Commit(ctx, s.owned.filter(s.uncommitted))
	if err != nil {
		s.logger.WarnContext(ctx, "offsets could not be committed", "error", err)
	}
	s.uncommitted, s.committed = nil, time.Now()
	return err
}
