package consumers

import (
	"context"
	"maps"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/platform/tracing"
)

// lane is where records go through the stages: those of all partitions of a session, or
// with Config.ByPartition those of one.
type lane struct {
	*session
	partition int32 // or shared
	intake    *intake
	slots     chan struct{}      // of batches that are being stored
	hard      context.Context    //nolint:containedctx // ends with the session's, or when the partition has gone
	leave     context.CancelFunc // ends hard

	uncommitted map[int32]kgo.EpochOffset // of the storing goroutine
	committed   time.Time
}

func newLane(s *session, partition int32) *lane {
	l := &lane{
		session: s, partition: partition, intake: newIntake(s.cfg, s.handler), slots: make(chan struct{}, s.cfg.StoreAtOnce),
	}
	l.hard, l.leave = context.WithCancel(s.hard)
	return l
}

// run prepares and stores what comes in, until the intake is closed and empty.
func (s *lane) run() error {
	defer s.leave()
	ready, begun := make(chan *batch), make(chan *storing, s.cfg.StoreAtOnce)
	var work errgroup.Group
	for _, stage := range []func() error{
		func() error { return s.prepare(ready) },
		func() error { return s.begin(ready, begun) },
		func() error { return s.finish(begun) },
	} {
		work.Go(func() error { return s.abandonAfter(stage()) })
	}
	err := work.Wait()
	for w := range begun { // behind one that failed
		<-w.known
		w.end(s.hard.Err())
	}
	s.commitRest()
	if err == nil {
		err = s.lanes.finish(s.hard, []int32{s.partition})
	}
	return err
}

// abandonAfter ends the whole session when a stage has ended with an error: the other
// stages would wait for it while the group goes on to believe that this member works.
// What is in flight is thrown away, as whatever is behind the failure must not be
// stored and committed without it. It returns the error; a lane whose partition has gone
// has none.
func (s *lane) abandonAfter(err error) error {
	if err == nil || (s.hard.Err() != nil && s.session.hard.Err() == nil) {
		return nil
	}
	s.end(err)
	s.give()
	return err
}

// prepare makes batches ready while earlier ones are stored.
func (s *lane) prepare(ready chan<- *batch) error {
	defer close(ready)
	for {
		b := s.intake.take(s.hard)
		if b == nil {
			return s.hard.Err()
		}
		began := time.Now()
		ctx, span := s.stage(s.traceBatch(b), b, "prepare")
		err := s.untilDone(ctx, "preparing a batch", b.Prepare)
		tracing.End(span, err)
		if err != nil {
			b.end(err)
			return err
		}
		took := time.Since(began)
		s.metrics.PrepareTime.Add(int64(took))
		s.shown.prepare.Observe(took.Seconds())
		select {
		case ready <- b:
		case <-s.hard.Done():
			b.end(s.hard.Err())
			return s.hard.Err()
		}
	}
}

// commit commits the ends of a batch, and of those before that were not yet, of
// partitions that are still ours. A failure is only said: the next batch commits
// more, and what is not committed is consumed again.
func (s *lane) commit(b *batch) {
	if s.group == nil {
		return // of Reread
	}
	if s.uncommitted == nil {
		s.uncommitted = map[int32]kgo.EpochOffset{}
	}
	maps.Copy(s.uncommitted, b.next)
	if time.Since(s.committed) < s.cfg.CommitEvery {
		return
	}
	ctx, span := s.stage(s.hard, b, "commit")
	tracing.End(span, s.commitNow(ctx))
}

// commitRest commits what CommitEvery has left, when nothing is in flight any more.
func (s *lane) commitRest() {
	if len(s.uncommitted) > 0 {
		_ = s.commitNow(context.WithoutCancel(s.hard)) // it has said so itself
	}
}

func (s *lane) commitNow(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	err := s.group.Commit(ctx, s.owned.of(s.uncommitted))
	if err != nil {
		s.logger.WarnContext(ctx, "offsets could not be committed", "error", err)
	}
	s.uncommitted, s.committed = nil, time.Now()
	return err
}
