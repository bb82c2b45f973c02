package consumers

import (
	"context"
	"errors"
	"time"

	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/kafka"
)

// session is one membership of the group.
type session struct {
	*Loop
	group       *kafka.Group
	owned       *ownedPartitions
	continuity  continuity
	storeCtx    context.Context         //nolint:containedctx // ends when batches in flight must not take longer
	cancelPoll  context.CancelCauseFunc // ends polling
	cancelStore context.CancelFunc      // ends storeCtx
	pipelines   pipelines
}

// runSession joins the group and consumes until ctx is done or the membership cannot continue.
// Then it stores and commits the batches in flight: within Grace if ctx is done, else without a
// limit, because the log may no longer contain their records.
func (l *Loop) runSession(ctx context.Context) error {
	s, polling, closeSession := l.newSession(ctx)
	defer closeSession()
	l.handler.Reset()
	group, err := l.log.Join(kafka.GroupOptions{
		Topic: l.cfg.Topic, Group: l.cfg.Group, FetchBytes: l.cfg.FetchBytes, Start: s.start, Revoked: s.revoked,
	})
	if err != nil {
		return err
	}
	s.group = group
	failure, err := s.pollAndStore(func() error { return s.poll(polling) })
	if err != nil {
		l.logger.Warn("stopped before everything in flight was stored; it will be consumed again", "error", err)
	}
	group.Leave()
	return failure
}

// newSession returns a session, the context of its polling, and a function that ends the session.
// The caller must call that function.
func (l *Loop) newSession(ctx context.Context) (s *session, polling context.Context, closeSession func()) {
	storeCtx, cancelStore := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(l.cfg.Grace, cancelStore) })
	polling, cancelPoll := context.WithCancelCause(ctx)
	s = &session{
		Loop: l, owned: newOwnedPartitions(), storeCtx: storeCtx, cancelPoll: cancelPoll, cancelStore: cancelStore,
	}
	s.pipelines.session = s
	l.current.Store(s)
	return s, polling, func() {
		cancelPoll(nil)
		stop()
		cancelStore()
	}
}

// pollAndStore runs poll and then waits until the polled records are stored. failure is the
// error of poll, and err is the error of storing.
func (s *session) pollAndStore(poll func() error) (failure, err error) {
	failure = poll()
	return failure, s.pipelines.close()
}

// start calls Handler.Start until it succeeds, or fails permanently, and adds the partitions.
func (s *session) start(ctx context.Context, committed map[int32]int64) (map[int32]int64, error) {
	var from map[int32]int64
	err := s.retryUntilDone(ctx, "beginning with partitions", func(ctx context.Context) (err error) {
		from, err = s.handler.Start(ctx, committed)
		if errors.Is(err, kafka.ErrDiscontinued) {
			return Permanent(err)
		}
		return err
	})
	if err != nil {
		if isPermanent(err) {
			s.cancelPoll(err)
		}
		return nil, err
	}
	s.metrics.Rebalances.Add(1)
	s.collectors.setAssigned(s.owned.add(from))
	s.continuity.setStart(from)
	s.logger.Info("partitions assigned", "from", from)
	return from, nil
}

// revoked stores the batches in flight, unless the partitions are lost, and removes the partitions.
func (s *session) revoked(partitions []int32, lost bool) {
	s.metrics.Rebalances.Add(1)
	if !lost {
		ctx, cancel := context.WithTimeout(s.storeCtx, revokeTimeout)
		defer cancel()
		if !s.pipelines.flush(ctx, partitions) {
			s.logger.Warn(
				"partitions go before everything of theirs was stored; it will be consumed again", "partitions", partitions,
			)
		}
	}
	s.collectors.setAssigned(s.owned.remove(partitions))
	s.pipelines.drop(partitions)
	if gone := s.cfg.Hooks.Gone; gone != nil {
		gone(partitions)
	}
	s.logger.Info("partitions gone", "partitions", partitions, "lost", lost)
}

// mustLeave reports whether a member cannot continue after an error of a poll.
func mustLeave(err error) bool {
	return errors.Is(err, kafka.ErrDiscontinued) || errors.Is(err, kafka.ErrOutOfRange) || errors.Is(err, kafka.ErrStalled)
}

// poll fetches records until ctx is done or the membership cannot continue, and returns the
// reason.
func (s *session) poll(ctx context.Context) error {
	for s.pipelines.waitForSpace(ctx) {
		fetches, err := s.group.Poll(ctx, maxPollRecords)
		lag := s.owned.updateLag(fetches)
		s.metrics.Lag.Store(lag)
		records := fetches.Records()
		lost, backwards := s.continuity.check(records)
		if lost > 0 {
			s.metrics.Lost.Add(lost)
			s.logger.Error("DATA LOSS: records were gone before they were consumed", "records", lost)
		}
		drained := lag == 0 && s.group.Buffered() == 0
		if backwards == nil && len(records) > 0 {
			s.pipelines.add(records, drained)
		}
		s.group.AllowRebalance()
		switch {
		case backwards != nil:
			return s.group.ConfirmLoss(ctx, backwards.partition, backwards.next)
		case mustLeave(err):
			return err
		case err != nil && ctx.Err() == nil:
			s.metrics.Retries.Add(1)
			s.logger.Warn("a partition cannot be consumed and is tried again", "error", err)
			sleep.For(ctx, minRetryDelay)
		case drained && s.cfg.PollPause > 0:
			sleep.For(ctx, s.cfg.PollPause)
		}
	}
	return context.Cause(ctx)
}
