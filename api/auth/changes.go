package auth

import (
	"sync"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/postgres/access"
)

// maxChanged bounds the keys and workspaces whose changes are tracked. When it is exceeded,
// all cache entries become invalid.
const maxChanged = 20_000

// changes tracks which key or workspace each auth revision changed. Its zero value is empty
// and ready to use.
type changes struct {
	mu          sync.Mutex
	revision    int64               // changes up to this revision are known
	minRevision int64               // entries of an earlier revision are invalid
	last        map[uuid.UUID]int64 // the newest change of a key or a workspace after minRevision
}

// knownRevision returns the revision up to which all changes are known.
func (c *changes) knownRevision() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.revision
}

// apply adds the changes after revision from.
func (c *changes) apply(from int64, found *access.AuthChanges) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found.Revision <= c.revision {
		return // a later poll was faster
	}
	if from != c.revision || !found.Complete || len(c.last)+len(found.IDs) > maxChanged {
		c.revision, c.minRevision, c.last = found.Revision, found.Revision, nil
		return
	}
	if c.last == nil {
		c.last = map[uuid.UUID]int64{}
	}
	for _, id := range found.IDs {
		c.last[id] = found.Revision
	}
	c.revision = found.Revision
}

// unchanged reports whether, up to revision now, neither the key of the entry nor one of its
// workspaces has changed.
func (c *changes) unchanged(e entry, now int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now > c.revision || e.revision < c.minRevision || c.last[e.credential.ID] > e.revision {
		return false
	}
	for workspace := range e.credential.Workspaces {
		if c.last[workspace] > e.revision {
			return false
		}
	}
	return true
}
