package load

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
)

// turns are the stacks of a workspace's actors, by the journal; uuid.Nil has those of
// the workspace itself.
type turns map[uuid.UUID]graph.Stacks

// follow takes up a change, and holds an UNDO or a REDO against whose turn it was: the
// load names no command, so it is about the next of its actor, or of the workspace.
func (s turns) follow(c *graph.Change) (found []Violation) {
	both := []uuid.UUID{c.Actor, uuid.Nil}
	if entry, ok := c.Entry(); ok {
		for _, whose := range both {
			s[whose] = append(s[whose], entry)
			s[whose] = s[whose][max(0, len(s[whose])-graph.StackDepth):]
		}
		return nil
	}
	next, by := graph.Stacks.Undo, c.Sequence
	if c.Type == graph.TypeRedo {
		next, by = graph.Stacks.Redo, 0
	}
	var due []graph.Sequence
	ours := false
	for _, whose := range both {
		if entry, ok := next(s[whose]); ok {
			due = append(due, entry.Sequence)
			ours = ours || entry.Sequence == c.Target.Sequence
		}
	}
	if !ours {
		found = append(found, Violation{8, "an undo or redo is not of the command whose turn it was", fmt.Sprintf(
			"change %d of actor %s is %s of %d; it was the turn of %v", c.Sequence, c.Actor, c.Type, c.Target.Sequence, due)})
	}
	for _, stack := range s {
		for i := range stack {
			if stack[i].Sequence == c.Target.Sequence {
				stack[i].CancelledBy = by
			}
		}
	}
	return found
}
