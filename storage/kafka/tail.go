package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// tailMaxWait is how long a broker may hold a fetch of a Tail that has nothing to
// bring: a partition that is added meanwhile waits for its end.
const tailMaxWait = 100 * time.Millisecond

// Tail reads partitions of topic points from given offsets on, as no member of any
// group: nothing is committed, and nobody is held up. It belongs to one goroutine.
type Tail struct {
	client *kgo.Client
	topic  string
}

// TailPoints begins to read partitions of topic points, each from its offset on. A
// broker's answer has at most about fetchBytes.
func (c *Client) TailPoints(from map[int32]int64, fetchBytes int32) (*Tail, error) {
	t := &Tail{topic: c.points.name}
	client, err := kgo.NewClient(append(c.opts.common("livegraph-tail", dialTimeout),
		kgo.ConsumePartitions(t.offsets(from)),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), // never another offset than asked for
		kgo.FetchMaxBytes(fetchBytes),
		kgo.FetchMaxPartitionBytes(max(fetchBytes/4, minPartitionFetch)),
		kgo.FetchMaxWait(tailMaxWait),
		kgo.KeepControlRecords(), // so that no offset is missing
	)...)
	if err != nil {
		return nil, fmt.Errorf("kafka: tailing %s: %w", t.topic, err)
	}
	t.client = client
	return t, nil
}

func (t *Tail) offsets(from map[int32]int64) map[string]map[int32]kgo.Offset {
	offsets := make(map[int32]kgo.Offset, len(from))
	for partition, offset := range from {
		offsets[partition] = kgo.NewOffset().At(offset)
	}
	return map[string]map[int32]kgo.Offset{t.topic: offsets}
}

// Add reads further partitions.
func (t *Tail) Add(from map[int32]int64) { t.client.AddConsumePartitions(t.offsets(from)) }

// Remove ends the reading of partitions. None of their records is given by a later
// Poll.
func (t *Tail) Remove(partitions []int32) {
	t.client.RemoveConsumePartitions(map[string][]int32{t.topic: partitions})
}

// Poll waits for records until ctx is done and gives at most so many; those of a
// partition follow each other. ErrDiscontinued says that the log is not what it was,
// or no longer has an offset that was asked for: the Tail is of no use any more.
// Other errors pass by themselves.
func (t *Tail) Poll(ctx context.Context, most int) ([]*kgo.Record, error) {
	fetches := t.client.PollRecords(ctx, most)
	err := fetchFailure(fetches)
	if errors.Is(err, kerr.OffsetOutOfRange) {
		err = NewDiscontinuity(-1, -1, err)
	}
	return fetches.Records(), err
}

// Close ends it.
func (t *Tail) Close() { t.client.Close() }
