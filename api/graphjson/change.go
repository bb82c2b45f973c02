package graphjson

import (
	"time"

	"github.com/google/uuid"

	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
)

// Change is an entry of the journal. A change with a single step has Node or Edge, and Cascade
// if edges were deleted or restored with the node. A change with several steps, of a batch, has
// Steps instead.
type Change struct {
	Sequence  int64     `json:"sequence"`
	CommandID uuid.UUID `json:"commandId"` // for a batch: the id of the batch
	ActorID   uuid.UUID `json:"actorId"`
	Type      string    `json:"type"`
	At        time.Time `json:"at"`
	RequestID string    `json:"requestId"`
	Target    *Target   `json:"target,omitzero"` // UNDO and REDO
	Node      *Node     `json:"node,omitzero"`   // after the change
	Edge      *Edge     `json:"edge,omitzero"`
	Cascade   *Cascade  `json:"cascade,omitzero"`
	Steps     []Step    `json:"steps,omitempty"` // in their order
}

// Step is the effect of one command of a batch. In an UNDO or a REDO, Type is the type of the
// command that is undone or redone.
type Step struct {
	Type    string   `json:"type"`
	Node    *Node    `json:"node,omitzero"`
	Edge    *Edge    `json:"edge,omitzero"`
	Cascade *Cascade `json:"cascade,omitzero"`
}

// Cascade describes the edges that were deleted or restored with a node.
type Cascade struct {
	Restored bool        `json:"restored"`
	Count    int64       `json:"count"`
	Edges    []uuid.UUID `json:"edges"` // the first 1,000
}

// CascadeEdges is a page of the edges that were deleted or restored with a node.
type CascadeEdges struct {
	NodeID   uuid.UUID   `json:"nodeId"`
	Restored bool        `json:"restored"`
	First    int64       `json:"first"` // index of the first edge among all of the node, from 0
	Edges    []uuid.UUID `json:"edges"` // at most 1,000
}

// OfCascade converts a cascade of the journal.
func OfCascade(c *eventsv1.Cascade) Cascade {
	return Cascade{Restored: c.GetRestored(), Count: c.GetCount(), Edges: ids(c.GetEdgeIds())}
}

// OfChange converts a change of the journal.
func OfChange(c *eventsv1.Change) Change {
	change := Change{
		Sequence: c.GetSequence(), CommandID: id(c.GetCommandId()), ActorID: id(c.GetActorId()), Type: c.GetType(),
		At: timeOf(c.GetAtUs()), RequestID: c.GetRequestId(), Target: target(c.GetTarget()),
	}
	if steps := c.GetSteps(); len(steps) == 1 {
		step := ofStep(steps[0])
		change.Node, change.Edge, change.Cascade = step.Node, step.Edge, step.Cascade
	} else {
		for _, step := range steps {
			change.Steps = append(change.Steps, ofStep(step))
		}
	}
	return change
}

func ofStep(s *eventsv1.Step) Step {
	step := Step{Type: s.GetType(), Node: RecordedNode(s.GetNode()), Edge: RecordedEdge(s.GetEdge())}
	if c := s.GetCascade(); c != nil {
		cascade := OfCascade(c)
		step.Cascade = &cascade
	}
	return step
}
