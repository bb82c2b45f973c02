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

// OpenOptions are the parameters of a stream.
type OpenOptions struct {
	Workspace, Key uuid.UUID
	Filter         registry.SeriesFilter
	// After is the position of the reader; nil: the stream begins at the end of the log.
	After *Position
}

// Stream is the stream of one reader. It must be used by one goroutine.
type Stream struct {
	hub      *Hub
	key      uuid.UUID
	sub      *subscriber
	position Position
	ends     map[int32]int64 // offsets up to which CatchUp reads; nil: the stream has joined
	missed   string
}

// Open opens a stream. The caller must Close it. Open returns an Unavailable error if too many
// streams are open or the log cannot be read. A stream with a position must CatchUp first.
func (h *Hub) Open(ctx context.Context, o OpenOptions) (*Stream, error) {
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
	state, topic, err := s.hub.observe(ctx)
	if err != nil {
		return errUnavailable(err)
	}
	need := s.sub.selector.partitions(topic)
	if s.missed = s.missedReason(after, state, need); s.missed == "" {
		s.position, s.ends = *after, map[int32]int64{}
		s.position.Next = map[int32]int64{}
		for _, p := range need {
			s.position.Next[p], s.ends[p] = after.Next[p], state.State[p].End
		}
		s.hub.metrics.resumed.WithLabelValues(resumed).Inc()
		return nil
	}
	s.hub.metrics.resumed.WithLabelValues(s.missed).Inc()
	if err := s.join(ctx); err != nil {
		return err
	}
	s.position.SinceUS = after.SinceUS
	return nil
}

// resumed is the outcome if the missed records can be read.
const resumed = "resumed"

// missedReason returns why the records after a position cannot be read, or "" if they can.
func (s *Stream) missedReason(after *Position, state kafka.TopicState, need []int32) string {
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

// join adds the stream to the shared tail, at the tail's position.
func (s *Stream) join(ctx context.Context) error {
	if err := s.hub.join(ctx, s.sub); err != nil {
		return err
	}
	topic := s.sub.topic
	s.ends = nil
	s.position = Position{Topic: topic.ID, Partitions: topic.Partitions, Next: maps.Clone(s.sub.from)}
	s.raiseSince(time.Now().UnixMicro())
	return nil
}

// Missed returns the reason for which the stream could not continue at the position of its
// reader, or "" if nothing is missing. If there is a reason, the reader has what was received
// before Position's SinceUS, and receives what arrives from now on.
func (s *Stream) Missed() string { return s.missed }

// Ready returns a channel that receives a value when Take has something to return.
func (s *Stream) Ready() <-chan struct{} { return s.sub.queue.ready }

// Receive returns the queued deliveries, and the reason if the stream is dropped: then nothing
// follows. It releases the memory of the deliveries of the previous call.
func (s *Stream) Receive() (list []Delivery, dropped string) {
	list, dropped = s.sub.queue.take()
	// CatchUp reads up to the end, so the shared tail may read records that CatchUp has sent.
	list = slices.DeleteFunc(list, func(d Delivery) bool { return d.next <= s.position.Next[d.partition] })
	return list, dropped
}

// MarkSent records that a delivery was sent.
func (s *Stream) MarkSent(d *Delivery) {
	s.position.Next[d.partition] = d.next
	s.raiseSince(d.receivedUS)
}

// sinceMargin is the maximum time by which a record can be appended to the log after
// records that were received later: the maximum wait for Kafka, and the difference of
// clocks.
const sinceMargin = 10 * time.Second

// raiseSince raises the time of receipt up to which nothing is missing. It does not exceed
// PointsObservedAt, because other processes may send to partitions that were added later.
func (s *Stream) raiseSince(receivedUS int64) {
	receivedUS = min(receivedUS, s.hub.deps.Log.PointsObservedAt().UnixMicro())
	s.position.SinceUS = max(s.position.SinceUS, receivedUS-sinceMargin.Microseconds())
}

// Advance raises the position past records that had nothing for the stream, if all
// deliveries were sent.
func (s *Stream) Advance() {
	now, published := time.Now(), s.hub.published(s.position.Next)
	// The order is important: what the tail had published is in the queue by now.
	if s.sub.queue.drained() {
		s.position.Next = published
		s.raiseSince(now.UnixMicro())
	}
}

// Position returns the position of the stream. It remains valid after Close.
func (s *Stream) Position() Position { return s.position }

// Close closes the stream.
func (s *Stream) Close() {
	s.hub.leave(s.sub)
	s.sub.queue.close()
	s.hub.release(s.sub.workspace, s.key)
}
