package graph

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Entry is a command or an atomic batch that changed something, and whether it is still
// in effect. UNDO and REDO create no entries; they change the entry of their target.
type Entry struct {
	Sequence    Sequence
	CommandID   uuid.UUID
	Actor       uuid.UUID
	Type        Type
	CancelledBy Sequence // of the UNDO that cancelled it; 0: the command is in effect
}

// Entry returns the entry that a change adds to the stacks; false for UNDO and REDO, and for changes of
// links.
func (c *Change) Entry() (Entry, bool) {
	entry := Entry{Sequence: c.Sequence, CommandID: c.CommandID, Actor: c.Actor, Type: c.Type}
	return entry, c.Target == nil && c.Actor != LinkerActor
}

// Stacks are the undo and the redo stack of an actor, or of the workspace, as far as
// they were read. The undo stack is the newest [StackDepth] commands that are in effect,
// regardless of how many newer commands were undone. The redo stack is the commands that
// were undone after the newest command, whether that one is in effect or not: a new
// command clears the redo stack. An undone command is in no undo stack, regardless of who
// undid it.
//
// The lists may be longer than the stacks, so that an undo exposes the next command
// without reading the journal again. [Stacks.IsShort] reports whether that is required.
type Stacks struct {
	Newest   Sequence // of the newest command
	Undoable []Entry  // commands in effect, in the order of their sequences
	Redoable []Entry  // undone commands, in the order in which they were undone; all of them after Newest
	// UndoableFrom is the lowest sequence from which Standing is complete; 0: Standing has
	// all commands in effect. RedoableFrom is the same for Cancelled, by CancelledBy.
	UndoableFrom, RedoableFrom Sequence
}

// Undo returns the command to undo next: the newest that is in effect.
func (s *Stacks) Undo() (Entry, bool) { return last(s.Undoable) }

// Redo returns the command to redo next: of the redoable ones, the last that was undone.
func (s *Stacks) Redo() (Entry, bool) { return last(s.Redoable) }

func last(entries []Entry) (Entry, bool) {
	if len(entries) == 0 {
		return Entry{}, false
	}
	return entries[len(entries)-1], true
}

// Depths returns how many commands can be undone and redone now.
func (s *Stacks) Depths() (undo, redo int) {
	return min(len(s.Undoable), StackDepth), min(len(s.Redoable), StackDepth)
}

// IsShort reports whether the journal may have commands that belong to the stacks and
// are not in them.
func (s *Stacks) IsShort() bool {
	return len(s.Undoable) < StackDepth && s.UndoableFrom > 0 || len(s.Redoable) < StackDepth && s.RedoableFrom > 0
}

// Add adds a new command.
func (s *Stacks) Add(entry Entry) {
	s.Newest, s.Undoable = entry.Sequence, append(s.Undoable, entry)
	s.Redoable, s.RedoableFrom = nil, 0
}

// Cancel moves an entry, whose CancelledBy is set, from the undo to the redo stack.
func (s *Stacks) Cancel(entry Entry) {
	s.Undoable = without(s.Undoable, entry.Sequence)
	s.Redoable = append(s.Redoable, entry)
}

// Restore moves an entry from the redo to the undo stack.
func (s *Stacks) Restore(entry Entry) {
	s.Redoable = without(s.Redoable, entry.Sequence)
	if entry.Sequence < s.UndoableFrom {
		return // there may be unread commands between it and those of the list
	}
	entry.CancelledBy = 0
	index, _ := slices.BinarySearchFunc(s.Undoable, entry.Sequence, func(e Entry, sequence Sequence) int {
		return cmp.Compare(e.Sequence, sequence)
	})
	s.Undoable = slices.Insert(s.Undoable, index, entry)
}

func without(entries []Entry, sequence Sequence) []Entry {
	for i := len(entries) - 1; i >= 0; i-- { // it is usually the last
		if entries[i].Sequence == sequence {
			return slices.Delete(entries, i, i+1)
		}
	}
	return entries
}

// Top returns a copy with at most the newest limit entries of each list, for caching.
func (s *Stacks) Top(limit int) Stacks {
	top := *s
	if cut := len(s.Undoable) - limit; cut > 0 {
		top.UndoableFrom = s.Undoable[cut].Sequence
	}
	if cut := len(s.Redoable) - limit; cut > 0 {
		top.RedoableFrom = s.Redoable[cut].CancelledBy
	}
	top.Undoable, top.Redoable = newest(s.Undoable, limit), newest(s.Redoable, limit)
	return top
}

func newest(entries []Entry, limit int) []Entry {
	return slices.Clone(entries[max(0, len(entries)-limit):])
}

// pick returns the entry that an UNDO (undo) or a REDO refers to. The error is a NotFound
// fault if no command has the id, and a Conflict fault if there is nothing to undo or redo.
func pick(journal Journal, actor uuid.UUID, p Pick, undo bool) (Entry, error) {
	owner := actor
	if p.Workspace {
		owner = uuid.Nil
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
		named, owner = entry, entry.Actor
	}
	stacks, err := journal.StacksOf(owner)
	if err != nil {
		return Entry{}, err
	}
	if entry, ok := stacks.choose(named, undo); ok {
		return entry, nil
	}
	if undo {
		return Entry{}, fault.New(fault.Conflict, "Nothing to undo").With("reason", "nothing_to_undo")
	}
	return Entry{}, fault.New(fault.Conflict, "Nothing to redo").With("reason", "nothing_to_redo")
}

func (s *Stacks) choose(named *Entry, undo bool) (Entry, bool) {
	list := s.Redoable
	if undo {
		list = s.Undoable
	}
	if named == nil {
		return last(list)
	}
	for _, entry := range list[max(0, len(list)-StackDepth):] {
		if entry.Sequence == named.Sequence {
			return entry, true
		}
	}
	return Entry{}, false
}
