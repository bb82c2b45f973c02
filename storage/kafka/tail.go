package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// tailMaxWait is how long a broker may hold a fetch without new records. A partition that is added
// during a fetch is only fetched afterwards.
const tailMaxWait = 100 * time.Millisecond

// Tail reads partitions of topic points from given offsets on, without a consumer group: it commits
// no offsets and does not affect other consumers. Only one goroutine may use it.
type Tail struct {
	parent     *Client
	client     *kgo.Client
	topic      string
	fetchBytes int32
	watch      *stallWatch
}

// TailPoints starts reading partitions of topic points, each from its offset on. A broker's response
// has at most about fetchBytes.
func (c *Client) TailPoints(from map[int32]int64, fetchBytes int32) (*Tail, error) {
	t := &Tail{parent: c, topic: c.points.name, fetchBytes: fetchBytes, watch: c.newStallWatch(c.points.name)}
	if err := t.connect(from); err != nil {
		return nil, err
	}
	return t, nil
}

// connect creates the client. After an error, the client is unchanged.
func (t *Tail) connect(from map[int32]int64) error {
	client, err := kgo.NewClient(append(t.parent.opts.common("livegraph-tail", dialTimeout),
		kgo.ConsumePartitions(t.offsets(from)),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), // never read from another offset than requested
		kgo.FetchMaxBytes(t.fetchBytes),
		kgo.FetchMaxPartitionBytes(max(t.fetchBytes/4, minPartitionFetch)),
		kgo.FetchMaxWait(tailMaxWait),
		kgo.KeepControlRecords(), // so that no offset is missing
	)...)
	if err != nil {
		return fmt.Errorf("kafka: tailing %s: %w", t.topic, err)
	}
	t.client = client
	t.track(from)
	return nil
}

func (t *Tail) track(from map[int32]int64) {
	for partition, offset := range from {
		t.watch.set(partition, offset)
	}
}

func (t *Tail) offsets(from map[int32]int64) map[string]map[int32]kgo.Offset {
	offsets := make(map[int32]kgo.Offset, len(from))
	for partition, offset := range from {
		offsets[partition] = kgo.NewOffset().At(offset)
	}
	return map[string]map[int32]kgo.Offset{t.topic: offsets}
}

// Add starts reading more partitions.
func (t *Tail) Add(from map[int32]int64) {
	t.track(from)
	t.client.AddConsumePartitions(t.offsets(from))
}

// Remove stops reading partitions. Later calls of Poll return none of their records.
func (t *Tail) Remove(partitions []int32) {
	t.watch.remove(partitions...)
	t.client.RemoveConsumePartitions(map[string][]int32{t.topic: partitions})
}

// Poll waits for records, for some seconds or until ctx is done, and returns at most maxRecords, with
// those of a partition contiguous. ErrDiscontinued means that the log was replaced or no longer contains a requested
// offset; the Tail cannot be used afterwards. Other errors are temporary.
func (t *Tail) Poll(ctx context.Context, maxRecords int) ([]*kgo.Record, error) {
	fetches, err := t.watch.poll(ctx, t.client, maxRecords)
	switch {
	case errors.Is(err, ErrOutOfRange):
		err = t.confirmOutOfRange(ctx, err)
	case errors.Is(err, ErrStalled):
		err = t.replaceClient(err)
	}
	return fetches.Records(), err
}

// confirmOutOfRange returns an ErrDiscontinued if the log does not contain the next offsets. If the broker that
// responded so is not the leader, it replaces the client.
func (t *Tail) confirmOutOfRange(ctx context.Context, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), adminTimeout)
	defer cancel()
	bounds, err := t.parent.confirmedBounds(ctx, t.topic)
	if err != nil {
		return err
	}
	for partition, next := range t.watch.offsets() {
		if log := bounds[partition]; next < log.From || next > log.To {
			return NewDiscontinuity(partition, -1, cause)
		}
	}
	return t.replaceClient(cause)
}

// replaceClient replaces a client that has stalled or read from a broker that is not the leader.
func (t *Tail) replaceClient(cause error) error {
	old := t.client
	if err := t.connect(t.watch.offsets()); err != nil {
		return err
	}
	t.parent.drop(old, cause)
	return nil
}

// Close stops reading.
func (t *Tail) Close() { t.client.Close() }
