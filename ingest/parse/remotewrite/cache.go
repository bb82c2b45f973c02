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
	// CacheBytes is about the size of the cache: 70,000 series and
	// more.
	CacheBytes  = 64 << 20
	cacheShards = 32
	// cachedSeriesBytes is about what an entry takes beyond its strings.
	cachedSeriesBytes = 256
	// maxLabels is how long labels may be to be remembered.
	maxLabels = 16 << 10
	// minGeneration is how long at least a generation lasts: longer than the interval in
	// which a Prometheus sends a series.
	minGeneration = 2 * time.Minute
)

// cachedSeries is the series to which labels of Prometheus were
// last resolved. It never changes.
type cachedSeries struct {
	workspace uuid.UUID
	raw       string // the labels' bytes
	name      string // of the source
	block.KnownSeries
}

// Cache remembers label sets of Prometheus by their bytes, from one request to
// the next: it sends the same ones every few seconds, mostly with one sample each,
// so that reading, sorting, checking, hashing and writing them would be nearly all
// of the work. The bytes and the workspace are compared in full. A source that
// was deleted and created again has another id: its series are resolved again, too.
//
// As in resolve.seriesCache, a shard has two generations. A full one lasts for a while
// nevertheless: series that come in turn, and are more than fit, would else push each
// other out before they come again.
type Cache struct {
	seed          maphash.Seed
	perGeneration int // bytes
	shards        [cacheShards]cacheShard
}

type cacheShard struct {
	mu         sync.Mutex
	young, old map[uint64]*cachedSeries
	bytes      int // of the young, about
	turned     time.Time
}

// NewCache creates a cache of about so many bytes.
func NewCache(bytes int) *Cache {
	c := &Cache{seed: maphash.MakeSeed(), perGeneration: bytes / cacheShards / 2}
	for i := range c.shards {
		c.shards[i].young = map[uint64]*cachedSeries{}
	}
	return c
}

// hash hashes labels' bytes, for get and put.
func (c *Cache) hash(raw []byte) uint64 { return maphash.Bytes(c.seed, raw) }

// get returns the series of the labels in the workspace, nil if it is not known.
func (c *Cache) get(hash uint64, workspace uuid.UUID, raw []byte) *cachedSeries {
	s := &c.shards[hash%cacheShards]
	s.mu.Lock()
	known := s.young[hash]
	if known == nil {
		if known = s.old[hash]; known != nil {
			s.put(hash, known, c.perGeneration)
		}
	}
	s.mu.Unlock()
	if known == nil || known.raw != scan.View(raw) || known.workspace != workspace {
		return nil
	}
	return known
}

// takes reports whether another would be kept.
func (c *Cache) takes(hash uint64) bool {
	s := &c.shards[hash%cacheShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takes(c.perGeneration)
}

// put adds a series, unless the cache is full.
func (c *Cache) put(hash uint64, known *cachedSeries) {
	s := &c.shards[hash%cacheShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(hash, known, c.perGeneration)
}

func (s *cacheShard) takes(limit int) bool {
	return s.bytes < limit || time.Since(s.turned) > minGeneration
}

func (s *cacheShard) put(hash uint64, known *cachedSeries, limit int) {
	if !s.takes(limit) {
		return
	}
	if s.bytes >= limit {
		s.old, s.young, s.bytes, s.turned = s.young, map[uint64]*cachedSeries{}, 0, time.Now()
	}
	s.young[hash] = known
	s.bytes += cachedSeriesBytes + len(known.raw) + len(known.name) + len(known.Encoded)
}

// Len returns how many label sets are remembered.
func (c *Cache) Len() (n int) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		n += len(s.young) + len(s.old)
		s.mu.Unlock()
	}
	return n
}
