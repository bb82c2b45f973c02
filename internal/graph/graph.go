// Package graph is the domain of the graph: nodes, edges, the commands that
// change them, and how each command is undone and redone. The package is pure: it
// reads through [State], its result is a [Change], and it does no I/O itself and
// depends on no store.
//
// # Sequences and stamps
//
// Every change of a workspace has a sequence, from 1, without gaps. A resource
// stores for each of its fields the sequence of the command that wrote the current
// value: the field's stamp. The stamps alone decide whether an undo is possible: a
// command can be undone while the fields that it wrote still carry its stamp. The
// undo restores the previous values and stamps, so that an earlier command can be
// undone next. A redo requires these previous stamps, and restores the values and
// the stamp of the command. So the cost of undo and redo does not depend on the
// length of the journal, and the graph is always the result of applying the commands
// that are not undone to an empty graph, in the order of their sequences.
//
// A deleted resource is frozen: neither a command nor an undo changes it until its
// deletion is undone.
//
// # Cascades
//
// Deleting a node deletes its edges in the same change. A node may have a hundred
// thousand edges, so a change identifies them by a [Mark]: see [Cascade].
package graph

import (
	"time"

	"github.com/google/uuid"
)

// EntityType is the type of a node.
type EntityType string

// The entity types of the API.
const (
	Concept EntityType = "concept"
	Object  EntityType = "object"
	Process EntityType = "process"
	Actor   EntityType = "actor"
)

// Sequence numbers the changes of a workspace, from 1. 0 means none.
type Sequence int64

// Kind is the kind of a resource: node or edge.
type Kind uint8

// The kinds of resource.
const (
	KindNode Kind = 1
	KindEdge Kind = 2
)

// String returns the kind as the API writes it.
func (k Kind) String() string {
	if k == KindNode {
		return "node"
	}
	return "edge"
}

// Node is an entity in the state that its workspace's journal defines. A deleted node
// is kept: its id is never used again, and its version continues if it is restored.
type Node struct {
	ID          uuid.UUID
	Name        string
	EntityType  EntityType
	Description *string // nil: none
	Properties  Properties
	Lifecycle
}

// Edge is a relation between two nodes, which are live as long as the edge is.
type Edge struct {
	ID           uuid.UUID
	SourceID     uuid.UUID
	TargetID     uuid.UUID
	RelationType string
	Properties   Properties
	Lifecycle
	// Taken identifies the last deletion of a node that deleted this edge in cascade. It
	// is kept when the edge is restored. Earlier deletions may have deleted the edge too.
	Taken Mark
}

// IsTaken reports whether the edge is deleted because one of its ends was deleted.
func (e *Edge) IsTaken() bool {
	return e.Deleted && e.DeletedBy != 0 && e.DeletedBy == e.Taken.Sequence
}

// Mark identifies the edges that the deletion of one node deleted in cascade: they
// carry it in [Edge.Taken]. It includes the node because a batch may delete several
// nodes with one sequence.
type Mark struct {
	Sequence Sequence // of the command that deleted the node; a redo reuses it
	Node     uuid.UUID
}

// Lifecycle has the fields that nodes and edges have in common: when and by which
// changes a resource was created, changed and deleted.
type Lifecycle struct {
	CreatedAt time.Time // UTC, to the microsecond; kept when the resource is restored
	UpdatedAt time.Time
	// Version is initially 1. Each change that touches the resource increments it by
	// one, including undo, redo, deletion and cascade. A batch that touches the resource
	// several times is one change.
	Version int64
	// ChangedBy is the sequence of the change that touched the resource last.
	ChangedBy Sequence

	// CreatedBy is the sequence of the command that created the resource: the stamp of
	// its existence and of each field that has no entry in Stamps.
	CreatedBy Sequence
	// Deleted reports whether the resource is deleted. DeletedBy is then the sequence of
	// the command that deleted it, or 0 if its creation was undone.
	Deleted   bool
	DeletedBy Sequence
	// Stamps has for each field the sequence of the command that wrote its current
	// value, where that is not CreatedBy. The keys are "name", "entityType",
	// "description", "relationType", and "properties." followed by the name of a
	// top-level property. A property that a command removed keeps the stamp of that
	// command.
	Stamps map[string]Sequence
	// Floor bounds Stamps: an absent property that has no entry in Stamps was last
	// written by a command whose sequence is at most Floor. See [MaxStamps].
	Floor Sequence
}

// Newest returns the highest sequence that created the resource or wrote its current
// values.
func (l *Lifecycle) Newest() Sequence {
	newest := max(l.CreatedBy, l.Floor)
	for _, stamp := range l.Stamps {
		newest = max(newest, stamp)
	}
	return newest
}

// Touch records that a change touched the resource. It increments the version once for
// each sequence.
func (l *Lifecycle) Touch(sequence Sequence, at time.Time) {
	if l.ChangedBy != sequence {
		l.Version++
		l.ChangedBy = sequence
	}
	l.UpdatedAt = at
	if at.Before(l.CreatedAt) { // a clock was set back; lists are sorted by UpdatedAt
		l.UpdatedAt = l.CreatedAt
	}
}

// removedBy returns the sequence of the change that a conflict reports for a deleted
// resource.
func (l *Lifecycle) removedBy() Sequence {
	if l.DeletedBy != 0 {
		return l.DeletedBy
	}
	return l.ChangedBy // the undo of its creation: no change has touched it since
}
