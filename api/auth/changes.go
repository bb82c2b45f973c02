package auth

import (
	"sync"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/postgres/access"
)

// maxChanged bounds the keys and workspaces whose changes are remembered; beyond, all that
// was looked up before is dropped.
const maxChanged = 20_000

// changes is what is known of the auth revisions: which key or workspace each changed. Its
// zero value knows of none.
type changes struct {
	mu    sync.Mutex
	known int64               // up to here it is known what changed
	since int64               // what was looked up at an earlier revision is dropped
	last  map[uuid.UUID]int64 // the newest change of a key or a workspace after since
}

// upTo returns the revision up to which it is known what changed.
func (c *changes) upTo() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known
}

// learn takes up what changed between what is known and a revision.
func (c *changes) learn(from int64, found *access.AuthChanges) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found.Revision <= c.known {
		return // a poll that was overtaken
	}
	if from != c.known || !found.Whole || len(c.last)+len(found.IDs) > maxChanged {
		c.known, c.since, c.last = found.Revision, found.Revision, nil
		return
	}
	if c.last == nil {
		c.last = map[uuid.UUID]int64{}
	}
	for _, id := range found.IDs {
		c.last[id] = found.Revision
	}
	c.known = found.Revision
}

// untouched reports whether a key that was looked up is at a revision what it was then:
// neither it nor a workspace that it opens has changed.
func (c *changes) untouched(e entry, now int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now > c.known || e.revision < c.since || c.last[e.credential.ID] > e.revision {
		return false
	}
	for workspace := range e.credential.Workspaces {
		if c.last[workspace] > e.revision {
			return false
		}
	}
	return true
}
