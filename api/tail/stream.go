package tail

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// Opening says what a stream is to be.
type Opening struct {
	Workspace, Key uuid.UUID
	Filter         registry.SeriesFilter
	// After is where the reader was; nil: it begins with what comes from now on.
	After *Position
}

// Stream is what one reader gets. It belongs to one goroutine.
type Stream struct {
	hub    *Hub
	key    uuid.UUID
	sub    *subscriber
	at     Position
	ends   map[int32]int64 // up to where it is behind; nil: it is not
	missed string
}

// Open opens a stream; Close ends it. It is Unavailable when too many are open or the
// log cannot be read. A stream with a position is to CatchUp first.
func (h *Hub) Open(ctx context.Context, o Opening) (*Stream, error) {
	if err := h.admit(o.Workspace, o.Key); err != nil {
		return nil, err
	}
	s := &Stream{hub: h, key: o.Key, sub: &subscriber{
		workspace: o.Workspace, selector: newSelector(o.Filter), queue: newQueue(&h.budget)}}
	if err := s.begin(ctx, o.After); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Stream) begin(ctx context.Context, after *Position) error {
	if after == nil {
		return s.join(ctx)
	}
	state, of, err := s.hub.observe(ctx)
	if err != nil {
		return errAway(err)
	}
	need := s.sub.selector.partitions(of)
	if s.missed = s.gap(after, state, need); s.missed == "" {
		s.at, s.ends = *after, map[int32]int64{}
		s.at.Next = map[int32]int64{}
		for _, p := range need {
			s.at.Next[p], s.ends[p] = after.Next[p], state.State[p].End
		}
		s.hub.metrics.resumed.WithLabelValues(resumed).Inc()
		return nil
	}
	s.hub.metrics.resumed.WithLabelValues(s.missed).Inc()
	if err := s.join(ctx); err != nil {
		return err
	}
	s.at.SinceUS = after.SinceUS
	return nil
}

// resumed is the outcome when what was missed is read again.
const resumed = "resumed"

// gap reports why what came after a position cannot be read again; empty: it can.
func (s *Stream) gap(after *Position, state kafka.TopicState, need []int32) string {
	if after.Topic != state.ID || after.Partitions != state.Partitions {
		return LogChanged
	}
	records := int64(0)
	for _, p := range need {
		next, known := after.Next[p]
		switch have := state.State[p]; {
		case !known || next > have.End:
			return LogChanged
		case next < have.Start:
			return Trimmed
		default:
			records += have.End - next
		}
	}
	if records > s.hub.deps.Limits.ReplayRecords {
		return TooFarBehind
	}
	return ""
}

// join has the shared tail take the stream in, where that is.
func (s *Stream) join(ctx context.Context) error {
	if err := s.hub.join(ctx, s.sub); err != nil {
		return err
	}
	topic := s.sub.topic
	s.ends = nil
	s.at = Position{Topic: topic.ID, Partitions: topic.Partitions, Next: maps.Clone(s.sub.from)}
	s.since(time.Now().UnixMicro())
	return nil
}

// Missed reports why the stream could not go on where its reader was: one of the
// reasons. The reader has what was received before Position's SinceUS and what comes
// from now on. Empty: nothing is missing.
func (s *Stream) Missed() string { return s.missed }

// Ready gets a value when there is something to take.
func (s *Stream) Ready() <-chan struct{} { return s.sub.queue.ready }

// Take returns what has come since, and why the stream is dropped, if it is: then
// nothing follows. What was taken before is no longer held.
func (s *Stream) Take() (list []Delivery, dropped string) {
	list, dropped = s.sub.queue.take()
	// The shared tail may come by what CatchUp, which reads up to the end, has sent.
	list = slices.DeleteFunc(list, func(d Delivery) bool { return d.next <= s.at.Next[d.partition] })
	return list, dropped
}

// Passed notes that a delivery was sent.
func (s *Stream) Passed(d *Delivery) {
	s.at.Next[d.partition] = d.next
	s.since(d.receivedUS)
}

// sinceMargin is by how much a record may be in the log later than others that were
// received after it: the longest wait for Kafka, and what clocks differ by.
const sinceMargin = 10 * time.Second

// since raises the time of receipt up to which nothing is missing; not past when the topic
// was seen, for others may send to partitions that were added later.
func (s *Stream) since(receivedUS int64) {
	receivedUS = min(receivedUS, s.hub.deps.Log.PointsSeen().UnixMicro())
	s.at.SinceUS = max(s.at.SinceUS, receivedUS-sinceMargin.Microseconds())
}

// Settle raises the position past what had nothing for the stream, when all that had
// something was sent.
func (s *Stream) Settle() {
	at, settled := time.Now(), s.hub.settled(s.at.Next)
	// In this order: what the tail had read then is in the queue by now.
	if s.sub.queue.drained() {
		s.at.Next = settled
		s.since(at.UnixMicro())
	}
}

// Position is where the stream is. It stays valid.
func (s *Stream) Position() Position { return s.at }

// Close ends the stream.
func (s *Stream) Close() {
	s.hub.leave(s.sub)
	s.sub.queue.close()
	s.hub.discharge(s.sub.workspace, s.key)
}
