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

// idlePoll is how long an Assignment waits for records before it checks whether the log still
// contains them.
const idlePoll = 2 * time.Second

// Span is a range of a partition's offsets, To exclusive.
type Span struct{ From, To int64 }

// AssignOptions configures an Assignment.
type AssignOptions struct {
	Topic      string // full name
	Name       string // reader name for the brokers' logs
	Spans      map[int32]Span
	FetchBytes int32 // maximum bytes of one fetch from one broker
}

// Assignment reads ranges of a topic's partitions once, without a consumer group: it commits no
// offsets. Only one goroutine may call Poll.
type Assignment struct {
	client    *kgo.Client
	parent    *Client
	topic     string
	options   AssignOptions
	remaining map[int32]Span // unread ranges by partition; From is the next offset
	watch     *stallWatch

	mu   sync.Mutex
	gaps map[int32][]Span // offsets that the log no longer contained, in order
}

// Assign starts reading. Ranges must be within the log as it is or was: records that retention
// has removed are counted as trimmed.
func (c *Client) Assign(o AssignOptions) (*Assignment, error) {
	a := &Assignment{
		parent: c, topic: o.Topic, options: o, remaining: map[int32]Span{}, watch: c.newStallWatch(o.Topic),
		gaps: map[int32][]Span{},
	}
	for p, span := range o.Spans {
		if span.From < span.To {
			a.remaining[p] = span
		}
	}
	if len(a.remaining) == 0 {
		return a, nil
	}
	if err := a.connect(); err != nil {
		return nil, err
	}
	return a, nil
}

// connect creates a client that reads the remaining ranges. After an error, the client is unchanged.
func (a *Assignment) connect() error {
	offsets := map[int32]kgo.Offset{}
	for p, span := range a.remaining {
		offsets[p] = kgo.NewOffset().At(span.From)
		a.watch.set(p, span.From)
	}
	o := &a.options
	client, err := kgo.NewClient(append(a.parent.opts.common("livegraph-"+o.Name, dialTimeout),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{o.Topic: offsets}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), // see replaceOutOfRange
		kgo.FetchMaxBytes(o.FetchBytes),
		kgo.FetchMaxPartitionBytes(max(o.FetchBytes/4, minPartitionFetch)),
		kgo.FetchMaxWait(fetchMaxWait),
		kgo.MaxConcurrentFetches(1), // limits prefetching to one fetch per broker
	)...)
	if err != nil {
		return fmt.Errorf("kafka: reading %s: %w", o.Topic, err)
	}
	a.client = client
	return nil
}

// Poll waits for records of the ranges and returns at most maxRecords, in order within each
// partition. It returns io.EOF when all ranges are read. It may return no records and no error.
// ErrDiscontinued means that the offsets now refer to other records.
func (a *Assignment) Poll(ctx context.Context, maxRecords int) ([]*kgo.Record, error) {
	if len(a.remaining) == 0 {
		return nil, io.EOF
	}
	pollCtx, cancel := context.WithTimeout(ctx, idlePoll)
	defer cancel()
	began := time.Now()
	fetches := a.client.PollRecords(pollCtx, maxRecords)
	a.watch.observe(fetches, time.Since(began))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var records []*kgo.Record
	var failure error
	fetches.EachRecord(func(r *kgo.Record) {
		if keep, err := a.accept(r); err != nil {
			failure = err
		} else if keep {
			records = append(records, r)
		}
	})
	if failure == nil {
		failure = fetchFailure(fetches)
	}
	switch {
	case len(records) > 0:
		return records, nil // the next Poll returns a persistent failure
	case failure != nil:
		return nil, a.replaceOutOfRange(ctx, failure)
	}
	return nil, a.checkProgress(ctx)
}

// accept advances the range of a record's partition and reports whether the record is in it.
func (a *Assignment) accept(r *kgo.Record) (keep bool, err error) {
	span, ok := a.remaining[r.Partition]
	switch {
	case !ok:
		return false, nil // fetched before the partition was removed
	case r.Offset < span.From:
		return false, fmt.Errorf("%w: offset %d came from partition %d", ErrOutOfRange, r.Offset, r.Partition)
	case r.Offset >= span.To:
		a.addGap(r.Partition, span)
		a.removePartition(r.Partition)
		return false, nil
	}
	a.addGap(r.Partition, Span{span.From, r.Offset})
	span.From = r.Offset + 1
	a.remaining[r.Partition] = span
	if span.From == span.To {
		a.removePartition(r.Partition)
	}
	return true, nil
}

// removePartition stops reading a partition. It pauses it, because removing it from the client would
// discard what is fetched of all partitions and restart the client's fetch loop.
func (a *Assignment) removePartition(partition int32) {
	delete(a.remaining, partition)
	a.watch.remove(partition)
	a.client.PauseFetchPartitions(map[string][]int32{a.topic: {partition}})
}

// replaceOutOfRange handles the failure of a poll. If a broker responded that its log does not contain the next
// offset, the first records were removed, or the broker is not the leader: the client is replaced.
func (a *Assignment) replaceOutOfRange(ctx context.Context, failure error) error {
	failure = a.parent.confirmed(ctx, a.topic, failure)
	if !errors.Is(failure, ErrOutOfRange) {
		return failure
	}
	bounds, err := a.parent.confirmedBounds(ctx, a.topic)
	if err != nil {
		return err
	}
	if err := a.skipTrimmed(bounds); err != nil || len(a.remaining) == 0 {
		return err
	}
	return a.replaceClient(failure)
}

// replaceClient replaces a client that has stalled or read from a broker that is not the leader.
func (a *Assignment) replaceClient(cause error) error {
	old := a.client
	if err := a.connect(); err != nil {
		return err
	}
	a.parent.drop(old, cause)
	return nil
}

// checkProgress skips offsets that the log no longer contains, and replaces the client if it has
// stopped fetching. Poll calls it when no records arrive.
func (a *Assignment) checkProgress(ctx context.Context) error {
	if len(a.remaining) == 0 {
		return nil
	}
	boundsCtx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	bounds, err := a.parent.bounds(boundsCtx, a.topic)
	if err != nil {
		a.watch.reset()
		return err
	}
	if a.endsEarly(bounds) {
		if bounds, err = a.parent.confirmedBounds(ctx, a.topic); err != nil {
			return err
		}
	}
	if err := a.skipTrimmed(bounds); err != nil {
		return err
	}
	stall := a.watch.check(ctx, bounds)
	if stall == nil {
		return nil
	}
	return a.replaceClient(stall)
}

// endsEarly reports whether the log of a partition ends before its range.
func (a *Assignment) endsEarly(bounds map[int32]Span) bool {
	for p, span := range a.remaining {
		if bounds[p].To < span.To {
			return true
		}
	}
	return false
}

// skipTrimmed skips offsets that the log no longer contains.
func (a *Assignment) skipTrimmed(bounds map[int32]Span) error {
	for p, span := range maps.Clone(a.remaining) {
		log, ok := bounds[p]
		switch {
		case !ok:
			return NewDiscontinuity(p, -1, errors.New("the partition no longer exists"))
		case log.To < span.To:
			return NewDiscontinuity(p, log.To, fmt.Errorf("the log ends at %d, but contained %d before", log.To, span.To-1))
		case log.From >= span.To:
			a.addGap(p, span)
			a.removePartition(p)
		case log.From > span.From:
			a.addGap(p, Span{span.From, log.From})
			span.From = log.From
			a.remaining[p] = span
		}
	}
	return nil
}

func (a *Assignment) addGap(partition int32, gap Span) {
	if gap.From >= gap.To {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gaps[partition] = append(a.gaps[partition], gap)
}

// Trimmed returns how many records of a partition below an offset the log no longer contained.
// It is safe for concurrent use.
func (a *Assignment) Trimmed(partition int32, below int64) (n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, gap := range a.gaps[partition] {
		n += max(0, min(gap.To, below)-gap.From)
	}
	return n
}

// Close stops reading.
func (a *Assignment) Close() {
	if a.client != nil {
		a.client.CloseAllowingRebalance()
	}
}

// bounds returns the start and end offsets of each partition of a topic, given by its full name.
func (c *Client) bounds(ctx context.Context, name string) (map[int32]Span, error) {
	starts, err := c.admin.ListStartOffsets(ctx, name)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return nil, errRequest("reading the partitions' start offsets", err)
	}
	ends, err := c.admin.ListEndOffsets(ctx, name)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, errRequest("reading the partitions' end offsets", err)
	}
	bounds := map[int32]Span{}
	for p, start := range starts[name] {
		if end, ok := ends.Lookup(name, p); ok {
			bounds[p] = Span{From: start.Offset, To: end.Offset}
		}
	}
	return bounds, nil
}

// OffsetsAt returns, for each partition of a topic, the first offset whose record was produced at
// or after the given time, or the end offset if there is none. The topic is named with or without
// the prefix.
func (c *Client) OffsetsAt(ctx context.Context, name string, at time.Time) (map[int32]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	name = c.fullName(name)
	// Kafka gives negative timestamps another meaning.
	listed, err := c.admin.ListOffsetsAfterMilli(ctx, max(at.UnixMilli(), 0), name)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return nil, errRequest("reading the offsets of a time", err)
	}
	offsets := map[int32]int64{}
	for p, o := range listed[name] {
		offsets[p] = o.Offset
	}
	return offsets, nil
}
