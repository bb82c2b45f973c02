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
//
// Sources in use are read again before they expire, at most once at a time for a workspace. Otherwise all concurrent
// requests of a workspace would read the same sources whenever these expire.
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

// cachedSources are the cached sources of a workspace.
type cachedSources struct {
	byID        map[uuid.UUID]*cachedSource
	byName      map[string]*cachedSource
	nextRefresh time.Time // earliest start of the next refresh
}

func (w *cachedSources) len() int { return len(w.byID) + len(w.byName) }

// entry returns the entry of a source, which may have expired, or nil.
func (w *cachedSources) entry(s *block.Source) *cachedSource {
	switch {
	case w == nil:
		return nil
	case s.ByName:
		return w.byName[s.Name]
	}
	return w.byID[s.ID]
}

type cachedSource struct {
	id    uuid.UUID
	until time.Time // expiry
	used  bool      // since the last refresh
}

// refreshAhead is the part of the time to live before its end in which sources in use are read again. It is also the
// maximum duration of a refresh and the minimum time between the starts of two.
func (c *sourceCache) refreshAhead() time.Duration { return c.ttl / 3 }

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

// lookup sets Known for the sources that are cached, and reports whether all are. If refresh is true, the caller
// must start a refresh of the workspace.
func (c *sourceCache) lookup(workspace uuid.UUID, list []block.Source) (all, refresh bool) {
	now, expiry := time.Now(), time.Time{}
	all = true
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.workspaces[workspace]
	for i := range list {
		s := &list[i]
		if s.InvalidName {
			continue
		}
		found := w.entry(s)
		if s.Known = found != nil && now.Before(found.until); !s.Known {
			all = false
			continue
		}
		s.ID, found.used = found.id, true
		if expiry.IsZero() || found.until.Before(expiry) {
			expiry = found.until
		}
	}
	if expiry.IsZero() || expiry.Sub(now) > c.refreshAhead() || now.Before(w.nextRefresh) {
		return all, false
	}
	w.nextRefresh = now.Add(c.refreshAhead())
	return all, true
}

// takeUsed returns the sources of a workspace that were used since the last call.
func (c *sourceCache) takeUsed(workspace uuid.UUID) (list []block.Source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.workspaces[workspace]
	if w == nil {
		return nil
	}
	for id, s := range w.byID {
		if s.used {
			list, s.used = append(list, block.Source{ID: id}), false
		}
	}
	for name, s := range w.byName {
		if s.used {
			list, s.used = append(list, block.Source{Name: name, ByName: true}), false
		}
	}
	return list
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
			w = &cachedSources{byID: map[uuid.UUID]*cachedSource{}, byName: map[string]*cachedSource{}}
			c.workspaces[workspace] = w
		}
		before := w.len()
		w.put(s, until)
		c.entries += w.len() - before
	}
}

// put adds a source, or changes it in place.
func (w *cachedSources) put(s *block.Source, until time.Time) {
	found := w.entry(s)
	if found == nil {
		found = &cachedSource{}
		if s.ByName {
			w.byName[strings.Clone(s.Name)] = found
		} else {
			w.byID[s.ID] = found
		}
	}
	found.id, found.until = s.ID, until
}

// forget removes a workspace from the cache and discards the results of its store reads in progress.
func (c *sourceCache) forget(workspace uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.reads, workspace)
	if w := c.workspaces[workspace]; w != nil {
		c.entries -= w.len()
		delete(c.workspaces, workspace)
	}
}

// len returns the number of cached sources.
func (c *sourceCache) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries
}
