package tail

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/storage/kafka"
)

// Catch-ups are divided into rounds, so that a slow reader does not block other streams
// for long.
const (
	maxCatchUps        = 8
	catchUpDuration    = 2 * time.Second
	catchUpFetchBytes  = 1 << 20 // maximum bytes per fetch
	catchUpPollRecords = 100     // maximum records per poll
	maxIdleRounds      = 3       // rounds without progress until the catch-up fails
	keepAliveInterval  = 10 * time.Second
)

// Emit sends deliveries to the reader. An empty list is a keep-alive.
type Emit func(list []Delivery) error

// CatchUp sends what a stream with a position has missed, and then joins the shared tail. For
// a stream without a position it does nothing. It returns the first error of emit. If the log
// loses missed records meanwhile, Missed reports it.
func (s *Stream) CatchUp(ctx context.Context, emit Emit) error {
	if s.ends == nil {
		return nil
	}
	behind := s.position
	err := s.readUpTo(ctx, s.ends, emit)
	if errors.Is(err, kafka.ErrDiscontinued) {
		if err := s.join(ctx); err != nil {
			return err
		}
		return s.setMissed(Trimmed, behind)
	}
	if err != nil {
		return err
	}
	if err := s.join(ctx); err != nil {
		return err
	}
	joined := s.position
	if joined.Topic != behind.Topic || joined.Partitions != behind.Partitions {
		return s.setMissed(LogChanged, behind)
	}
	s.position = Position{
		Topic: behind.Topic, Partitions: behind.Partitions, SinceUS: behind.SinceUS, Next: maps.Clone(joined.Next),
	}
	for p := range joined.Next {
		if next, ok := behind.Next[p]; ok { // otherwise the partition was not needed then
			s.position.Next[p] = next
		}
	}
	err = s.readUpTo(ctx, joined.Next, emit)
	if errors.Is(err, kafka.ErrDiscontinued) {
		s.position = joined // the stream has joined: joining again would deliver everything twice
		return s.setMissed(Trimmed, behind)
	}
	return err
}

// setMissed records that the stream, which has joined, missed the records after a position.
func (s *Stream) setMissed(reason string, behind Position) error {
	s.missed, s.position.SinceUS = reason, behind.SinceUS
	s.hub.metrics.resumed.WithLabelValues(reason).Inc()
	return nil
}

// readUpTo sends the records from the stream's position up to the offsets ends.
func (s *Stream) readUpTo(ctx context.Context, ends map[int32]int64, emit Emit) error {
	for idle := 0; ; {
		from := s.remaining(ends)
		if len(from) == 0 {
			return nil
		}
		if err := s.acquireSlot(ctx, emit); err != nil {
			return err
		}
		err := s.catchUpRound(ctx, ends, emit)
		s.hub.catchUpSlots.Release(1)
		if err != nil {
			return err
		}
		if idle++; !maps.Equal(from, s.remaining(ends)) {
			idle = 0
		}
		if idle == maxIdleRounds {
			return errUnavailable(errors.New("the log returned none of the records that it contains"))
		}
	}
}

// remaining returns the next offset of each partition that is not yet read up to its end.
func (s *Stream) remaining(ends map[int32]int64) map[int32]int64 {
	from := map[int32]int64{}
	for p, end := range ends {
		if s.position.Next[p] < end {
			from[p] = s.position.Next[p]
		}
	}
	return from
}

// acquireSlot waits for a catch-up slot and emits keep-alives meanwhile.
func (s *Stream) acquireSlot(ctx context.Context, emit Emit) error {
	for {
		limited, cancel := context.WithTimeout(ctx, keepAliveInterval)
		err := s.hub.catchUpSlots.Acquire(limited, 1)
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
		if err := emit(nil); err != nil {
			return err
		}
	}
}

// catchUpRound reads for up to catchUpDuration, or up to the ends.
func (s *Stream) catchUpRound(ctx context.Context, ends map[int32]int64, emit Emit) error {
	tail, err := s.hub.deps.Log.TailPoints(s.remaining(ends), catchUpFetchBytes)
	if err != nil {
		return errUnavailable(err)
	}
	defer tail.Close()
	own := &subscriber{workspace: s.sub.workspace, selector: s.sub.selector, queue: newQueue(nil)}
	router := newRouter(s.hub.deps.Sources, s.hub.metrics, s.hub.log, maxCachedCatchUp)
	router.add(own)
	for began := time.Now(); time.Since(began) < catchUpDuration && len(s.remaining(ends)) > 0; {
		limited, cancel := context.WithTimeout(ctx, catchUpDuration)
		records, err := tail.Poll(limited, catchUpPollRecords)
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, kafka.ErrDiscontinued):
			return err
		}
		if err := s.replay(ctx, router, own, keepBelow(records, ends), emit); err != nil {
			return err
		}
	}
	return nil
}

// keepBelow returns the records below the ends. The queue delivers the records from there on.
func keepBelow(records []*kgo.Record, ends map[int32]int64) []*kgo.Record {
	kept := records[:0]
	for _, record := range records {
		if record.Offset < ends[record.Partition] {
			kept = append(kept, record)
		}
	}
	return kept
}

// replay sends the deliveries of the records for the stream, and raises its position.
func (s *Stream) replay(ctx context.Context, router *router, own *subscriber, records []*kgo.Record, emit Emit) error {
	router.scan(records)
	if err := router.resolveSources(ctx); err != nil {
		return err
	}
	router.deliver()
	if list, _ := own.queue.take(); len(list) > 0 {
		if err := emit(list); err != nil {
			return err
		}
	}
	for _, record := range records {
		s.position.Next[record.Partition] = max(s.position.Next[record.Partition], record.Offset+1)
	}
	return nil
}
