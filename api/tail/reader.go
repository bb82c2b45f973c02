package tail

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/kafka"
)

// pollLimit is how long a poll may take, and so how late a change of the topic is
// noticed.
const pollLimit = 250 * time.Millisecond

// reader is the shared tail with its streams: what belongs to the goroutine of Run.
type reader struct {
	hub    *Hub
	router *router
	tail   *kafka.Tail // nil: nobody reads
	topic  layout
	next   map[int32]int64 // of the partitions that are read
	silent bool            // for logging a failure once
}

// attend takes in who comes, lets go who leaves, and reads just the partitions that
// somebody needs.
func (r *reader) attend(ctx context.Context) {
	coming, going := r.hub.guests()
	for _, j := range coming {
		j.done <- r.takeIn(ctx, j.stream)
	}
	for _, s := range going {
		r.router.remove(s)
	}
	if len(going) > 0 {
		r.shrink()
	}
}

// takeIn begins to read for a stream what is not read yet, from its end on.
func (r *reader) takeIn(ctx context.Context, s *subscriber) error {
	if r.tail == nil || !r.topic.known() || !r.reads(s.selector.partitions(r.topic)) {
		if err := r.extend(ctx, s); err != nil {
			return errAway(err)
		}
	}
	s.topic, s.from = r.topic.TopicInfo, map[int32]int64{}
	for _, p := range s.selector.partitions(r.topic) {
		s.from[p] = r.next[p]
	}
	r.router.add(s)
	r.hub.publish(r.next)
	return nil
}

func (r *reader) reads(partitions []int32) bool {
	return !slices.ContainsFunc(partitions, func(p int32) bool { _, ok := r.next[p]; return !ok })
}

// observe asks where the partitions end.
func (r *reader) observe(ctx context.Context) (kafka.TopicState, error) {
	state, of, err := r.hub.observe(ctx)
	if err != nil {
		return state, err
	}
	if r.tail != nil && of.TopicInfo != r.topic.TopicInfo {
		r.endAll()
	}
	r.topic = of
	return state, nil
}

// extend reads the further partitions that a stream needs, from their ends on.
func (r *reader) extend(ctx context.Context, s *subscriber) error {
	state, err := r.observe(ctx)
	if err != nil {
		return err
	}
	further := map[int32]int64{}
	for _, p := range s.selector.partitions(r.topic) {
		if _, have := r.next[p]; !have {
			further[p] = state.State[p].End
		}
	}
	if r.tail != nil {
		r.tail.Add(further)
	} else if r.tail, err = r.hub.deps.Log.TailPoints(further, tailBytes); err != nil {
		return err
	}
	maps.Copy(r.next, further)
	return nil
}

// shrink ends the reading of what nobody needs any more.
func (r *reader) shrink() {
	needed := map[int32]bool{}
	streams := r.router.subscribers()
	for _, s := range streams {
		for p := range s.from {
			needed[p] = true
		}
	}
	if len(streams) == 0 {
		r.close()
		return
	}
	var unneeded []int32
	for p := range r.next {
		if !needed[p] {
			unneeded = append(unneeded, p)
			delete(r.next, p)
		}
	}
	if r.tail != nil && len(unneeded) > 0 {
		r.tail.Remove(unneeded)
	}
}

// read takes what has come and puts it into the queues.
func (r *reader) read(ctx context.Context) {
	if now := r.hub.deps.Log.PointsTopic(); now.Partitions != 0 && now != r.topic.TopicInfo {
		r.endAll()
		return
	}
	pollCtx, cancel := context.WithTimeout(ctx, pollLimit)
	defer cancel()
	if !r.hub.polling(cancel) {
		return
	}
	records, err := r.tail.Poll(pollCtx, pollRecords)
	if errors.Is(err, kafka.ErrDiscontinued) {
		r.hub.log.WarnContext(ctx, "streams of points end: the log is not what it was", "error", err)
		r.endAll()
		return
	}
	r.complain(ctx, err)
	if len(records) == 0 {
		r.router.refresh(ctx)
		return
	}
	r.router.scan(r.expected(records))
	for r.router.find(ctx) != nil {
		if !r.wait(ctx) {
			r.endAll() // what was read is not delivered, and nobody is there for it
			return
		}
	}
	r.router.refresh(ctx)
	r.router.deliver()
	for _, record := range records {
		if _, reading := r.next[record.Partition]; reading {
			r.next[record.Partition] = max(r.next[record.Partition], record.Offset+1)
		}
	}
	r.hub.publish(r.next)
}

// expected leaves out what was there before, or is of a partition that nobody needs.
func (r *reader) expected(records []*kgo.Record) []*kgo.Record {
	return slices.DeleteFunc(slices.Clone(records), func(record *kgo.Record) bool {
		next, reading := r.next[record.Partition]
		return !reading || record.Offset < next
	})
}

// wait is the pause before Postgres is asked again. It reports whether there is still
// somebody to ask for: without Postgres no key can be checked, so streams end.
func (r *reader) wait(ctx context.Context) bool {
	return sleep.For(ctx, failurePace) && r.hub.Streams() > 0
}

// complain logs that the log cannot be read, when that is news.
func (r *reader) complain(ctx context.Context, err error) {
	if failed := err != nil; failed != r.silent {
		if r.silent = failed; failed {
			r.hub.log.WarnContext(ctx, "streams of points wait for Kafka", "error", err)
		}
	}
}

// endAll drops every stream, since the log is not what it was for them, and ends the
// tail.
func (r *reader) endAll() {
	for _, s := range r.router.subscribers() {
		r.router.remove(s)
		s.queue.end(LogChanged)
		r.hub.metrics.dropped(LogChanged)
	}
	r.close()
}

// close ends the tail.
func (r *reader) close() {
	if r.tail != nil {
		r.tail.Close()
	}
	r.tail, r.topic = nil, layout{}
	clear(r.next)
}
