package auth

import (
	"sync"

	"github.com/livegraph/livegraph/storage/postgres"
)

// entry is what was looked up, and the auth revision it was true at.
type entry struct {
	revision   int64
	credential *postgres.Credential // nil: no such key
}

// cache remembers the entries used last, at most twice its limit: when the young
// half is full it becomes the old half, and what was not used since is dropped.
type cache struct {
	limit      int
	mu         sync.Mutex
	young, old map[[32]byte]entry
}

func (c *cache) get(hash [32]byte) (entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.young[hash]; ok {
		return e, true
	}
	e, ok := c.old[hash]
	if ok {
		c.add(hash, e)
	}
	return e, ok
}

func (c *cache) put(hash [32]byte, e entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(hash, e)
}

func (c *cache) add(hash [32]byte, e entry) {
	if c.young == nil || len(c.young) >= c.limit {
		c.old, c.young = c.young, make(map[[32]byte]entry)
	}
	c.young[hash] = e
}

func (c *cache) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.young) + len(c.old)
}
