package consumers

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// continuity checks that the offsets of a partition are consecutive. They are in these topics,
// which are neither compacted nor written in transactions.
type continuity struct {
	mu   sync.Mutex
	next map[int32]kgo.EpochOffset // with the leader epoch of the last record, -1 before the first one
}

// step is the next offset of a partition from which a record of a lower offset came.
type step struct {
	partition int32
	next      kgo.EpochOffset
}

// setStart sets the first offsets of partitions.
func (c *continuity) setStart(from map[int32]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = map[int32]kgo.EpochOffset{}
	}
	for p, offset := range from {
		c.next[p] = kgo.EpochOffset{Epoch: -1, Offset: offset}
	}
}

// check returns the number of records missing before those polled, and the first step backwards, if any.
func (c *continuity) check(records []*kgo.Record) (lost int64, backwards *step) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range records {
		expected, known := c.next[r.Partition]
		if known && r.Offset < expected.Offset {
			return lost, &step{partition: r.Partition, next: expected}
		}
		if known {
			lost += r.Offset - expected.Offset
		}
		c.next[r.Partition] = kgo.EpochOffset{Epoch: r.LeaderEpoch, Offset: r.Offset + 1}
	}
	return lost, nil
}
