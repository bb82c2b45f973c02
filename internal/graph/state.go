package graph

import (
	"time"

	"github.com/google/uuid"
)

// State is the graph and the journal of a workspace. Commands are evaluated against it,
// and their effects are applied to it. Reads after an effect must see it. An error means
// that the state cannot be read or written; it is returned to the caller unchanged.
type State interface {
	Resources
	Journal

	// Do applies a step of the change with a sequence: it replaces the resource by that
	// of the step, and deletes or restores the edges of the cascade.
	Do(step *Step, sequence Sequence, at time.Time) error
	// Atomically runs f. If f fails, all effects of f are rolled back.
	Atomically(f func() error) error
	// Prefetch announces the change that is about to be undone or redone, so that the
	// state can read in one batch what the steps require. It affects no result.
	Prefetch(c *Change) error
}

// Resources reads nodes and edges, including deleted ones. This package does not modify
// the values that the methods return.
type Resources interface {
	// Node and Edge return nil for an id that was never used.
	Node(id uuid.UUID) (*Node, error)
	Edge(id uuid.UUID) (*Edge, error)
	// NodesByKey returns the live nodes with a key, at most limit of them.
	NodesByKey(key NodeKey, limit int) ([]*Node, error)
	// EdgesBetween returns the live edges of a type from one node to another, at most limit of
	// them.
	EdgesBetween(source, target uuid.UUID, relationType string, limit int) ([]*Edge, error)
	// LiveEdges returns the edges of a node that are not deleted.
	LiveEdges(node uuid.UUID, limit int) (EdgeSet, error)
	// TakenEdges returns the edges that are deleted because of a mark.
	TakenEdges(mark Mark, limit int) (EdgeSet, error)
	// Orphans returns those of the taken edges whose other end is deleted, except the
	// edges that the command of the mark (a batch) created itself: undoing the command
	// undoes their creation.
	Orphans(mark Mark, limit int) ([]uuid.UUID, error)
	// EdgesChangedSince returns the live edges of the node of a deletion that were added or changed
	// since the deletion was first applied: the deletion did not take them, or their
	// Newest is above its sequence. The journal has the edges that a deletion took; an
	// edge itself has only the last deletion that took it.
	EdgesChangedSince(taken Cascade, limit int) ([]uuid.UUID, error)
}

// EdgeSet is a set of edges that may be large: their number, and the first ones in any
// stable order.
type EdgeSet struct {
	Count int64
	First []uuid.UUID
}

// Journal reads the changes made so far.
type Journal interface {
	// Change returns the change with a sequence, which must exist.
	Change(sequence Sequence) (*Change, error)
	// Entry returns the entry of the command or batch with an id, nil if no such
	// command changed anything. UNDO and REDO have none.
	Entry(commandID uuid.UUID) (*Entry, error)
	// StacksOf returns the stacks of an actor, or of the workspace for uuid.Nil. IsShort
	// of the stacks is false.
	StacksOf(actor uuid.UUID) (Stacks, error)
}
