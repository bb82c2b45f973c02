package remotewrite

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/scan"
)

const (
	// CacheBytes is the approximate size of the cache, for 70,000 series or more.
	CacheBytes  = 64 << 20
	cacheShards = 32
	// cachedSeriesBytes is the approximate size of an entry without its strings.
	cachedSeriesBytes = 256
	// maxLabelBytes is the maximum size of a label set that is cached.
	maxLabelBytes = 16 << 10
	// minGenerationTime is the minimum lifetime of a generation. It is longer than the
	// interval in which a Prometheus sends a series.
	minGenerationTime = 2 * time.Minute
)

// cachedSeries is the series to which a label set of Prometheus was
// last resolved. It is immutable.
type cachedSeries struct {
	workspace uuid.UUID
	raw       string // bytes of the labels
	name      string // name of the source
	block.KnownSeries
}

// Cache caches the series of Prometheus label sets by the bytes of the labels, across
// requests. Prometheus sends the same label sets every few seconds, mostly with one
// sample each, so parsing, sorting, validating, hashing and encoding them would be most
// of the work. Bytes and workspace are compared in full. A source that was deleted and
// created again has a new id; its series are then resolved again.
//
// As in resolve.seriesCache, a shard has two generations. A full generation is kept for
// a minimum time. Otherwise, if the cache were too small for all series, each series
// would be evicted before it is sent again.
type Cache struct {
	seed          maphash.Seed
	perGeneration int // bytes
	shards        [cacheShards]cacheShard
}

type cacheShard struct {
	mu         sync.Mutex
	young, old map[uint64]*cachedSeries
	bytes      int // approximate size of young
	rotated    time.Time
}

// NewCache creates a cache of approximately the given size in bytes.
func NewCache(bytes int) *Cache {
	c := &Cache{seed: maphash.MakeSeed(), perGeneration: bytes / cacheShards / 2}
	for i := range c.shards {
		c.shards[i].young = map[uint64]*cachedSeries{}
	}
	return c
}

// hash returns the hash of the labels' bytes for get and put.
func (c *Cache) hash(raw []byte) uint64 { return maphash.Bytes(c.seed, raw) }

// get returns the cached series of the labels in the workspace, or nil.
func (c *Cache) get(hash uint64, workspace uuid.UUID, raw []byte) *cachedSeries {
	s := &c.shards[hash%cacheShards]
	s.mu.Lock()
	series := s.young[hash]
	if series == nil {
		if series = s.old[hash]; series != nil {
			s.put(hash, series, c.perGeneration)
		}
	}
	s.mu.Unlock()
	if series == nil || series.raw != scan.View(raw) || series.workspace != workspace {
		return nil
	}
	return series
}

// canAdd reports whether put would add a series.
func (c *Cache) canAdd(hash uint64) bool {
	s := &c.shards[hash%cacheShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.canAdd(c.perGeneration)
}

// put adds a series, unless the cache is full.
func (c *Cache) put(hash uint64, series *cachedSeries) {
	s := &c.shards[hash%cacheShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(hash, series, c.perGeneration)
}

func (s *cacheShard) canAdd(limit int) bool {
	return s.bytes < limit || time.Since(s.rotated) > minGenerationTime
}

func (s *cacheShard) put(hash uint64, series *cachedSeries, limit int) {
	if !s.canAdd(limit) {
		return
	}
	if s.bytes >= limit {
		s.old, s.young, s.bytes, s.rotated = s.young, map[uint64]*cachedSeries{}, 0, time.Now()
	}
	s.young[hash] = series
	s.bytes += cachedSeriesBytes + len(series.raw) + len(series.name) + len(series.Encoded)
}

// Len returns the number of cached label sets.
func (c *Cache) Len() (n int) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		n += len(s.young) + len(s.old)
		s.mu.Unlock()
	}
	return n
}
