package resolve

import (
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/ingest/block"
)

const (
	// sourceTTL is how long the existence and the name of a source are cached. Requests that delete or rename one are answered after that
	// (Pipeline.AwaitOthers), so that nothing sent after the answer is taken for
	// what was before it. What is accepted until then comes before the change.
	sourceTTL = time.Second
	// clockGrace is what the clocks of two processes may differ by in that time.
	clockGrace = 50 * time.Millisecond
	// MaxCachedSources bounds the cache; when it is full it is cleared.
	MaxCachedSources = 100_000
)

// sourceCache remembers which sources exist, for a moment. It does not remember
// which do not: a source can be used as soon as it is there.
type sourceCache struct {
	ttl   time.Duration
	limit int

	mu         sync.Mutex
	entries    int
	workspaces map[uuid.UUID]*cachedSources
	asking     map[uuid.UUID]*asking
}

// asking are the questions to the store that are under way for a workspace and began
// since it was forgotten last. Those that began before are not among them, so that what
// they find is not remembered.
type asking struct{ questions int }

type cachedSources struct {
	byID   map[uuid.UUID]time.Time // until when
	byName map[string]cachedName
}

type cachedName struct {
	id    uuid.UUID
	until time.Time
}

func newSourceCache(ttl time.Duration, limit int) *sourceCache {
	return &sourceCache{
		ttl: ttl, limit: limit, workspaces: map[uuid.UUID]*cachedSources{}, asking: map[uuid.UUID]*asking{},
	}
}

// ask begins a question to the store. answered must be called with what it returns.
func (c *sourceCache) ask(workspace uuid.UUID) *asking {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.asking[workspace]
	if a == nil {
		a = &asking{}
		c.asking[workspace] = a
	}
	a.questions++
	return a
}

// answered ends a question.
func (c *sourceCache) answered(workspace uuid.UUID, a *asking) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.questions--; a.questions == 0 && c.asking[workspace] == a {
		delete(c.asking, workspace)
	}
}

// lookup marks those of the sources as known that are remembered, and reports
// whether all were.
func (c *sourceCache) lookup(workspace uuid.UUID, list []block.Source) bool {
	now, all := time.Now(), true
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.workspaces[workspace]
	for i := range list {
		s := &list[i]
		switch {
		case s.Void:
			continue
		case w == nil:
		case s.ByName:
			if cached := w.byName[s.Name]; now.Before(cached.until) {
				s.ID, s.Known = cached.id, true
			}
		default:
			s.Known = now.Before(w.byID[s.ID])
		}
		all = all && s.Known
	}
	return all
}

// add remembers the known ones of the sources, which a question found; asked is when it
// began. Nothing is remembered when the workspace was forgotten since then: the store may
// have been read before it changed.
func (c *sourceCache) add(workspace uuid.UUID, list []block.Source, question *asking, asked time.Time) {
	until := asked.Add(c.ttl)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asking[workspace] != question {
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

// forget drops what is remembered of a workspace, and what is being asked.
func (c *sourceCache) forget(workspace uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asking, workspace)
	if w := c.workspaces[workspace]; w != nil {
		c.entries -= len(w.byID) + len(w.byName)
		delete(c.workspaces, workspace)
	}
}

// len returns how many sources are remembered.
func (c *sourceCache) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries
}
