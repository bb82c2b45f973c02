// Package generations has a cache for the hottest look-ups: millions of small entries, without an
// object per entry that the garbage collector would have to mark. Other caches use otter; see
// docs/adr/0066-caches-use-otter.md.
package generations

import (
	"sync"
	"time"
)

// Cache maps keys to values. It has shards, each with its own lock and two generations. When a shard is
// full, its young generation replaces the old one. An entry that is found in the old generation moves to
// the young one. So entries that have not been used for a long time are evicted. A Cache is safe for
// concurrent use.
type Cache[K comparable, V any] struct {
	size    func(V) int
	limit   int
	minAge  time.Duration
	evicted func(V)
	shards  []shard[K, V]
}

type shard[K comparable, V any] struct {
	mu         sync.Mutex
	young, old map[K]V
	size       int // of young
	oldSize    int
	began      time.Time // of young
}

// Config configures a Cache.
type Config[V any] struct {
	Shards int
	// Size is the maximum total size of the entries. Each shard may exceed its part by two entries.
	Size int
	// SizeOf returns the size of an entry. nil: 1.
	SizeOf func(V) int
	// MinAge is the minimum lifetime of a generation. No entry is added to a full shard whose young
	// generation is younger. Otherwise, if the cache were too small for all keys of a cycle, each entry
	// would be evicted before it is used again. If MinAge is zero, a generation is half of a shard.
	MinAge time.Duration
	// Evicted is called with each value that is replaced, or leaves the cache with its generation. It must
	// not call the cache. nil: not called.
	Evicted func(V)
}

// New creates a Cache.
func New[K comparable, V any](config Config[V]) *Cache[K, V] {
	if config.SizeOf == nil {
		config.SizeOf = func(V) int { return 1 }
	}
	c := &Cache[K, V]{
		size: config.SizeOf, limit: config.Size / config.Shards, minAge: config.MinAge,
		evicted: config.Evicted, shards: make([]shard[K, V], config.Shards),
	}
	for i := range c.shards {
		c.shards[i].young = map[K]V{}
	}
	return c
}

func (c *Cache[K, V]) shard(hash uint64) *shard[K, V] { return &c.shards[hash%uint64(len(c.shards))] }

// Get returns the value of a key. Hash determines the shard, and must be the same for each call with
// the key.
func (c *Cache[K, V]) Get(hash uint64, key K) (value V, ok bool) {
	s := c.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if value, ok = s.young[key]; ok {
		return value, true
	}
	if value, ok = s.old[key]; ok {
		delete(s.old, key)
		s.oldSize -= c.size(value)
		if c.minAge == 0 && c.full(s) {
			c.rotate(s)
		}
		s.young[key] = value
		s.size += c.size(value)
	}
	return value, ok
}

// Put adds a key, or replaces its value, unless CanPut returns false.
func (c *Cache[K, V]) Put(hash uint64, key K, value V) {
	s := c.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	c.put(s, key, value)
}

// CanPut reports whether Put would add a key.
func (c *Cache[K, V]) CanPut(hash uint64) bool {
	s := c.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.canPut(s)
}

// Len returns the number of entries.
func (c *Cache[K, V]) Len() (n int) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		n += len(s.young) + len(s.old)
		s.mu.Unlock()
	}
	return n
}

// full reports whether a generation must be evicted before an entry is added. There are two rules. Without MinAge, a
// generation is half of a shard: one of a whole shard would be evicted with the entry that follows it. With MinAge, the
// generations together are a shard: one of half a shard would refuse entries, until MinAge, while the rest is empty.
func (c *Cache[K, V]) full(s *shard[K, V]) bool {
	if c.minAge == 0 {
		return s.size >= c.limit/2
	}
	return s.size+s.oldSize >= c.limit
}

func (c *Cache[K, V]) canPut(s *shard[K, V]) bool {
	return !c.full(s) || c.minAge == 0 || time.Since(s.began) > c.minAge
}

func (c *Cache[K, V]) put(s *shard[K, V], key K, value V) {
	if !c.canPut(s) {
		return
	}
	if c.full(s) {
		c.rotate(s)
		if c.minAge > 0 && c.full(s) {
			return // all entries have been used since the last rotation
		}
	}
	replaced, ok := s.young[key]
	if ok {
		s.size -= c.size(replaced)
	} else if replaced, ok = s.old[key]; ok {
		delete(s.old, key)
		s.oldSize -= c.size(replaced)
	}
	if ok && c.evicted != nil {
		c.evicted(replaced)
	}
	s.young[key] = value
	s.size += c.size(value)
}

// rotate replaces the old generation by the young one.
func (c *Cache[K, V]) rotate(s *shard[K, V]) {
	if c.evicted != nil {
		for _, value := range s.old {
			c.evicted(value)
		}
	}
	s.old, s.oldSize, s.young, s.size, s.began = s.young, s.size, map[K]V{}, 0, time.Now()
}
