package graphjson

import (
	"github.com/google/uuid"

	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
)

// Answer is the result of a command that was applied.
type Answer struct {
	CommandID uuid.UUID `json:"commandId"` // for a command of an atomic batch: the id of the batch
	Type      string    `json:"type"`
	Status    string    `json:"status"`
	Effect    string    `json:"effect,omitempty"` // of an upsert: created, updated or unchanged
	Node      *Node     `json:"node,omitzero"`    // after the command; of UNDO and REDO only if they touched one
	Edge      *Edge     `json:"edge,omitzero"`
	Affected  Affected  `json:"affected"`
	Target    *Target   `json:"target,omitzero"` // UNDO and REDO
	UndoDepth int32     `json:"undoDepth"`       // how many commands the actor can undo from here
	RedoDepth int32     `json:"redoDepth"`
	Sequence  *int64    `json:"sequence"` // of the change; null: nothing changed
}

// Applied is the status of a command that was applied.
const Applied = "applied"

// Affected lists what a command touched: at most 1,000 ids of a kind, and how many
// there are.
type Affected struct {
	Nodes  []uuid.UUID `json:"nodes"`
	Edges  []uuid.UUID `json:"edges"`
	Counts Counts      `json:"counts"`
}

// Counts are numbers of resources.
type Counts struct {
	Nodes int64 `json:"nodes"`
	Edges int64 `json:"edges"`
}

// Target is the command that was undone or redone.
type Target struct {
	CommandID uuid.UUID `json:"commandId"`
	Type      string    `json:"type"`
}

// OfResult returns the answer of the command at an index of an outcome. The command must not
// have failed. The commands of an atomic batch have the id, sequence and depths of the batch.
func OfResult(o *eventsv1.Outcome, index int) Answer {
	r := o.GetResults()[index]
	answer := Answer{
		CommandID: id(o.GetId()), Type: r.GetType(), Status: Applied, Effect: r.GetEffect(),
		Node: RecordedNode(r.GetNode()), Edge: RecordedEdge(r.GetEdge()),
		Affected: affected(r.GetAffected()), Target: target(r.GetTarget()),
		UndoDepth: o.GetUndoDepth(), RedoDepth: o.GetRedoDepth(), Sequence: sequence(o.GetSequence()),
	}
	if own := r.GetCommandId(); len(own) > 0 && id(own) != answer.CommandID { // of a batch that is not atomic
		answer.CommandID = id(own)
		answer.UndoDepth, answer.RedoDepth, answer.Sequence = r.GetUndoDepth(), r.GetRedoDepth(), sequence(r.GetSequence())
	}
	return answer
}

func affected(a *eventsv1.Affected) Affected {
	return Affected{
		Nodes: ids(a.GetNodeIds()), Edges: ids(a.GetEdgeIds()),
		Counts: Counts{Nodes: a.GetNodes(), Edges: a.GetEdges()},
	}
}

func target(t *eventsv1.Target) *Target {
	if t == nil {
		return nil
	}
	return &Target{CommandID: id(t.GetCommandId()), Type: t.GetType()}
}

func sequence(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}
