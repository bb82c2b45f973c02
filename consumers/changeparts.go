package consumers

import (
	"sync"

	"github.com/google/uuid"
)

// maxOpenChanges is the maximum number of workspaces for which ChangeParts stores the parts read
// of a change.
const maxOpenChanges = 10_000

// ChangeParts tracks which parts of changes were read, for consumers of events. A change is
// complete when all of its parts were read, not when the last one arrives. Parts that are read
// again after they were committed, or that another consumer stored before, count too, because
// the log contained them. The zero value is ready to use. It is safe for concurrent use.
type ChangeParts struct {
	mu   sync.Mutex
	open map[uuid.UUID]openChange
}

// openChange is the newest change of a workspace that has several parts.
type openChange struct {
	sequence int64
	next     uint32 // all parts before this one were read
}

// MarkRead records that a part of a change was read. Parts are numbered from 0. It reports whether
// the part is the last one and all parts before it were read.
func (c *ChangeParts) MarkRead(workspace uuid.UUID, sequence int64, part, parts uint32) (complete bool) {
	if parts <= 1 {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	change, known := c.open[workspace]
	if !known || change.sequence != sequence {
		change = openChange{sequence: sequence}
		if !known && len(c.open) >= maxOpenChanges {
			clear(c.open) // dropped changes are looked up, like lost ones
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
