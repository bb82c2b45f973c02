package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// idlePoll is how long an Assignment waits for records before it looks whether the
// log still has those that it waits for.
const idlePoll = 2 * time.Second

// Span is a range of a partition's offsets, To exclusive.
type Span struct{ From, To int64 }

// AssignOptions say what is read by assignment.
type AssignOptions struct {
	Topic      string // full name
	Name       string // of the reader, for the brokers' logs
	Spans      map[int32]Span
	FetchBytes int32 // most bytes of one fetch of one broker
}

// Assignment reads ranges of a topic's partitions once, outside of any group: it
// commits nothing and moves nobody's offsets. Poll belongs to one goroutine.
type Assignment struct {
	client *kgo.Client
	parent *Client
	topic  string
	left   map[int32]Span // partitions that are not at their end, From is the next offset

	mu   sync.Mutex
	gaps map[int32][]Span // what the log had no more, in order
}

// Assign begins to read. Ranges must be within the log as it is now, or was: what
// retention took meanwhile is counted as trimmed.
func (c *Client) Assign(o AssignOptions) (*Assignment, error) {
	a := &Assignment{parent: c, topic: o.Topic, left: map[int32]Span{}, gaps: map[int32][]Span{}}
	offsets := map[int32]kgo.Offset{}
	for p, span := range o.Spans {
		if span.From < span.To {
			a.left[p] = span
			offsets[p] = kgo.NewOffset().At(span.From)
		}
	}
	if len(offsets) == 0 {
		return a, nil
	}
	var err error
	a.client, err = kgo.NewClient(append(c.opts.common("livegraph-"+o.Name, dialTimeout),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{o.Topic: offsets}),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), // where the log begins later than the range
		kgo.FetchMaxBytes(o.FetchBytes),
		kgo.FetchMaxPartitionBytes(max(o.FetchBytes/4, minPartitionFetch)),
		kgo.FetchMaxWait(fetchMaxWait),
		kgo.MaxConcurrentFetches(1), // what is fetched ahead is bounded by one fetch a broker
	)...)
	if err != nil {
		return nil, fmt.Errorf("kafka: reading %s: %w", o.Topic, err)
	}
	return a, nil
}

// Poll waits for records of the ranges and gives at most so many, each partition's
// in order. io.EOF: all ranges are read. It may give none and no error. An
// ErrDiscontinued says that the offsets mean something else by now.
func (a *Assignment) Poll(ctx context.Context, most int) ([]*kgo.Record, error) {
	if len(a.left) == 0 {
		return nil, io.EOF
	}
	waiting, cancel := context.WithTimeout(ctx, idlePoll)
	defer cancel()
	fetches := a.client.PollRecords(waiting, most)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var records []*kgo.Record
	var broken error
	fetches.EachRecord(func(r *kgo.Record) {
		if keep, err := a.see(r); err != nil {
			broken = err
		} else if keep {
			records = append(records, r)
		}
	})
	if broken == nil {
		broken = fetchFailure(fetches)
	}
	switch {
	case len(records) > 0:
		return records, nil // a failure comes again
	case broken != nil:
		return nil, broken
	}
	return nil, a.lookWhetherGone(ctx)
}

// see takes a record up and reports whether it is of its range.
func (a *Assignment) see(r *kgo.Record) (keep bool, err error) {
	span, ok := a.left[r.Partition]
	switch {
	case !ok:
		return false, nil // of before the partition was left
	case r.Offset < span.From:
		return false, NewDiscontinuity(r.Partition, r.Offset, fmt.Errorf(
			"offset %d was next and %d came", span.From, r.Offset,
		))
	case r.Offset >= span.To:
		a.miss(r.Partition, span)
		a.leave(r.Partition)
		return false, nil
	}
	a.miss(r.Partition, Span{span.From, r.Offset})
	span.From = r.Offset + 1
	a.left[r.Partition] = span
	if span.From == span.To {
		a.leave(r.Partition)
	}
	return true, nil
}

func (a *Assignment) leave(partition int32) {
	delete(a.left, partition)
	a.client.RemoveConsumePartitions(map[string][]int32{a.topic: {partition}})
}

// lookWhetherGone asks, when no records come, whether the log still has those that
// are waited for.
func (a *Assignment) lookWhetherGone(ctx context.Context) error {
	if len(a.left) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	bounds, err := a.parent.bounds(ctx, a.topic)
	if err != nil {
		return err
	}
	for p, span := range maps.Clone(a.left) {
		log, ok := bounds[p]
		switch {
		case !ok:
			return NewDiscontinuity(p, -1, errors.New("the partition is gone"))
		case log.To < span.To:
			return NewDiscontinuity(p, log.To, fmt.Errorf("the log ends at %d, and %d was there before", log.To, span.To-1))
		case log.From >= span.To:
			a.miss(p, span)
			a.leave(p)
		case log.From > span.From:
			a.miss(p, Span{span.From, log.From})
			span.From = log.From
			a.left[p] = span
		}
	}
	return nil
}

func (a *Assignment) miss(partition int32, gap Span) {
	if gap.From >= gap.To {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gaps[partition] = append(a.gaps[partition], gap)
}

// Trimmed returns how many records of a partition below an offset the log had no more.
// It may be called by any goroutine.
func (a *Assignment) Trimmed(partition int32, below int64) (n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, gap := range a.gaps[partition] {
		n += max(0, min(gap.To, below)-gap.From)
	}
	return n
}

// Close ends the reading.
func (a *Assignment) Close() {
	if a.client != nil {
		a.client.CloseAllowingRebalance()
	}
}

// bounds returns where the partitions of a topic, by its full name, begin and end.
func (c *Client) bounds(ctx context.Context, name string) (map[int32]Span, error) {
	starts, err := c.admin.ListStartOffsets(ctx, name)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return nil, errAsking("reading where partitions start", err)
	}
	ends, err := c.admin.ListEndOffsets(ctx, name)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, errAsking("reading where partitions end", err)
	}
	bounds := map[int32]Span{}
	for p, start := range starts[name] {
		if end, ok := ends.Lookup(name, p); ok {
			bounds[p] = Span{From: start.Offset, To: end.Offset}
		}
	}
	return bounds, nil
}

// OffsetsAt returns, for each partition of a topic, named with or without the prefix,
// the first offset whose record was produced at a time or later; the end where there
// is none.
func (c *Client) OffsetsAt(ctx context.Context, name string, at time.Time) (map[int32]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	name = c.fullName(name)
	// Below zero Kafka has numbers for other questions.
	listed, err := c.admin.ListOffsetsAfterMilli(ctx, max(at.UnixMilli(), 0), name)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return nil, errAsking("reading the offsets of a time", err)
	}
	offsets := map[int32]int64{}
	for p, o := range listed[name] {
		offsets[p] = o.Offset
	}
	return offsets, nil
}
