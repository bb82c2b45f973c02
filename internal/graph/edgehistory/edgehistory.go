// Package edgehistory computes past states of edges from the changes of the journal. A change has the whole edge after
// each step, except for the edges that were deleted or restored with a node: their state follows from their last step
// and the cascades of their ends after it.
package edgehistory

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
)

// place is the position of a step in the journal.
type place struct {
	sequence int64
	step     int
}

func (p place) compare(other place) int {
	return cmp.Or(cmp.Compare(p.sequence, other.sequence), cmp.Compare(p.step, other.step))
}

// edgeStep is the state of an edge after a step.
type edgeStep struct {
	edge *graph.Edge
	place
}

// cascadeStep is a step that deleted or restored the edges of a node.
type cascadeStep struct {
	cascade *graph.Cascade
	at      time.Time
	place
}

// History has the last step of edges, and the cascades of their ends.
type History struct {
	want     func(*graph.Edge) bool
	last     map[uuid.UUID]edgeStep
	cascades map[uuid.UUID]map[place]cascadeStep // by the node that was deleted or restored
}

// New creates an empty History of the edges for which want returns true when their steps are added.
func New(want func(*graph.Edge) bool) *History {
	return &History{want: want, last: map[uuid.UUID]edgeStep{}, cascades: map[uuid.UUID]map[place]cascadeStep{}}
}

// Add adds the steps of a change. Changes may be added in any order, and repeatedly.
func (h *History) Add(c *graph.Change) error {
	for i := range c.Steps {
		at := place{sequence: int64(c.Sequence), step: i}
		if e := c.Steps[i].Edge; e != nil && h.want(e) {
			if known, ok := h.last[e.ID]; !ok || known.compare(at) < 0 {
				h.last[e.ID] = edgeStep{edge: e, place: at}
			}
		}
		if cascade := c.Steps[i].Cascade; cascade != nil {
			node := cascade.Mark.Node
			if h.cascades[node] == nil {
				h.cascades[node] = map[place]cascadeStep{}
			}
			h.cascades[node][at] = cascadeStep{cascade: cascade, at: c.At, place: at}
		}
	}
	return nil
}

// Edges calls use with each edge as of its last step, and the sequence of the step, in no order.
func (h *History) Edges(use func(e *graph.Edge, sequence int64)) {
	for _, last := range h.last {
		use(last.edge, last.sequence)
	}
}

// State returns the state of an edge that has a step: after the step and the cascades since.
func (h *History) State(id uuid.UUID) *graph.Edge {
	last := h.last[id]
	e := *last.edge
	var since []cascadeStep
	for _, node := range slices.Compact([]uuid.UUID{e.SourceID, e.TargetID}) {
		for _, c := range h.cascades[node] {
			if c.compare(last.place) > 0 {
				since = append(since, c)
			}
		}
	}
	slices.SortFunc(since, func(a, b cascadeStep) int { return a.compare(b.place) })
	for i := range since {
		since[i].apply(&e)
	}
	return &e
}

// apply changes an edge as [graph.Cascade] describes.
func (c *cascadeStep) apply(e *graph.Edge) {
	mark := c.cascade.Mark
	switch {
	case !c.cascade.Restored && !e.Deleted:
		e.Deleted, e.DeletedBy, e.Taken = true, mark.Sequence, mark
	case c.cascade.Restored && e.IsTaken() && e.Taken == mark:
		e.Deleted, e.DeletedBy = false, 0
	default:
		return
	}
	e.Touch(graph.Sequence(c.sequence), c.at)
}
