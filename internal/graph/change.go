package graph

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// Change is what a command, or an atomic batch, did: an entry of the journal. It
// holds what undo and redo need, and the whole of each resource that it touched
// but those of a [Cascade].
type Change struct {
	Sequence  Sequence
	CommandID uuid.UUID // of a batch: the batch's
	Actor     uuid.UUID
	Type      Type
	At        time.Time
	RequestID string
	Target    *Target // UNDO and REDO: which command
	Steps     []Step
}

// Target names the command that was undone or redone.
type Target struct {
	Sequence  Sequence
	CommandID uuid.UUID
	Type      Type
}

// Step is the effect of one command on one resource, and for a node on its edges.
// In the change of an UNDO or a REDO, Type is that of the command whose effect is
// taken back or made again.
type Step struct {
	Type    Type
	Before  Before
	Node    *Node // after the step; nil if it touched an edge
	Edge    *Edge
	Cascade *Cascade // deletions of a node and their undo, if it has edges
}

// Before is what a step wrote over.
type Before struct {
	Fields map[string]Field // the fields that it wrote, by their name in [Lifecycle.Stamps]
	// Stamps and Floor are those of a resource that the step deleted.
	Stamps map[string]Sequence
	Floor  Sequence
}

// Field is a value and the stamp with which it stood.
type Field struct {
	Value jsontext.Value // canonical; nil: the field was absent
	Stamp Sequence
}

// Cascade is what the deletion of a node does to its edges, or its undo. Taking:
// each edge of the node that stands becomes Deleted, with DeletedBy the mark's
// sequence and Taken the mark. Restoring: each edge that is gone because of the
// mark ([Edge.IsTaken] with that Taken) stands again, with DeletedBy 0, and keeps
// Taken. Either way an edge is touched ([Lifecycle.Touch]), and nothing else of it
// changes.
type Cascade struct {
	Mark     Mark
	Restored bool
	Count    int64       // of the edges
	Edges    []uuid.UUID // the first of them, at most MaxListed
}
