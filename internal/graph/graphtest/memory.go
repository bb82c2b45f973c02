// Package graphtest has what tests of the graph share: a reference implementation of
// graph.State, with which others are compared.
package graphtest

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
)

// Memory is the reference implementation of graph.State: a workspace's graph and journal
// in maps.
type Memory struct {
	Nodes   map[uuid.UUID]*graph.Node // including deleted ones
	Edges   map[uuid.UUID]*graph.Edge
	Journal []*graph.Change // the change with sequence n is at index n-1
	Entries []graph.Entry
}

// NewMemory creates an empty Memory.
func NewMemory() *Memory {
	return &Memory{Nodes: map[uuid.UUID]*graph.Node{}, Edges: map[uuid.UUID]*graph.Edge{}}
}

// Node implements graph.Resources.
func (m *Memory) Node(id uuid.UUID) (*graph.Node, error) { return m.Nodes[id], nil }

// Edge implements graph.Resources.
func (m *Memory) Edge(id uuid.UUID) (*graph.Edge, error) { return m.Edges[id], nil }

// NodesByKey implements graph.Resources.
func (m *Memory) NodesByKey(key graph.NodeKey, limit int) ([]*graph.Node, error) {
	var found []*graph.Node
	for _, n := range m.Nodes {
		if key.Matches(n) {
			found = append(found, n)
		}
	}
	slices.SortFunc(found, func(a, b *graph.Node) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return found[:min(limit, len(found))], nil
}

// EdgesBetween implements graph.Resources.
func (m *Memory) EdgesBetween(source, target uuid.UUID, relationType string, limit int) ([]*graph.Edge, error) {
	ids := m.filterEdges(func(e *graph.Edge) bool {
		return !e.Deleted && e.SourceID == source && e.TargetID == target && e.RelationType == relationType
	})
	var found []*graph.Edge
	for _, id := range ids[:min(limit, len(ids))] {
		found = append(found, m.Edges[id])
	}
	return found, nil
}

func touches(e *graph.Edge, node uuid.UUID) bool { return e.SourceID == node || e.TargetID == node }

func (m *Memory) filterEdges(match func(*graph.Edge) bool) []uuid.UUID {
	var ids []uuid.UUID
	for id, e := range m.Edges {
		if match(e) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return ids
}

func edgeSet(ids []uuid.UUID, limit int) graph.EdgeSet {
	return graph.EdgeSet{Count: int64(len(ids)), First: ids[:min(limit, len(ids))]}
}

// LiveEdges implements graph.Resources.
func (m *Memory) LiveEdges(node uuid.UUID, limit int) (graph.EdgeSet, error) {
	return edgeSet(m.filterEdges(func(e *graph.Edge) bool { return !e.Deleted && touches(e, node) }), limit), nil
}

func takenBy(e *graph.Edge, mark graph.Mark) bool { return e.IsTaken() && e.Taken == mark }

// TakenEdges implements graph.Resources.
func (m *Memory) TakenEdges(mark graph.Mark, limit int) (graph.EdgeSet, error) {
	return edgeSet(m.filterEdges(func(e *graph.Edge) bool { return takenBy(e, mark) }), limit), nil
}

// Orphans implements graph.Resources.
func (m *Memory) Orphans(mark graph.Mark, limit int) ([]uuid.UUID, error) {
	gone := func(id uuid.UUID) bool { return id != mark.Node && m.Nodes[id].Deleted }
	ids := m.filterEdges(func(e *graph.Edge) bool {
		return takenBy(e, mark) && e.CreatedBy != mark.Sequence && (gone(e.SourceID) || gone(e.TargetID))
	})
	return ids[:min(limit, len(ids))], nil
}

// EdgesChangedSince implements graph.Resources. If a cascade does not list all of its edges, Strays
// recognises an unlisted edge only if no other deletion has taken it since.
func (m *Memory) EdgesChangedSince(taken graph.Cascade, limit int) ([]uuid.UUID, error) {
	ids := m.filterEdges(func(e *graph.Edge) bool {
		found := e.Taken == taken.Mark || slices.Contains(taken.Edges, e.ID)
		return !e.Deleted && touches(e, taken.Mark.Node) && (!found || e.Newest() > taken.Mark.Sequence)
	})
	return ids[:min(limit, len(ids))], nil
}

// Change implements graph.Journal.
func (m *Memory) Change(sequence graph.Sequence) (*graph.Change, error) {
	return m.Journal[sequence-1], nil
}

// Entry implements graph.Journal.
func (m *Memory) Entry(id uuid.UUID) (*graph.Entry, error) {
	for _, entry := range m.Entries {
		if entry.CommandID == id {
			return &entry, nil
		}
	}
	return nil, nil
}

// StacksOf implements graph.Journal. It computes the stacks from all entries each time.
func (m *Memory) StacksOf(actor uuid.UUID) (graph.Stacks, error) {
	var stacks graph.Stacks
	for _, entry := range m.Entries {
		if actor != uuid.Nil && entry.Actor != actor {
			continue
		}
		stacks.Newest = max(stacks.Newest, entry.Sequence)
		if entry.CancelledBy == 0 {
			stacks.Undoable = append(stacks.Undoable, entry)
		} else {
			stacks.Redoable = append(stacks.Redoable, entry)
		}
	}
	stacks.Redoable = slices.DeleteFunc(stacks.Redoable, func(e graph.Entry) bool {
		return e.CancelledBy < stacks.Newest
	})
	slices.SortFunc(stacks.Redoable, func(a, b graph.Entry) int { return cmp.Compare(a.CancelledBy, b.CancelledBy) })
	return stacks, nil
}

// Depths returns how many commands an actor can undo and redo.
func (m *Memory) Depths(actor uuid.UUID) (undo, redo int, err error) {
	stacks, err := m.StacksOf(actor)
	undo, redo = stacks.Depths()
	return undo, redo, err
}

// Do implements graph.State.
func (m *Memory) Do(step *graph.Step, sequence graph.Sequence, at time.Time) error {
	if step.Node != nil {
		m.Nodes[step.Node.ID] = step.Node
	}
	if step.Edge != nil {
		m.Edges[step.Edge.ID] = step.Edge
	}
	if step.Cascade == nil {
		return nil
	}
	mark := step.Cascade.Mark
	for id, old := range m.Edges {
		e := *old
		switch {
		case step.Cascade.Restored && takenBy(old, mark):
			e.Deleted, e.DeletedBy = false, 0
		case !step.Cascade.Restored && !old.Deleted && touches(old, mark.Node):
			e.Deleted, e.DeletedBy, e.Taken = true, mark.Sequence, mark
		default:
			continue
		}
		e.Touch(sequence, at)
		m.Edges[id] = &e
	}
	return nil
}

// Prefetch implements graph.State.
func (m *Memory) Prefetch(*graph.Change) error { return nil }

// Atomically implements graph.State.
func (m *Memory) Atomically(f func() error) error {
	nodes, edges := maps.Clone(m.Nodes), maps.Clone(m.Edges)
	err := f()
	if err != nil {
		m.Nodes, m.Edges = nodes, edges
	}
	return err
}

// Record adds a change to the journal and the stacks.
func (m *Memory) Record(c *graph.Change) {
	m.Journal = append(m.Journal, c)
	if entry, ok := c.Entry(); ok {
		m.Entries = append(m.Entries, entry)
		return
	}
	if c.Target == nil { // a change of links
		return
	}
	for i := range m.Entries {
		if m.Entries[i].Sequence == c.Target.Sequence {
			m.Entries[i].CancelledBy = 0
			if c.Type == graph.TypeUndo {
				m.Entries[i].CancelledBy = c.Sequence
			}
		}
	}
}

// Next returns the sequence of the next change.
func (m *Memory) Next() graph.Sequence { return graph.Sequence(len(m.Journal) + 1) }

// Now returns the time of the next change: one second after the previous one.
func (m *Memory) Now() time.Time {
	return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).Add(time.Duration(m.Next()) * time.Second)
}

// Apply applies a command and records its change.
func (m *Memory) Apply(c graph.Command) (graph.Outcome, error) {
	outcome, err := graph.Apply(m, c, m.Next(), m.Now())
	if err == nil && outcome.Change != nil {
		m.Record(outcome.Change)
	}
	return outcome, err
}

// ApplyBatch applies an atomic batch and records its change.
func (m *Memory) ApplyBatch(b graph.Batch) (graph.Outcome, error) {
	outcome, err := graph.ApplyBatch(m, b, m.Next(), m.Now())
	if err == nil && outcome.Change != nil {
		m.Record(outcome.Change)
	}
	return outcome, err
}

// Fold rebuilds the graph from the journal alone.
func Fold(journal []*graph.Change) *Memory {
	m := NewMemory()
	for _, c := range journal {
		for i := range c.Steps {
			_ = m.Do(&c.Steps[i], c.Sequence, c.At)
		}
	}
	return m
}

// IsLive reports whether a node or an edge with an id is live.
func (m *Memory) IsLive(id uuid.UUID) bool {
	n, e := m.Nodes[id], m.Edges[id]
	return n != nil && !n.Deleted || e != nil && !e.Deleted
}
