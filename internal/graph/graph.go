// Package graph is the domain of the graph: nodes, edges, the commands that
// change them, and how each is undone and redone. It is pure: what it decides
// against comes through [State], what it decides is a [Change], and nothing here
// waits for anything or knows of a store.
//
// # Sequences and stamps
//
// Every change of a workspace has a sequence, from 1, without gaps. A resource
// remembers for each of its fields which command's effect stands there: the
// field's stamp, a sequence. That alone decides whether an undo is possible: a
// command can be undone while what it wrote still carries its stamp, and its undo
// puts back the values and the stamps of before, so that an earlier command can
// then be undone in its turn. Redo requires the stamps of before, and puts the values
// and the command's own stamp back. So undo and redo cost the same however long
// the journal is, and what stands is at any time what the commands that are not
// undone have made of nothing, in the order of their sequences.
//
// What does not stand is frozen: a deleted resource is not changed, neither by a
// command nor by an undo, until what deleted it is undone.
//
// # Cascades
//
// Deleting a node deletes its edges in the same change. They may be a hundred
// thousand, so a change names them by a [Mark], never one by one: see [Cascade].
package graph

import (
	"time"

	"github.com/google/uuid"
)

// EntityType is what sort of thing a node is.
type EntityType string

// The entity types of the interface.
const (
	Concept EntityType = "concept"
	Object  EntityType = "object"
	Process EntityType = "process"
	Actor   EntityType = "actor"
)

// Sequence numbers the changes of a workspace, from 1. 0 means none.
type Sequence int64

// Kind reports whether something is a node or an edge.
type Kind uint8

// The kinds of resource.
const (
	KindNode Kind = 1
	KindEdge Kind = 2
)

// String is the kind as the interface writes it.
func (k Kind) String() string {
	if k == KindNode {
		return "node"
	}
	return "edge"
}

// Node is an entity, as its workspace's journal has it. A deleted node is kept:
// its id is never used again, and its version goes on if it comes back.
type Node struct {
	ID          uuid.UUID
	Name        string
	EntityType  EntityType
	Description *string // nil: none
	Properties  Properties
	Lifecycle
}

// Edge is a relation between two nodes that stand while it does.
type Edge struct {
	ID           uuid.UUID
	SourceID     uuid.UUID
	TargetID     uuid.UUID
	RelationType string
	Properties   Properties
	Lifecycle
	// Taken is the deletion of a node that last took this edge with it. It is kept
	// when the edge comes back; other deletions may have taken it before.
	Taken Mark
}

// IsTaken reports that the edge is gone because a deletion of one of its ends took it.
func (e *Edge) IsTaken() bool {
	return e.Deleted && e.DeletedBy != 0 && e.DeletedBy == e.Taken.Sequence
}

// Mark names the edges that one deletion of a node took with it: they carry it in
// [Edge.Taken]. The node is part of it because a batch may delete several nodes
// with one sequence.
type Mark struct {
	Sequence Sequence // of the command that deleted the node; a redo uses it again
	Node     uuid.UUID
}

// Lifecycle is what nodes and edges have in common: when and by which changes
// they came to be as they are.
type Lifecycle struct {
	CreatedAt time.Time // UTC, to the microsecond; kept by a resource that comes back
	UpdatedAt time.Time
	// Version is 1 at first and goes up by one at each change that touches the
	// resource, undo, redo, deletion and cascade included, also when a batch
	// touches it several times in its one change.
	Version int64
	// ChangedBy is the sequence of the change that touched the resource last.
	ChangedBy Sequence

	// CreatedBy is the sequence of the command that made the resource: the stamp of
	// its existence and of each field that Stamps does not name.
	CreatedBy Sequence
	// Deleted says that the resource does not stand. DeletedBy is then the sequence
	// of the command whose deletion stands, 0 if the resource is gone because its
	// creation was undone.
	Deleted   bool
	DeletedBy Sequence
	// Stamps has the sequence of the command whose effect stands in a field, where
	// that is not CreatedBy: "name", "entityType", "description", "relationType",
	// and "properties." before the name of a top-level property, also of one that
	// is absent because that command removed it.
	Stamps map[string]Sequence
	// Floor bounds Stamps: an absent property without its own stamp was last
	// written by some command up to Floor. See [MaxStamps].
	Floor Sequence
}

// Newest is the highest sequence that made or wrote what stands in the resource.
func (l *Lifecycle) Newest() Sequence {
	newest := max(l.CreatedBy, l.Floor)
	for _, stamp := range l.Stamps {
		newest = max(newest, stamp)
	}
	return newest
}

// Touch counts a change of the resource, once for each sequence.
func (l *Lifecycle) Touch(sequence Sequence, at time.Time) {
	if l.ChangedBy != sequence {
		l.Version++
		l.ChangedBy = sequence
	}
	l.UpdatedAt = at
	if at.Before(l.CreatedAt) { // a clock was set back; lists go by this
		l.UpdatedAt = l.CreatedAt
	}
}

// goneBy is the sequence of the change to name for a resource that does not stand.
func (l *Lifecycle) goneBy() Sequence {
	if l.DeletedBy != 0 {
		return l.DeletedBy
	}
	return l.ChangedBy // the undo of its creation: nothing has touched it since
}
