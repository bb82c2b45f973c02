package graph_test

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
)

// memory is a workspace's graph and journal in maps: the plainest State.
type memory struct {
	nodes   map[uuid.UUID]*graph.Node
	edges   map[uuid.UUID]*graph.Edge
	journal []*graph.Change
	entries []graph.Entry
}

func newMemory() *memory {
	return &memory{nodes: map[uuid.UUID]*graph.Node{}, edges: map[uuid.UUID]*graph.Edge{}}
}

func (m *memory) Node(id uuid.UUID) (*graph.Node, error) { return m.nodes[id], nil }
func (m *memory) Edge(id uuid.UUID) (*graph.Edge, error) { return m.edges[id], nil }

func touches(e *graph.Edge, node uuid.UUID) bool { return e.SourceID == node || e.TargetID == node }

func (m *memory) where(match func(*graph.Edge) bool) []uuid.UUID {
	var ids []uuid.UUID
	for id, e := range m.edges {
		if match(e) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return ids
}

func set(ids []uuid.UUID, limit int) graph.EdgeSet {
	return graph.EdgeSet{Count: int64(len(ids)), First: ids[:min(limit, len(ids))]}
}

func (m *memory) LiveEdges(node uuid.UUID, limit int) (graph.EdgeSet, error) {
	return set(m.where(func(e *graph.Edge) bool { return !e.Deleted && touches(e, node) }), limit), nil
}

func takenBy(e *graph.Edge, mark graph.Mark) bool { return e.IsTaken() && e.Taken == mark }

func (m *memory) TakenEdges(mark graph.Mark, limit int) (graph.EdgeSet, error) {
	return set(m.where(func(e *graph.Edge) bool { return takenBy(e, mark) }), limit), nil
}

func (m *memory) Orphans(mark graph.Mark, limit int) ([]uuid.UUID, error) {
	gone := func(id uuid.UUID) bool { return id != mark.Node && m.nodes[id].Deleted }
	ids := m.where(func(e *graph.Edge) bool {
		return takenBy(e, mark) && e.CreatedBy != mark.Sequence && (gone(e.SourceID) || gone(e.TargetID))
	})
	return ids[:min(limit, len(ids))], nil
}

func (m *memory) Strays(mark graph.Mark, limit int) ([]uuid.UUID, error) {
	ids := m.where(func(e *graph.Edge) bool {
		return !e.Deleted && touches(e, mark.Node) && (e.Taken != mark || e.Newest() > mark.Sequence)
	})
	return ids[:min(limit, len(ids))], nil
}

func (m *memory) Change(sequence graph.Sequence) (*graph.Change, error) {
	return m.journal[sequence-1], nil
}

func (m *memory) Entry(id uuid.UUID) (*graph.Entry, error) {
	for _, entry := range m.entries {
		if entry.CommandID == id {
			return &entry, nil
		}
	}
	return nil, nil
}

func (m *memory) Newest(actor uuid.UUID, limit int) ([]graph.Entry, error) {
	var entries []graph.Entry
	for _, entry := range m.entries {
		if actor == uuid.Nil || entry.Actor == actor {
			entries = append(entries, entry)
		}
	}
	return entries[max(0, len(entries)-limit):], nil
}

func (m *memory) Do(step *graph.Step, sequence graph.Sequence, at time.Time) error {
	if step.Node != nil {
		m.nodes[step.Node.ID] = step.Node
	}
	if step.Edge != nil {
		m.edges[step.Edge.ID] = step.Edge
	}
	if step.Cascade == nil {
		return nil
	}
	mark := step.Cascade.Mark
	for id, old := range m.edges {
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
		m.edges[id] = &e
	}
	return nil
}

func (m *memory) Atomically(f func() error) error {
	nodes, edges := maps.Clone(m.nodes), maps.Clone(m.edges)
	err := f()
	if err != nil {
		m.nodes, m.edges = nodes, edges
	}
	return err
}

// record writes a change into the journal and the stacks.
func (m *memory) record(c *graph.Change) {
	m.journal = append(m.journal, c)
	if entry, ok := c.Entry(); ok {
		m.entries = append(m.entries, entry)
		return
	}
	for i := range m.entries {
		if m.entries[i].Sequence == c.Target.Sequence {
			m.entries[i].CancelledBy = 0
			if c.Type == graph.TypeUndo {
				m.entries[i].CancelledBy = c.Sequence
			}
		}
	}
}

func (m *memory) next() graph.Sequence { return graph.Sequence(len(m.journal) + 1) }

// moment is the time of a change: one second after the one before.
func (m *memory) moment() time.Time {
	return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).Add(time.Duration(m.next()) * time.Second)
}

func (m *memory) apply(c graph.Command) (graph.Outcome, error) {
	outcome, err := graph.Apply(m, c, m.next(), m.moment())
	if err == nil && outcome.Change != nil {
		m.record(outcome.Change)
	}
	return outcome, err
}

func (m *memory) applyBatch(b graph.Batch) (graph.Outcome, error) {
	outcome, err := graph.ApplyBatch(m, b, m.next(), m.moment())
	if err == nil && outcome.Change != nil {
		m.record(outcome.Change)
	}
	return outcome, err
}

// fold makes the graph again out of the journal alone.
func fold(journal []*graph.Change) *memory {
	m := newMemory()
	for _, c := range journal {
		for i := range c.Steps {
			_ = m.Do(&c.Steps[i], c.Sequence, c.At)
		}
	}
	return m
}

// nodeID and edgeID are the nth ids.
func nodeID(n int) uuid.UUID { return uuid.UUID{0: 1, 15: byte(n)} }
func edgeID(n int) uuid.UUID { return uuid.UUID{0: 2, 15: byte(n)} }

func actorID(n int) uuid.UUID   { return uuid.UUID{0: 3, 15: byte(n)} }
func commandID(n int) uuid.UUID { return uuid.UUID{0: 4, 14: byte(n >> 8), 15: byte(n)} }

// stands says whether a node or an edge with an id stands.
func (m *memory) stands(id uuid.UUID) bool {
	n, e := m.nodes[id], m.edges[id]
	return n != nil && !n.Deleted || e != nil && !e.Deleted
}
