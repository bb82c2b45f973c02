package tail

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/storage/kafka"
)

// Streams that are behind are brought up to date by turns, so that a slow reader
// does not hold up the others for long.
const (
	turnsAtOnce = 8
	turnTime    = 2 * time.Second
	turnBytes   = 1 << 20 // of one answer of a broker
	turnRecords = 100     // of one look into the log
	idleTurns   = 3       // without a record, until it is given up
	signOfLife  = 10 * time.Second
)

// Emit sends deliveries to the reader; none is a sign of life.
type Emit func(list []Delivery) error

// CatchUp sends what a stream with a position has missed, and then has it join the
// others; for another stream it does nothing. An error of emit ends it. If the log
// loses meanwhile what is missing, see Missed.
func (s *Stream) CatchUp(ctx context.Context, emit Emit) error {
	if s.ends == nil {
		return nil
	}
	behind := s.at
	err := s.readUpTo(ctx, s.ends, emit)
	if errors.Is(err, kafka.ErrDiscontinued) {
		if err := s.join(ctx); err != nil {
			return err
		}
		return s.lose(Trimmed, behind)
	}
	if err != nil {
		return err
	}
	if err := s.join(ctx); err != nil {
		return err
	}
	joined := s.at
	if joined.Topic != behind.Topic || joined.Partitions != behind.Partitions {
		return s.lose(LogChanged, behind)
	}
	s.at = Position{
		Topic: behind.Topic, Partitions: behind.Partitions, SinceUS: behind.SinceUS, Next: maps.Clone(joined.Next),
	}
	for p := range joined.Next {
		if next, was := behind.Next[p]; was { // else it is one that was not needed then
			s.at.Next[p] = next
		}
	}
	err = s.readUpTo(ctx, joined.Next, emit)
	if errors.Is(err, kafka.ErrDiscontinued) {
		s.at = joined // the shared tail has it: to join again would be to hear everything twice
		return s.lose(Trimmed, behind)
	}
	return err
}

// lose notes that what came after a position is lost to the stream, which has joined.
func (s *Stream) lose(reason string, behind Position) error {
	s.missed, s.at.SinceUS = reason, behind.SinceUS
	s.hub.metrics.resumed.WithLabelValues(reason).Inc()
	return nil
}

// readUpTo sends what is in the log from the stream's position to the offsets.
func (s *Stream) readUpTo(ctx context.Context, ends map[int32]int64, emit Emit) error {
	for idle := 0; ; {
		from := s.behind(ends)
		if len(from) == 0 {
			return nil
		}
		if err := s.await(ctx, emit); err != nil {
			return err
		}
		err := s.turn(ctx, ends, emit)
		s.hub.turns.Release(1)
		if err != nil {
			return err
		}
		if idle++; !maps.Equal(from, s.behind(ends)) {
			idle = 0
		}
		if idle == idleTurns {
			return errAway(errors.New("the log gives nothing of what is there"))
		}
	}
}

// behind returns where to read from, by partition that is not read up to the end.
func (s *Stream) behind(ends map[int32]int64) map[int32]int64 {
	from := map[int32]int64{}
	for p, end := range ends {
		if s.at.Next[p] < end {
			from[p] = s.at.Next[p]
		}
	}
	return from
}

// await waits for a turn.
func (s *Stream) await(ctx context.Context, emit Emit) error {
	for {
		limited, cancel := context.WithTimeout(ctx, signOfLife)
		err := s.hub.turns.Acquire(limited, 1)
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
		if err := emit(nil); err != nil {
			return err
		}
	}
}

// turn reads for a while, or up to the ends.
func (s *Stream) turn(ctx context.Context, ends map[int32]int64, emit Emit) error {
	tail, err := s.hub.deps.Log.TailPoints(s.behind(ends), turnBytes)
	if err != nil {
		return errAway(err)
	}
	defer tail.Close()
	own := &subscriber{workspace: s.sub.workspace, selector: s.sub.selector, queue: newQueue(nil)}
	router := newRouter(s.hub.deps.Sources, s.hub.metrics, s.hub.log, mostRememberedBy)
	router.add(own)
	for began := time.Now(); time.Since(began) < turnTime && len(s.behind(ends)) > 0; {
		limited, cancel := context.WithTimeout(ctx, turnTime)
		records, err := tail.Poll(limited, turnRecords)
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, kafka.ErrDiscontinued):
			return err
		}
		if err := s.replay(ctx, router, own, below(records, ends), emit); err != nil {
			return err
		}
	}
	return nil
}

// below keeps the records below the ends: those from there on come by the queue.
func below(records []*kgo.Record, ends map[int32]int64) []*kgo.Record {
	kept := records[:0]
	for _, record := range records {
		if record.Offset < ends[record.Partition] {
			kept = append(kept, record)
		}
	}
	return kept
}

// replay sends what the records have for the stream, and raises its position.
func (s *Stream) replay(ctx context.Context, router *router, own *subscriber, records []*kgo.Record, emit Emit) error {
	router.scan(records)
	if err := router.find(ctx); err != nil {
		return err
	}
	router.deliver()
	if list, _ := own.queue.take(); len(list) > 0 {
		if err := emit(list); err != nil {
			return err
		}
	}
	for _, record := range records {
		s.at.Next[record.Partition] = max(s.at.Next[record.Partition], record.Offset+1)
	}
	return nil
}
