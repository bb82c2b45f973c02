package graphjson

import (
	"time"

	"github.com/google/uuid"

	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
)

// Change is an entry of the journal. One that touched a single resource has it as
// Node or Edge, with Cascade if edges went or came back with it; one that touched
// several, of a batch, has Steps instead.
type Change struct {
	Sequence  int64     `json:"sequence"`
	CommandID uuid.UUID `json:"commandId"` // of a batch: the batch's
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

// Step is what one command of a batch did. In an UNDO or a REDO, Type is that of
// the command whose effect is taken back or made again.
type Step struct {
	Type    string   `json:"type"`
	Node    *Node    `json:"node,omitzero"`
	Edge    *Edge    `json:"edge,omitzero"`
	Cascade *Cascade `json:"cascade,omitzero"`
}

// Cascade is the edges that went with a deleted node, or came back with it.
type Cascade struct {
	Restored bool        `json:"restored"`
	Count    int64       `json:"count"`
	Edges    []uuid.UUID `json:"edges"` // the first 1,000
}

// CascadeEdges is a portion of the edges that went with a deleted node, or came back
// with it.
type CascadeEdges struct {
	NodeID   uuid.UUID   `json:"nodeId"`
	Restored bool        `json:"restored"`
	First    int64       `json:"first"` // the place of the first among all of the node, from 0
	Edges    []uuid.UUID `json:"edges"` // at most 1,000
}

// OfCascade shows a cascade of the journal.
func OfCascade(c *eventsv1.Cascade) Cascade {
	return Cascade{Restored: c.GetRestored(), Count: c.GetCount(), Edges: ids(c.GetEdgeIds())}
}

// OfChange shows a change of the journal.
func OfChange(c *eventsv1.Change) Change {
	change := Change{
		Sequence: c.GetSequence(), CommandID: id(c.GetCommandId()), ActorID: id(c.GetActorId()), Type: c.GetType(),
		At: at(c.GetAtUs()), RequestID: c.GetRequestId(), Target: target(c.GetTarget()),
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
