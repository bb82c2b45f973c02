package consumers

import (
	"fmt"
	"maps"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/storage/kafka"
)

// continuity watches that offsets of a partition follow each other. Ours do: the
// topics are neither compacted nor written in transactions.
type continuity struct {
	mu   sync.Mutex
	next map[int32]int64
}

// begin reports where partitions begin.
func (c *continuity) begin(from map[int32]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = map[int32]int64{}
	}
	maps.Copy(c.next, from)
}

// see returns how many records are missing before those polled, and an error when
// offsets went backwards.
func (c *continuity) see(records []*kgo.Record) (lost int64, backwards error) {
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
