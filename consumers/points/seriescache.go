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

// appendMissing appends to missing those of ids that are not in the set, in their order.
func (c *seriesCache) appendMissing(missing, ids []uint64) []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		if _, ok := c.ids[id]; !ok {
			missing = append(missing, id)
		}
	}
	return missing
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
