package points

import "sync"

// copied remembers which series have been copied to ClickHouse by this process.
type copied struct {
	most int

	mu  sync.Mutex
	ids map[uint64]struct{}
}

func newCopied(most int) *copied { return &copied{most: most, ids: map[uint64]struct{}{}} }

func (c *copied) has(id uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.ids[id]
	return ok
}

// add remembers series, and forgets all others when they become too many.
func (c *copied) add(ids []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.ids)+len(ids) > c.most {
		clear(c.ids)
	}
	for _, id := range ids {
		c.ids[id] = struct{}{}
	}
}
