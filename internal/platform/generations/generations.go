// Package generations has a cache for the hottest look-ups: millions of small entries, without an
// object per entry that the garbage collector would have to mark. Other caches use otter; see
// docs/adr/0066-caches-use-otter.md.
package generations

import (
	"sync"
	"time"
)

// Cache maps keys to values. It has shards, each with its own lock and two generations. When the young
// generation of a shard is full, it replaces the old one. An entry that is found in the old generation
// is added to the young one. So entries that have not been used for a long time are evicted. A Cache is
// safe for concurrent use.
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
	began      time.Time
}

// Config configures a Cache.
type Config[V any] struct {
	Shards int
	// Size is the maximum total size of the entries. Each generation of a shard may exceed its part by one
	// entry.
	Size int
	// SizeOf returns the size of an entry. nil: 1.
	SizeOf func(V) int
	// MinAge is the minimum lifetime of a generation. While a full generation is younger, no entry is
	// added. Otherwise, if the cache were too small for all keys of a cycle, each entry would be evicted
	// before it is used again.
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
		size: config.SizeOf, limit: config.Size / config.Shards / 2, minAge: config.MinAge,
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
	if value, ok = s.old[key]; ok && c.canPut(s) {
		delete(s.old, key)
		c.put(s, key, value)
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

func (c *Cache[K, V]) canPut(s *shard[K, V]) bool {
	return s.size < c.limit || c.minAge == 0 || time.Since(s.began) > c.minAge
}

func (c *Cache[K, V]) put(s *shard[K, V], key K, value V) {
	if !c.canPut(s) {
		return
	}
	if s.size >= c.limit {
		c.evict(s)
		s.old, s.young, s.size, s.began = s.young, map[K]V{}, 0, time.Now()
	}
	replaced, ok := s.young[key]
	if ok {
		s.size -= c.size(replaced)
	} else if replaced, ok = s.old[key]; ok {
		delete(s.old, key)
	}
	if ok && c.evicted != nil {
		c.evicted(replaced)
	}
	s.young[key] = value
	s.size += c.size(value)
}

// evict calls Config.Evicted with the values of the old generation.
func (c *Cache[K, V]) evict(s *shard[K, V]) {
	if c.evicted == nil {
		return
	}
	for _, value := range s.old {
		c.evicted(value)
	}
}
