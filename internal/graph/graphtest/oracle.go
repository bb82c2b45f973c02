package graphtest

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
)

// oracleDepth is the maximum number of commands that an actor can undo, or redo.
const oracleDepth = 100

// Oracle computes which commands can be undone and redone. It keeps a list of all
// commands, and reads all of it for each query. It shares no code with package graph,
// whose stacks it verifies. The actor uuid.Nil means the whole workspace.
type Oracle struct{ commands []oracleCommand }

type oracleCommand struct {
	sequence int64
	actor    uuid.UUID
	undoneBy int64 // 0: the command is in effect
}

// RecordCommand records a command that changed something.
func (o *Oracle) RecordCommand(sequence int64, actor uuid.UUID) {
	o.commands = append(o.commands, oracleCommand{sequence: sequence, actor: actor})
}

// RecordUndo records that the change with a sequence undid the command of another.
func (o *Oracle) RecordUndo(sequence, target int64) { o.set(target, sequence) }

// RecordRedo records that a command was redone.
func (o *Oracle) RecordRedo(target int64) { o.set(target, 0) }

func (o *Oracle) set(target, undoneBy int64) {
	for i := range o.commands {
		if o.commands[i].sequence == target {
			o.commands[i].undoneBy = undoneBy
		}
	}
}

// undoable returns the sequences of the newest hundred commands in effect, newest first.
func (o *Oracle) undoable(actor uuid.UUID) []int64 {
	var found []int64
	for i := len(o.commands) - 1; i >= 0 && len(found) < oracleDepth; i-- {
		c := o.commands[i]
		if (actor == uuid.Nil || c.actor == actor) && c.undoneBy == 0 {
			found = append(found, c.sequence)
		}
	}
	return found
}

// redoable returns the sequences of the hundred commands that were undone last, the last
// undone first. A new command clears those that were undone before it.
func (o *Oracle) redoable(actor uuid.UUID) []int64 {
	var undone []oracleCommand
	newest := int64(0)
	for _, c := range o.commands {
		if actor != uuid.Nil && c.actor != actor {
			continue
		}
		newest = max(newest, c.sequence)
		if c.undoneBy != 0 {
			undone = append(undone, c)
		}
	}
	slices.SortFunc(undone, func(a, b oracleCommand) int { return cmp.Compare(b.undoneBy, a.undoneBy) })
	var found []int64
	for _, c := range undone {
		if c.undoneBy > newest && len(found) < oracleDepth {
			found = append(found, c.sequence)
		}
	}
	return found
}

// NextUndo returns the sequence of the command that an UNDO undoes; 0: none.
func (o *Oracle) NextUndo(actor uuid.UUID) int64 { return first(o.undoable(actor)) }

// NextRedo returns the sequence of the command that a REDO redoes; 0: none.
func (o *Oracle) NextRedo(actor uuid.UUID) int64 { return first(o.redoable(actor)) }

func first(sequences []int64) int64 {
	if len(sequences) == 0 {
		return 0
	}
	return sequences[0]
}

// CanUndo reports whether the command with a sequence can be undone by its id.
func (o *Oracle) CanUndo(target int64) bool { return o.contains(target, o.undoable) }

// CanRedo reports whether the command with a sequence can be redone by its id.
func (o *Oracle) CanRedo(target int64) bool { return o.contains(target, o.redoable) }

func (o *Oracle) contains(target int64, list func(uuid.UUID) []int64) bool {
	for _, c := range o.commands {
		if c.sequence != target {
			continue
		}
		for _, sequence := range list(c.actor) {
			if sequence == target {
				return true
			}
		}
	}
	return false
}

// Depths returns how many commands an actor can undo and redo.
func (o *Oracle) Depths(actor uuid.UUID) (undo, redo int) {
	return len(o.undoable(actor)), len(o.redoable(actor))
}
