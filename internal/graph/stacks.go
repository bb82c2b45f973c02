package graph

import (
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/fault"
)

// Entry is a command or an atomic batch that changed something, and whether it
// still stands. UNDO and REDO make no entries, they change those of their target.
type Entry struct {
	Sequence    Sequence
	CommandID   uuid.UUID
	Actor       uuid.UUID
	Type        Type
	CancelledBy Sequence // of the UNDO that stands against it; 0: the command stands
}

// Entry gives what a change adds to the stacks; false for UNDO and REDO.
func (c *Change) Entry() (Entry, bool) {
	entry := Entry{Sequence: c.Sequence, CommandID: c.CommandID, Actor: c.Actor, Type: c.Type}
	return entry, c.Target == nil
}

// Stacks are the undo and the redo stack of an actor, or of the workspace: both
// are there in its newest entries, at most [StackDepth], in the order of their
// sequences. An undone command is in nobody's undo stack, whoever undid it.
type Stacks []Entry

// Undo gives the command to undo next: of those that stand the newest.
func (s Stacks) Undo() (Entry, bool) {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i].CancelledBy == 0 {
			return s[i], true
		}
	}
	return Entry{}, false
}

// Redo gives the command to redo next: of the redoable ones that cancelled last.
func (s Stacks) Redo() (Entry, bool) {
	var last Entry
	for _, entry := range s {
		if s.redoable(entry) && entry.CancelledBy > last.CancelledBy {
			last = entry
		}
	}
	return last, last.CancelledBy != 0
}

// redoable says that a command was cancelled after the newest of the stack's: a
// new command clears what there was to redo.
func (s Stacks) redoable(entry Entry) bool {
	return entry.CancelledBy > s[len(s)-1].Sequence
}

// Depths says how many commands can be undone and redone, one after the other.
func (s Stacks) Depths() (undo, redo int) {
	for _, entry := range s {
		if entry.CancelledBy == 0 {
			undo++
		} else if s.redoable(entry) {
			redo++
		}
	}
	return undo, redo
}

// find gives the entry with a sequence.
func (s Stacks) find(sequence Sequence) (Entry, bool) {
	for _, entry := range s {
		if entry.Sequence == sequence {
			return entry, true
		}
	}
	return Entry{}, false
}

// pick finds the entry that an UNDO (undo) or a REDO is about: a NotFound fault for
// an id of no command, else a Conflict.
func pick(journal Journal, actor uuid.UUID, p Pick, undo bool) (Entry, error) {
	whose := actor
	if p.Workspace {
		whose = uuid.Nil
	}
	var named *Entry
	if p.CommandID != uuid.Nil {
		entry, err := journal.Entry(p.CommandID)
		if err != nil {
			return Entry{}, err
		}
		if entry == nil {
			return Entry{}, notFound("Command", "payload.commandId")
		}
		named, whose = entry, entry.Actor
	}
	newest, err := journal.Newest(whose, StackDepth)
	if err != nil {
		return Entry{}, err
	}
	if entry, ok := Stacks(newest).choose(named, undo); ok {
		return entry, nil
	}
	if undo {
		return Entry{}, fault.New(fault.Conflict, "Nothing to undo").With("reason", "nothing_to_undo")
	}
	return Entry{}, fault.New(fault.Conflict, "Nothing to redo").With("reason", "nothing_to_redo")
}

func (s Stacks) choose(named *Entry, undo bool) (Entry, bool) {
	switch {
	case named == nil && undo:
		return s.Undo()
	case named == nil:
		return s.Redo()
	}
	entry, ok := s.find(named.Sequence)
	if undo {
		return entry, ok && entry.CancelledBy == 0
	}
	return entry, ok && s.redoable(entry)
}
