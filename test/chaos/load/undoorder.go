package load

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphtest"
)

// depthCheckInterval is the interval of changes at which answered depths are compared with the
// oracle, which reads all commands of the workspace for that.
const depthCheckInterval = 4

// undoOrder checks the UNDO and REDO commands of a workspace's journal against an oracle that
// shares no code with the stacks of the service.
type undoOrder struct{ oracle graphtest.Oracle }

// depths are the numbers of commands that an actor can undo and redo after a command, as was
// answered.
type depths struct{ undo, redo int }

// follow records a change, and checks the target of an UNDO or a REDO: the load names no command,
// so the target is the next one of its actor or of the workspace. answered contains the depths of
// the answer, nil if unknown.
func (t *undoOrder) follow(c *graph.Change, answered *depths) (found []Violation) {
	sequence := int64(c.Sequence)
	switch {
	case c.Target == nil:
		t.oracle.RecordCommand(sequence, c.Actor)
	case c.Type == graph.TypeUndo:
		found = t.checkTarget(c, t.oracle.NextUndo)
		t.oracle.RecordUndo(sequence, int64(c.Target.Sequence))
	default:
		found = t.checkTarget(c, t.oracle.NextRedo)
		t.oracle.RecordRedo(int64(c.Target.Sequence))
	}
	if answered == nil || sequence%depthCheckInterval != 0 && c.Target == nil {
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

func (t *undoOrder) checkTarget(c *graph.Change, next func(actor uuid.UUID) int64) []Violation {
	actorNext, workspaceNext := next(c.Actor), next(uuid.Nil)
	if target := int64(c.Target.Sequence); target == actorNext || target == workspaceNext {
		return nil
	}
	return []Violation{{8, "an undo or redo is not of the command whose turn it was", fmt.Sprintf(
		"change %d of actor %s is %s of %d; it was the turn of %d or %d", c.Sequence, c.Actor, c.Type, c.Target.Sequence,
		actorNext, workspaceNext)}}
}
