package resolve

import (
	"sync"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

// seriesShards is how many locks share the cache.
const seriesShards = 64

// seriesCache remembers the ids of registered series by fingerprint. Ids never
// change, so nothing goes stale; what has not been asked for in a long time is
// forgotten. Each shard has two generations: when the young one is full it
// becomes the old one, and what is found in the old one is young again.
type seriesCache struct {
	perGeneration int
	shards        [seriesShards]seriesShard
}

type seriesShard struct {
	mu         sync.Mutex
	young, old map[pointblock.Fingerprint]uint64
}

// newSeriesCache creates a cache of at most so many series, rounded up to two a
// shard.
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

// len returns how many series are remembered.
func (c *seriesCache) len() (n int) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		n += len(s.young) + len(s.old)
		s.mu.Unlock()
	}
	return n
}
