package consumers

import (
	"sync"

	"github.com/google/uuid"
)

// maxOpenChanges bounds of how many workspaces it is remembered which parts of a change
// were read.
const maxOpenChanges = 10_000

// ChangeParts remembers which parts of changes were read, for consumers of events: a
// change is complete when all of its parts were, not when the last one comes. What is
// read again after it was committed, or stored by another consumer before, counts: the
// log had it. The zero value remembers nothing yet. It is safe for concurrent use.
type ChangeParts struct {
	mu   sync.Mutex
	open map[uuid.UUID]openChange
}

// openChange is the newest change of a workspace that has several parts.
type openChange struct {
	sequence int64
	next     uint32 // all parts before it were read
}

// Take notes that a part of a change was read, parts being numbered from 0, and
// reports whether it is the last and all before it were read, too.
func (c *ChangeParts) Take(workspace uuid.UUID, sequence int64, part, parts uint32) (complete bool) {
	if parts <= 1 {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	change, known := c.open[workspace]
	if !known || change.sequence != sequence {
		change = openChange{sequence: sequence}
		if !known && len(c.open) >= maxOpenChanges {
			clear(c.open) // what is forgotten is looked up, like what was lost
		}
	}
	if part == change.next {
		change.next++
	}
	if c.open == nil {
		c.open = map[uuid.UUID]openChange{}
	}
	c.open[workspace] = change
	return part+1 >= parts && change.next >= parts
}
