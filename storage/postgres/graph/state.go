package graphstore

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
)

// State is a workspace's graph and journal inside a Tx: a [graph.State].
//
// Resources that were read or changed are in memory, and commands are decided there.
// What was changed is written when the group is committed, or before a statement
// that works on a set of edges in the database: those of a node with so many that
// they are better left there.
type State struct {
	tx        *Tx
	workspace uuid.UUID
	head      graph.Sequence // the newest change, those of this transaction included

	nodes map[uuid.UUID]nodeRow
	edges map[uuid.UUID]edgeRow
	// at has by node its edges, as far as they are in memory, and perhaps others: an id
	// that a batch used which failed may come again between other nodes.
	at map[uuid.UUID]map[uuid.UUID]struct{}
	// whole says of a node whether all of its edges are in memory (true) or are too
	// many for that (false). Missing: it was not looked at.
	whole map[uuid.UUID]bool
	frame *frame

	journal []*graph.Change // of this transaction
	written int             // how many of them are written
	changes map[graph.Sequence]*graph.Change
	undo    undoState
}

func newGraphState(tx *Tx, needs *Needs) *State {
	return &State{
		tx: tx, workspace: needs.Workspace,
		nodes:   make(map[uuid.UUID]nodeRow, len(needs.Nodes)),
		edges:   make(map[uuid.UUID]edgeRow, len(needs.Edges)),
		at:      map[uuid.UUID]map[uuid.UUID]struct{}{},
		whole:   map[uuid.UUID]bool{},
		changes: map[graph.Sequence]*graph.Change{},
		undo:    newUndoState(),
	}
}

// begin is called when the head is locked.
func (s *State) begin(head graphHead, remembered *RememberedStacks) {
	s.head, s.undo.base = head.sequence, head.sequence
	if head.sequence <= head.void {
		s.undo.base = noStacks
		return
	}
	s.undo.remember(head.sequence, remembered)
}

// Next returns the sequence of the next change.
func (s *State) Next() graph.Sequence { return s.head + 1 }

// Record writes a change, which has the sequence Next gave, into the journal and the
// stacks.
func (s *State) Record(c *graph.Change) error {
	if c.Sequence != s.head+1 {
		return fmt.Errorf("the change has sequence %d and %d is next", c.Sequence, s.head+1)
	}
	var target *graph.Change
	if c.Target != nil {
		var err error
		if target, err = s.Change(c.Target.Sequence); err != nil {
			return err
		}
	}
	s.head = c.Sequence
	s.journal = append(s.journal, c)
	s.changes[c.Sequence] = c
	s.undo.record(c, target)
	return nil
}

// Recorded returns the changes of this transaction.
func (s *State) Recorded() []*graph.Change { return s.journal }

// Node implements graph.Resources.
func (s *State) Node(id uuid.UUID) (*graph.Node, error) {
	if row, ok := s.nodes[id]; ok {
		return row.now, nil
	}
	if err := s.loadNodes([]uuid.UUID{id}); err != nil {
		return nil, err
	}
	return s.nodes[id].now, nil
}

// Edge implements graph.Resources.
func (s *State) Edge(id uuid.UUID) (*graph.Edge, error) {
	if row, ok := s.edges[id]; ok {
		return row.now, nil
	}
	if err := s.loadEdges([]uuid.UUID{id}); err != nil {
		return nil, err
	}
	return s.edges[id].now, nil
}

// LiveEdges implements graph.Resources.
func (s *State) LiveEdges(node uuid.UUID, limit int) (graph.EdgeSet, error) {
	return s.edgeSet(node, limit, func(e *graph.Edge) bool { return !e.Deleted }, liveEdges, node)
}

// TakenEdges implements graph.Resources.
func (s *State) TakenEdges(mark graph.Mark, limit int) (graph.EdgeSet, error) {
	return s.edgeSet(mark.Node, limit, takenBy(mark), takenEdges, mark.Node, mark.Sequence)
}

// Orphans implements graph.Resources.
func (s *State) Orphans(mark graph.Mark, limit int) ([]uuid.UUID, error) {
	whole, err := s.wholeAt(mark.Node)
	if err != nil {
		return nil, err
	}
	if !whole {
		return s.someEdges(firstEdges(orphanEdges, limit), mark.Node, mark.Sequence)
	}
	if err := s.loadEnds(mark.Node); err != nil {
		return nil, err
	}
	gone := func(id uuid.UUID) bool {
		node := s.nodes[id].now
		return id != mark.Node && (node == nil || node.Deleted)
	}
	taken := takenBy(mark)
	ids := s.where(mark.Node, func(e *graph.Edge) bool {
		return taken(e) && e.CreatedBy != mark.Sequence && (gone(e.SourceID) || gone(e.TargetID))
	})
	return ids[:min(limit, len(ids))], nil
}

// Strays implements graph.Resources.
func (s *State) Strays(taken graph.Cascade, limit int) ([]uuid.UUID, error) {
	mark := taken.Mark
	whole, err := s.wholeAt(mark.Node)
	if err != nil {
		return nil, err
	}
	if !whole || taken.Count > int64(len(taken.Edges)) {
		return s.someEdges(fmt.Sprintf(strayEdges, limit), mark.Node, mark.Sequence, taken.Edges)
	}
	ids := s.where(mark.Node, func(e *graph.Edge) bool {
		return !e.Deleted && (!slices.Contains(taken.Edges, e.ID) || e.Newest() > mark.Sequence)
	})
	return ids[:min(limit, len(ids))], nil
}

func takenBy(mark graph.Mark) func(*graph.Edge) bool {
	return func(e *graph.Edge) bool { return e.IsTaken() && e.Taken == mark }
}

// where returns the edges of a node, all of which are in memory, that match, in the
// order of their ids.
func (s *State) where(node uuid.UUID, match func(*graph.Edge) bool) []uuid.UUID {
	var ids []uuid.UUID
	for id := range s.at[node] {
		if e := s.edges[id].now; e != nil && isAt(e, node) && match(e) {
			ids = append(ids, id)
		}
	}
	sortIDs(ids)
	return ids
}

func sortIDs(ids []uuid.UUID) {
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
}

func isAt(e *graph.Edge, node uuid.UUID) bool { return e.SourceID == node || e.TargetID == node }

// edgeSet answers from memory if it can, else by a statement.
func (s *State) edgeSet(
	node uuid.UUID, limit int, match func(*graph.Edge) bool, set edgeStatement, args ...any,
) (graph.EdgeSet, error) {
	whole, err := s.wholeAt(node)
	if err != nil {
		return graph.EdgeSet{}, err
	}
	if !whole {
		return s.manyEdges(limit, set, args...)
	}
	ids := s.where(node, match)
	return graph.EdgeSet{Count: int64(len(ids)), First: ids[:min(limit, len(ids))]}, nil
}

// Do implements graph.State.
func (s *State) Do(step *graph.Step, sequence graph.Sequence, at time.Time) error {
	if step.Node != nil {
		row := s.nodes[step.Node.ID]
		if row.now == nil {
			s.whole[step.Node.ID] = true // an edge of it there cannot be
		}
		s.putNode(step.Node.ID, nodeRow{stored: row.stored, now: step.Node})
	}
	if step.Edge != nil {
		s.putEdge(step.Edge.ID, edgeRow{stored: s.edges[step.Edge.ID].stored, now: step.Edge})
	}
	if step.Cascade == nil {
		return nil
	}
	whole, err := s.wholeAt(step.Cascade.Mark.Node)
	if err != nil {
		return err
	}
	if whole {
		s.cascade(step.Cascade, sequence, at, func(row edgeRow, e *graph.Edge) edgeRow {
			return edgeRow{stored: row.stored, now: e}
		})
		return nil
	}
	return s.cascadeInDatabase(step.Cascade, sequence, at)
}

// cascade does to the edges in memory what a cascade does; made is given the row as
// it was and the edge as it is then.
func (s *State) cascade(
	c *graph.Cascade, sequence graph.Sequence, at time.Time, made func(edgeRow, *graph.Edge) edgeRow,
) {
	taken := takenBy(c.Mark)
	for id := range s.at[c.Mark.Node] {
		row := s.edges[id]
		if row.now == nil || !isAt(row.now, c.Mark.Node) {
			continue
		}
		e := *row.now
		switch {
		case c.Restored && taken(row.now):
			e.Deleted, e.DeletedBy = false, 0
		case !c.Restored && !e.Deleted:
			e.Deleted, e.DeletedBy, e.Taken = true, c.Mark.Sequence, c.Mark
		default:
			continue
		}
		e.Touch(sequence, at)
		s.putEdge(id, made(row, &e))
	}
}

// Atomically implements graph.State: it goes back to the resources as they were,
// and if something of f was written, to a savepoint.
func (s *State) Atomically(f func() error) error {
	if s.frame != nil {
		return errors.New("an atomic batch inside another")
	}
	s.frame = &frame{}
	err := f()
	done := s.frame
	s.frame = nil
	if err == nil {
		return done.release(s)
	}
	if undone := done.undo(s); undone != nil {
		return errors.Join(err, undone)
	}
	return err
}
