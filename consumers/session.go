package consumers

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/pause"
	"github.com/livegraph/livegraph/internal/tracing"
	"github.com/livegraph/livegraph/storage/kafka"
)

// session is one membership of the group.
type session struct {
	*Loop
	group  *kafka.Group
	intake *intake
	owned  *owned
	gaps   continuity
	slots  chan struct{}           // of batches that are being stored
	hard   context.Context         // ends when what is in flight may take no longer
	end    context.CancelCauseFunc // ends the polling
	give   context.CancelFunc      // ends hard

	uncommitted map[int32]kgo.EpochOffset // of the storing goroutine
	committed   time.Time
}

// session joins the group and consumes until ctx is done or the topic is not what
// it was. Then it stores and commits what is in flight: within Grace if ctx is
// done, else however long it takes, because records that the log has no more are
// nowhere else.
func (l *Loop) session(ctx context.Context) error {
	s, polling, over := l.newSession(ctx)
	defer over()
	l.handler.Reset()
	group, err := l.log.Join(kafka.GroupOptions{
		Topic: l.cfg.Topic, Group: l.cfg.Group, FetchBytes: l.cfg.FetchBytes, Start: s.start, Revoked: s.revoked,
	})
	if err != nil {
		return err
	}
	s.group = group
	failure, err := s.through(func() error { return s.poll(polling) })
	s.commitRest()
	if err != nil {
		l.logger.Warn("stopped before everything in flight was stored; it will be consumed again", "error", err)
	}
	group.Leave()
	return failure
}

// newSession gives a session, and what its polling goes by. Whoever made it ends it.
func (l *Loop) newSession(ctx context.Context) (s *session, polling context.Context, over func()) {
	hard, give := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(l.cfg.Grace, give) })
	polling, end := context.WithCancelCause(ctx)
	s = &session{Loop: l, intake: newIntake(l.cfg, l.handler), owned: newOwned(), slots: make(chan struct{}, l.cfg.StoreAtOnce), hard: hard, end: end, give: give}
	return s, polling, func() {
		end(nil)
		stop()
		give()
	}
}

// through has what poll takes up prepared and stored. failure is how the polling
// ended, and err that of storing what was polled before.
func (s *session) through(poll func() error) (failure, err error) {
	ready, begun := make(chan *batch), make(chan *storing, s.cfg.StoreAtOnce)
	var work errgroup.Group
	for _, stage := range []func() error{
		func() error { return s.prepare(ready) },
		func() error { return s.begin(ready, begun) },
		func() error { return s.finish(begun) },
	} {
		work.Go(func() error { return s.abandonAfter(stage()) })
	}
	failure = poll()
	s.intake.close()
	err = work.Wait()
	for w := range begun { // behind one that failed
		<-w.known
		w.end(s.hard.Err())
	}
	return failure, err
}

// abandonAfter ends the whole session when a stage has ended with an error: the other
// stages would wait for it while the group goes on to believe that this member works.
// What is in flight is thrown away, as whatever is behind the failure must not be
// stored and committed without it. It returns the error.
func (s *session) abandonAfter(err error) error {
	if err != nil {
		s.end(err)
		s.give()
	}
	return err
}

// start lets the handler decide where partitions begin, until it can.
func (s *session) start(ctx context.Context, committed map[int32]int64) (map[int32]int64, error) {
	var from map[int32]int64
	err := s.untilDone(ctx, "beginning with partitions", func(ctx context.Context) (err error) {
		from, err = s.handler.Start(ctx, committed)
		if errors.Is(err, kafka.ErrDiscontinued) {
			return Permanent(err)
		}
		return err
	})
	if err != nil {
		if isPermanent(err) {
			s.end(err)
		}
		return nil, err
	}
	s.metrics.Rebalances.Add(1)
	s.shown.assigned(s.owned.add(from))
	s.gaps.begin(from)
	s.logger.Info("partitions assigned", "from", from)
	return from, nil
}

// revoked finishes what is in flight before partitions go.
func (s *session) revoked(partitions []int32, lost bool) {
	s.metrics.Rebalances.Add(1)
	if !lost {
		ctx, cancel := context.WithTimeout(s.hard, revokeWait)
		defer cancel()
		if !s.intake.flush(ctx) {
			s.logger.Warn("partitions go before everything of theirs was stored; it will be consumed again", "partitions", partitions)
		}
	}
	s.shown.assigned(s.owned.remove(partitions))
	if l, ok := s.handler.(leaver); ok {
		l.Gone(partitions)
	}
	s.logger.Info("partitions gone", "partitions", partitions, "lost", lost)
}

// poll fetches records until ctx is done or the membership cannot go on, and says
// why that is.
func (s *session) poll(ctx context.Context) error {
	for s.intake.waitForSpace(ctx) {
		fetches, err := s.group.Poll(ctx, pollRecords)
		lag := s.owned.see(fetches)
		s.metrics.Lag.Store(lag)
		records := fetches.Records()
		lost, backwards := s.gaps.see(records)
		if lost > 0 {
			s.metrics.Lost.Add(lost)
			s.logger.Error("DATA LOSS: records were gone before they were consumed", "records", lost)
		}
		if backwards == nil && len(records) > 0 {
			s.intake.add(records, lag == 0 && s.group.Buffered() == 0)
		}
		s.group.AllowRebalance()
		switch {
		case backwards != nil:
			return backwards
		case errors.Is(err, kafka.ErrDiscontinued):
			return err
		case err != nil && ctx.Err() == nil:
			s.metrics.Retries.Add(1)
			s.logger.Warn("a partition cannot be consumed and is tried again", "error", err)
			pause.For(ctx, firstRetry)
		}
	}
	return context.Cause(ctx)
}

// prepare makes batches ready while earlier ones are stored.
func (s *session) prepare(ready chan<- *batch) error {
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
func (s *session) commit(b *batch) {
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
func (s *session) commitRest() {
	if len(s.uncommitted) > 0 {
		_ = s.commitNow(context.WithoutCancel(s.hard)) // it has said so itself
	}
}

func (s *session) commitNow(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	err := s.group.Commit(ctx, s.owned.of(s.uncommitted))
	if err != nil {
		s.logger.WarnContext(ctx, "offsets could not be committed", "error", err)
	}
	s.uncommitted, s.committed = nil, time.Now()
	return err
}
