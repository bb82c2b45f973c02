package resolve

import (
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/ingest/block"
)

const (
	// sourceTTL is how long the existence and the name of a source are cached. Requests that
	// delete or rename a source are answered after that (Pipeline.AwaitCacheExpiry), so that points
	// sent after the answer are never accepted for the old state. Points that are accepted
	// earlier count as sent before the change.
	sourceTTL = time.Second
	// clockGrace is the allowed difference between the clocks of two processes in that time.
	clockGrace = 50 * time.Millisecond
	// MaxCachedSources is the maximum size of the cache. A full cache is cleared.
	MaxCachedSources = 100_000
)

// sourceCache caches which sources exist, for a short time. It does not cache
// which do not exist, so a new source can be used immediately.
type sourceCache struct {
	ttl   time.Duration
	limit int

	mu         sync.Mutex
	entries    int
	workspaces map[uuid.UUID]*cachedSources
	reads      map[uuid.UUID]*storeReads
}

// storeReads counts the store reads of a workspace that are in progress and began after its
// last forget. The results of reads that began before that are not cached.
type storeReads struct{ count int }

type cachedSources struct {
	byID   map[uuid.UUID]time.Time // expiry
	byName map[string]cachedName
}

type cachedName struct {
	id    uuid.UUID
	until time.Time
}

func newSourceCache(ttl time.Duration, limit int) *sourceCache {
	return &sourceCache{
		ttl: ttl, limit: limit, workspaces: map[uuid.UUID]*cachedSources{}, reads: map[uuid.UUID]*storeReads{},
	}
}

// beginRead starts a store read. The caller must pass the result to endRead.
func (c *sourceCache) beginRead(workspace uuid.UUID) *storeReads {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.reads[workspace]
	if r == nil {
		r = &storeReads{}
		c.reads[workspace] = r
	}
	r.count++
	return r
}

// endRead ends a store read.
func (c *sourceCache) endRead(workspace uuid.UUID, r *storeReads) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.count--; r.count == 0 && c.reads[workspace] == r {
		delete(c.reads, workspace)
	}
}

// lookup sets Known for the sources that are cached, and reports whether all are.
func (c *sourceCache) lookup(workspace uuid.UUID, list []block.Source) bool {
	now, all := time.Now(), true
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.workspaces[workspace]
	for i := range list {
		s := &list[i]
		switch {
		case s.InvalidName:
			continue
		case w == nil:
		case s.ByName:
			if entry := w.byName[s.Name]; now.Before(entry.until) {
				s.ID, s.Known = entry.id, true
			}
		default:
			s.Known = now.Before(w.byID[s.ID])
		}
		all = all && s.Known
	}
	return all
}

// add caches the known sources, which a store read found that began at start. It caches
// nothing if the workspace was forgotten since then, because the store may have changed
// after the read.
func (c *sourceCache) add(workspace uuid.UUID, list []block.Source, reads *storeReads, start time.Time) {
	until := start.Add(c.ttl)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reads[workspace] != reads {
		return
	}
	for i := range list {
		s := &list[i]
		if !s.Known {
			continue
		}
		if c.entries >= c.limit {
			clear(c.workspaces)
			c.entries = 0
		}
		w := c.workspaces[workspace]
		if w == nil {
			w = &cachedSources{byID: map[uuid.UUID]time.Time{}, byName: map[string]cachedName{}}
			c.workspaces[workspace] = w
		}
		before := len(w.byID) + len(w.byName)
		if s.ByName {
			w.byName[strings.Clone(s.Name)] = cachedName{id: s.ID, until: until}
		} else {
			w.byID[s.ID] = until
		}
		c.entries += len(w.byID) + len(w.byName) - before
	}
}

// forget removes a workspace from the cache and discards the results of its store reads in progress.
func (c *sourceCache) forget(workspace uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.reads, workspace)
	if w := c.workspaces[workspace]; w != nil {
		c.entries -= len(w.byID) + len(w.byName)
		delete(c.workspaces, workspace)
	}
}

// len returns the number of cached sources.
func (c *sourceCache) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries
}
