package points

import "sync"

// seriesCache is the set of series whose rows this process has stored in ClickHouse.
type seriesCache struct {
	limit int

	mu  sync.Mutex
	ids map[uint64]struct{}
}

func newSeriesCache(most int) *seriesCache {
	return &seriesCache{limit: most, ids: map[uint64]struct{}{}}
}

func (c *seriesCache) has(id uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.ids[id]
	return ok
}

// add adds series to the set. If the limit would be exceeded, it first clears the set.
func (c *seriesCache) add(ids []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.ids)+len(ids) > c.limit {
		clear(c.ids)
	}
	for _, id := range ids {
		c.ids[id] = struct{}{}
	}
}
