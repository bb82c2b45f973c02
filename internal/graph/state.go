package graph

import (
	"time"

	"github.com/google/uuid"
)

// State is a workspace's graph and journal: what a command is decided against, and
// where its effect goes. Each effect must show in the answers that follow it. An
// error means that the state cannot answer; it is handed on as it is.
type State interface {
	Resources
	Journal

	// Do carries out a step of the change with a sequence: the resource becomes
	// the step's, and the cascade takes or restores edges.
	Do(step *Step, sequence Sequence, at time.Time) error
	// Atomically runs f. If f fails, the state is again as it was before.
	Atomically(f func() error) error
	// Foresee is told which change is about to be undone or redone, so that what its
	// steps look at can be read together. It changes no answer.
	Foresee(c *Change) error
}

// Resources are the nodes and edges, the deleted ones included. What they give
// out is not changed by this package.
type Resources interface {
	// Node and Edge give nil for an id that was never used.
	Node(id uuid.UUID) (*Node, error)
	Edge(id uuid.UUID) (*Edge, error)
	// LiveEdges are the edges that stand with an end at a node.
	LiveEdges(node uuid.UUID, limit int) (EdgeSet, error)
	// TakenEdges are the edges that are gone because of a mark.
	TakenEdges(mark Mark, limit int) (EdgeSet, error)
	// Orphans are those of the taken edges whose other end does not stand, except for
	// the edges that the mark's own command (a batch) made: undoing it unmakes them.
	Orphans(mark Mark, limit int) ([]uuid.UUID, error)
	// Strays are the edges that stand at the node of a deletion and that it did not find
	// there as they are: they are not among those that it took, or their Newest is above
	// its sequence. Which it took is a fact of the journal; the edge itself knows only the
	// last deletion that took it.
	Strays(taken Cascade, limit int) ([]uuid.UUID, error)
}

// EdgeSet is a set of edges that may be large: their number, and the first in any
// lasting order.
type EdgeSet struct {
	Count int64
	First []uuid.UUID
}

// Journal is what was done so far.
type Journal interface {
	// Change returns the change with a sequence, which exists.
	Change(sequence Sequence) (*Change, error)
	// Entry returns the entry of the command or batch with an id, nil if no such
	// command changed anything. UNDO and REDO have none.
	Entry(commandID uuid.UUID) (*Entry, error)
	// StacksOf returns the stacks of an actor, or with uuid.Nil of the workspace. They are
	// not short.
	StacksOf(actor uuid.UUID) (Stacks, error)
}
