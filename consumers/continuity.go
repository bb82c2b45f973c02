package consumers

import (
	"fmt"
	"maps"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/storage/kafka"
)

// continuity checks that the offsets of a partition are consecutive. They are in these topics,
// which are neither compacted nor written in transactions.
type continuity struct {
	mu   sync.Mutex
	next map[int32]int64
}

// setStart sets the first offsets of partitions.
func (c *continuity) setStart(from map[int32]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = map[int32]int64{}
	}
	maps.Copy(c.next, from)
}

// check returns the number of records missing before those polled, and an error if an offset
// is lower than the one expected.
func (c *continuity) check(records []*kgo.Record) (lost int64, backwards error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range records {
		expected, known := c.next[r.Partition]
		if known && r.Offset < expected {
			return lost, kafka.NewDiscontinuity(r.Partition, r.Offset, fmt.Errorf(
				"offset %d was next and %d came", expected, r.Offset,
			))
		}
		if known {
			lost += r.Offset - expected
		}
		c.next[r.Partition] = r.Offset + 1
	}
	return lost, nil
}
