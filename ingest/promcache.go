package ingest

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	// promCacheBytes is about how much the cache below holds: 70,000 series and
	// more.
	promCacheBytes = 64 << 20
	promShards     = 32
	// promSeriesBytes is what an entry takes beyond its texts, about.
	promSeriesBytes = 256
	// maxPromLabels is how long labels may be to be remembered.
	maxPromLabels = 16 << 10
	// promTurn is how long at least a generation lasts: longer than the interval in
	// which a Prometheus sends a series.
	promTurn = 2 * time.Minute
)

// promSeries is what the labels of a series of Prometheus came to when they were
// last resolved. It never changes.
type promSeries struct {
	workspace uuid.UUID
	raw       string // the labels' bytes
	name      string // of the source
	knownSeries
}

// promCache remembers label sets of Prometheus by their bytes, from one request to
// the next: it sends the same ones every few seconds, mostly with one sample each,
// so that reading, sorting, checking, hashing and writing them would be nearly all
// of the work. The bytes and the workspace are compared in full. A source that
// was deleted and made anew has another id: its series are resolved anew, too.
//
// As in seriesCache, a shard has two generations. A full one lasts for a while
// nevertheless: series that come in turn, and are more than fit, would else push each
// other out before they come again.
type promCache struct {
	seed          maphash.Seed
	perGeneration int // bytes
	shards        [promShards]promShard
}

type promShard struct {
	mu         sync.Mutex
	young, old map[uint64]*promSeries
	bytes      int // of the young, about
	turned     time.Time
}

func newPromCache(bytes int) *promCache {
	c := &promCache{seed: maphash.MakeSeed(), perGeneration: bytes / promShards / 2}
	for i := range c.shards {
		c.shards[i].young = map[uint64]*promSeries{}
	}
	return c
}

// hash hashes labels' bytes, for get and put.
func (c *promCache) hash(raw []byte) uint64 { return maphash.Bytes(c.seed, raw) }

// get returns what the labels of the workspace came to, nil if that is not known.
func (c *promCache) get(hash uint64, workspace uuid.UUID, raw []byte) *promSeries {
	s := &c.shards[hash%promShards]
	s.mu.Lock()
	known := s.young[hash]
	if known == nil {
		if known = s.old[hash]; known != nil {
			s.put(hash, known, c.perGeneration)
		}
	}
	s.mu.Unlock()
	if known == nil || known.raw != view(raw) || known.workspace != workspace {
		return nil
	}
	return known
}

// takes reports whether there is room for another.
func (c *promCache) takes(hash uint64) bool {
	s := &c.shards[hash%promShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takes(c.perGeneration)
}

// put remembers it, if there is room.
func (c *promCache) put(hash uint64, known *promSeries) {
	s := &c.shards[hash%promShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(hash, known, c.perGeneration)
}

func (s *promShard) takes(limit int) bool {
	return s.bytes < limit || time.Since(s.turned) > promTurn
}

func (s *promShard) put(hash uint64, known *promSeries, limit int) {
	if !s.takes(limit) {
		return
	}
	if s.bytes >= limit {
		s.old, s.young, s.bytes, s.turned = s.young, map[uint64]*promSeries{}, 0, time.Now()
	}
	s.young[hash] = known
	s.bytes += promSeriesBytes + len(known.raw) + len(known.name) + len(known.encoded)
}

// len returns how many label sets are remembered.
func (c *promCache) len() (n int) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		n += len(s.young) + len(s.old)
		s.mu.Unlock()
	}
	return n
}
