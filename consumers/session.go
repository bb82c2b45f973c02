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
	group *kafka.Group
	owned *owned
	gaps  continuity
	hard  context.Context         //nolint:containedctx // ends when what is in flight may take no longer
	end   context.CancelCauseFunc // ends the polling
	give  context.CancelFunc      // ends hard
	lanes lanes
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
	if err != nil {
		l.logger.Warn("stopped before everything in flight was stored; it will be consumed again", "error", err)
	}
	group.Leave()
	return failure
}

// newSession returns a session, and what its polling goes by. Anyone who made it ends it.
func (l *Loop) newSession(ctx context.Context) (s *session, polling context.Context, over func()) {
	hard, give := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(l.cfg.Grace, give) })
	polling, end := context.WithCancelCause(ctx)
	s = &session{Loop: l, owned: newOwned(), hard: hard, end: end, give: give}
	s.lanes.session = s
	l.current.Store(s)
	return s, polling, func() {
		end(nil)
		stop()
		give()
	}
}

// through has what poll takes up prepared and stored. failure is how the polling
// ended, and err that of storing what was polled before.
func (s *session) through(poll func() error) (failure, err error) {
	failure = poll()
	return failure, s.lanes.close()
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
		if !s.lanes.flush(ctx, partitions) {
			s.logger.Warn(
				"partitions go before everything of theirs was stored; it will be consumed again", "partitions", partitions,
			)
		}
	}
	s.shown.assigned(s.owned.remove(partitions))
	s.lanes.drop(partitions)
	if l, ok := s.handler.(leaver); ok {
		l.Gone(partitions)
	}
	s.logger.Info("partitions gone", "partitions", partitions, "lost", lost)
}

// poll fetches records until ctx is done or the membership cannot go on, and says
// why that is.
func (s *session) poll(ctx context.Context) error {
	for s.lanes.waitForSpace(ctx) {
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
			s.lanes.add(records, lag == 0 && s.group.Buffered() == 0)
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
			sleep.For(ctx, firstRetry)
		}
	}
	return context.Cause(ctx)
}
