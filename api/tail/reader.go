package tail

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/platform/outage"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/kafka"
)

// pollTimeout is the maximum duration of a poll, and so the maximum delay until a change of
// the topic is detected.
const pollTimeout = 250 * time.Millisecond

// reader is the shared tail and its streams. Only the goroutine of Run uses it.
type reader struct {
	hub     *Hub
	router  *router
	tail    *kafka.Tail // nil: no stream is open
	topic   layout
	next    map[int32]int64 // next offset of each partition that is read
	outages outage.Log      // of polls
}

// processPending adds the streams that join and removes those that leave, and adjusts the
// partitions that are read.
func (r *reader) processPending(ctx context.Context) {
	joins, leaves := r.hub.takePending()
	for _, j := range joins {
		j.done <- r.addStream(ctx, j.stream)
	}
	for _, s := range leaves {
		r.router.remove(s)
	}
	if len(leaves) > 0 {
		r.removePartitions()
	}
}

// addStream adds a stream. It begins to read, from their ends, the partitions of the stream that
// are not read yet.
func (r *reader) addStream(ctx context.Context, s *subscriber) error {
	if r.tail == nil || !r.topic.complete() || !r.readsAll(s.selector.partitions(r.topic)) {
		if err := r.addPartitions(ctx, s); err != nil {
			return errUnavailable(err)
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

func (r *reader) readsAll(partitions []int32) bool {
	return !slices.ContainsFunc(partitions, func(p int32) bool { _, ok := r.next[p]; return !ok })
}

// observe reads the state and the layout of the topic. It drops all streams if the topic has
// changed.
func (r *reader) observe(ctx context.Context) (kafka.TopicState, error) {
	state, topic, err := r.hub.observe(ctx)
	if err != nil {
		return state, err
	}
	if r.tail != nil && topic.TopicInfo != r.topic.TopicInfo {
		r.dropAll()
	}
	r.topic = topic
	return state, nil
}

// addPartitions begins to read the partitions that a stream needs and that are not read yet, from
// their ends.
func (r *reader) addPartitions(ctx context.Context, s *subscriber) error {
	state, err := r.observe(ctx)
	if err != nil {
		return err
	}
	added := map[int32]int64{}
	for _, p := range s.selector.partitions(r.topic) {
		if _, have := r.next[p]; !have {
			added[p] = state.State[p].End
		}
	}
	if r.tail != nil {
		r.tail.Add(added)
	} else if r.tail, err = r.hub.deps.Log.TailPoints(added, tailBytes); err != nil {
		return err
	}
	maps.Copy(r.next, added)
	return nil
}

// removePartitions stops reading the partitions that no stream needs.
func (r *reader) removePartitions() {
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

// read polls the log once and puts the records into the queues.
func (r *reader) read(ctx context.Context) {
	if now := r.hub.deps.Log.PointsTopic(); now.Partitions != 0 && now != r.topic.TopicInfo {
		r.dropAll()
		return
	}
	pollCtx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	if !r.hub.beginPoll(cancel) {
		return
	}
	records, err := r.tail.Poll(pollCtx, pollRecords)
	if errors.Is(err, kafka.ErrDiscontinued) {
		r.hub.log.WarnContext(ctx, "streams of points end: the log is not what it was", "error", err)
		r.dropAll()
		return
	}
	r.outages.Note(ctx, r.hub.log, err)
	if len(records) == 0 {
		r.router.refresh(ctx)
		return
	}
	r.router.scan(r.newRecords(records))
	for r.router.resolveSources(ctx) != nil {
		if !r.waitRetry(ctx) {
			r.dropAll() // the records are not delivered, and no stream needs them
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

// newRecords returns the records that have not been read before and whose partition is still needed.
func (r *reader) newRecords(records []*kgo.Record) []*kgo.Record {
	return slices.DeleteFunc(slices.Clone(records), func(record *kgo.Record) bool {
		next, reading := r.next[record.Partition]
		return !reading || record.Offset < next
	})
}

// waitRetry waits before Postgres is queried again. It reports whether streams are still open:
// without Postgres, keys cannot be checked, so streams end.
func (r *reader) waitRetry(ctx context.Context) bool {
	return sleep.For(ctx, retryDelay) && r.hub.Streams() > 0
}

// dropAll drops all streams with LogChanged and closes the tail.
func (r *reader) dropAll() {
	for _, s := range r.router.subscribers() {
		r.router.remove(s)
		s.queue.drop(LogChanged)
		r.hub.metrics.dropped(LogChanged)
	}
	r.close()
}

// close closes the tail.
func (r *reader) close() {
	if r.tail != nil {
		r.tail.Close()
	}
	r.tail, r.topic = nil, layout{}
	clear(r.next)
}
