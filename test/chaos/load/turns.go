package load

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphtest"
)

// depthsEach is of how many changes one has the answered depths held against the oracle,
// which reads all commands of the workspace for that.
const depthsEach = 4

// turns hold the UNDO and REDO commands of a workspace's journal against an oracle that
// shares nothing with the service's own stacks.
type turns struct{ oracle graphtest.Oracle }

// depths are how many commands an actor can undo and redo after a command, as was answered.
type depths struct{ undo, redo int }

// follow takes up a change, and holds an UNDO or a REDO against whose turn it was: the
// load names no command, so it is about the next of its actor, or of the workspace.
// answered are the depths that came with the answer, nil if none is known.
func (t *turns) follow(c *graph.Change, answered *depths) (found []Violation) {
	sequence := int64(c.Sequence)
	switch {
	case c.Target == nil:
		t.oracle.Did(sequence, c.Actor)
	case c.Type == graph.TypeUndo:
		found = t.due(c, t.oracle.NextUndo)
		t.oracle.Undid(sequence, int64(c.Target.Sequence))
	default:
		found = t.due(c, t.oracle.NextRedo)
		t.oracle.Redid(int64(c.Target.Sequence))
	}
	if answered == nil || sequence%depthsEach != 0 && c.Target == nil {
		return found
	}
	if undo, redo := t.oracle.Depths(c.Actor); undo != answered.undo || redo != answered.redo {
		found = append(
			found,
			Violation{17, "an actor can undo or redo another number of commands than was answered", fmt.Sprintf(
				"after change %d of actor %s: answered %d and %d, must be %d and %d", sequence, c.Actor, answered.undo,
				answered.redo, undo, redo)},
		)
	}
	return found
}

func (t *turns) due(c *graph.Change, next func(actor uuid.UUID) int64) []Violation {
	mine, anybodys := next(c.Actor), next(uuid.Nil)
	if target := int64(c.Target.Sequence); target == mine || target == anybodys {
		return nil
	}
	return []Violation{{8, "an undo or redo is not of the command whose turn it was", fmt.Sprintf(
		"change %d of actor %s is %s of %d; it was the turn of %d or %d", c.Sequence, c.Actor, c.Type, c.Target.Sequence,
		mine, anybodys)}}
}
