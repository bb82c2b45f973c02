package resolve

import (
	"github.com/livegraph/livegraph/internal/platform/generations"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

const seriesShards = 64

// seriesCache caches the ids of registered series by fingerprint. Ids never change, so entries do not
// become stale.
type seriesCache struct {
	ids *generations.Cache[pointblock.Fingerprint, uint64]
}

// newSeriesCache creates a cache of at most size series, rounded up to two per shard.
func newSeriesCache(size int) seriesCache {
	return seriesCache{generations.New[pointblock.Fingerprint, uint64](generations.Config[uint64]{
		Shards: seriesShards, Size: max(size, 2*seriesShards),
	})}
}

func (c seriesCache) get(f pointblock.Fingerprint) (id uint64, ok bool) {
	return c.ids.Get(uint64(f[15]), f)
}

func (c seriesCache) put(f pointblock.Fingerprint, id uint64) { c.ids.Put(uint64(f[15]), f, id) }

// len returns the number of cached series.
func (c seriesCache) len() int { return c.ids.Len() }
