package resolve

import (
	"sync"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

// seriesShards is the number of shards of the cache. Each has its own lock.
const seriesShards = 64

// seriesCache caches the ids of registered series by fingerprint. Ids never
// change, so entries do not become stale; entries that have not been used for a
// long time are evicted. Each shard has two generations: when the young one is
// full it replaces the old one, and an entry that is found in the old generation
// is added to the young one.
type seriesCache struct {
	perGeneration int
	shards        [seriesShards]seriesShard
}

type seriesShard struct {
	mu         sync.Mutex
	young, old map[pointblock.Fingerprint]uint64
}

// newSeriesCache creates a cache of at most size series, rounded up to two per shard.
func newSeriesCache(size int) *seriesCache {
	c := &seriesCache{perGeneration: max(1, size/seriesShards/2)}
	for i := range c.shards {
		c.shards[i].young = map[pointblock.Fingerprint]uint64{}
	}
	return c
}

func (c *seriesCache) shard(f *pointblock.Fingerprint) *seriesShard {
	return &c.shards[f[15]%seriesShards]
}

func (c *seriesCache) get(f pointblock.Fingerprint) (id uint64, ok bool) {
	s := c.shard(&f)
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, ok = s.young[f]; ok {
		return id, true
	}
	if id, ok = s.old[f]; ok {
		s.put(f, id, c.perGeneration)
	}
	return id, ok
}

func (c *seriesCache) put(f pointblock.Fingerprint, id uint64) {
	s := c.shard(&f)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(f, id, c.perGeneration)
}

func (s *seriesShard) put(f pointblock.Fingerprint, id uint64, limit int) {
	if len(s.young) >= limit {
		s.old, s.young = s.young, make(map[pointblock.Fingerprint]uint64, limit/4)
	}
	s.young[f] = id
}

// len returns the number of cached series.
func (c *seriesCache) len() (n int) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		n += len(s.young) + len(s.old)
		s.mu.Unlock()
	}
	return n
}
