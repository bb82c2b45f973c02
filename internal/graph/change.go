package graph

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// Change is the effect of a command or an atomic batch: an entry of the journal. It has
// what undo and redo require, and the complete state of each resource that it touched,
// except the edges of a [Cascade].
type Change struct {
	Sequence  Sequence
	CommandID uuid.UUID // of a batch: the id of the batch
	Actor     uuid.UUID
	Type      Type
	At        time.Time
	RequestID string
	Target    *Target // UNDO and REDO: the command that was undone or redone
	Steps     []Step
}

// Target names the command that was undone or redone.
type Target struct {
	Sequence  Sequence
	CommandID uuid.UUID
	Type      Type
}

// Step is the effect of one command on one resource, and for a node on its edges.
// In the change of an UNDO or a REDO, Type is that of the command whose effect is undone
// or redone.
type Step struct {
	Type    Type
	Before  Before
	Node    *Node // after the step; nil if it touched an edge
	Edge    *Edge
	Cascade *Cascade // for the deletion of a node that has edges, and its undo
}

// Before is the state that a step overwrote.
type Before struct {
	Fields map[string]Field // the fields that the step wrote, by their name in [Lifecycle.Stamps]
	// Stamps and Floor are those of a resource that the step deleted.
	Stamps map[string]Sequence
	Floor  Sequence
}

// Field is the value of a field and its stamp.
type Field struct {
	Value jsontext.Value // canonical; nil: the field was absent
	Stamp Sequence
}

// Cascade is the effect of the deletion of a node, or of its undo, on the edges of the
// node. A deletion sets Deleted on each live edge of the node, sets DeletedBy to the
// sequence of the mark, and Taken to the mark. The undo (Restored) clears Deleted and
// DeletedBy of each edge that is deleted because of the mark ([Edge.IsTaken] with that
// Taken), and keeps Taken. Both touch each edge ([Lifecycle.Touch]), and change nothing
// else of it.
type Cascade struct {
	Mark     Mark
	Restored bool
	Count    int64       // number of the edges
	Edges    []uuid.UUID // the first of the edges, at most MaxListed
}
