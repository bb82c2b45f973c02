package graphstore

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/uuids"
)

// State is a workspace's graph and journal inside a Tx. It implements [graph.State].
//
// Resources that were read or changed are in memory, and commands are decided there. Changed
// rows are written when the group is committed, or before a statement on a set of edges in
// the database, the edges of a node with too many to load.
type State struct {
	tx        *Tx
	workspace uuid.UUID
	head      graph.Sequence // the newest change, those of this transaction included

	nodes map[uuid.UUID]nodeRow
	edges map[uuid.UUID]edgeRow
	// edgesByNode has the ids of each node's edges in memory. It may contain other ids, too:
	// the id of an edge in a failed batch may be used again between other nodes.
	edgesByNode map[uuid.UUID]map[uuid.UUID]struct{}
	// edgesLoaded has for each node whether all of its edges are in memory (true) or are too
	// many for that (false). A node whose edges were not read is missing.
	edgesLoaded map[uuid.UUID]bool
	keys        keyState
	pairs       map[pair]firstRows // edges between nodes, as read from the database
	savepoint   *memorySavepoint

	journal []*graph.Change // of this transaction
	written int             // number of changes of journal that are written
	changes map[graph.Sequence]*graph.Change
	undo    undoState
}

func newGraphState(tx *Tx, needs *Needs) *State {
	return &State{
		tx: tx, workspace: needs.Workspace,
		nodes:       make(map[uuid.UUID]nodeRow, len(needs.Nodes)),
		edges:       make(map[uuid.UUID]edgeRow, len(needs.Edges)),
		edgesByNode: map[uuid.UUID]map[uuid.UUID]struct{}{},
		edgesLoaded: map[uuid.UUID]bool{},
		keys:        newKeyState(),
		pairs:       map[pair]firstRows{},
		changes:     map[graph.Sequence]*graph.Change{},
		undo:        newUndoState(),
	}
}

// begin sets the head and the remembered stacks. It is called after the head is locked.
func (s *State) begin(head graphHead, remembered *RememberedStacks) {
	s.head, s.undo.base = head.sequence, head.sequence
	for _, property := range head.keyProperties {
		s.keys.properties[property] = struct{}{}
	}
	for _, row := range s.nodes {
		s.keys.remember(row.now)
	}
	if head.sequence <= head.void {
		s.undo.base = noStacks
		return
	}
	s.undo.useRemembered(head.sequence, remembered)
}

// Next returns the sequence of the next change.
func (s *State) Next() graph.Sequence { return s.head + 1 }

// Record adds a change to the journal and the stacks. The change has the sequence that Next
// returned.
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
	loaded, err := s.loadAllEdges(mark.Node)
	if err != nil {
		return nil, err
	}
	if !loaded {
		return s.queryEdges(firstEdges(orphanEdges, limit), mark.Node, mark.Sequence)
	}
	if err := s.loadEdgeEnds(mark.Node); err != nil {
		return nil, err
	}
	gone := func(id uuid.UUID) bool {
		node := s.nodes[id].now
		return id != mark.Node && (node == nil || node.Deleted)
	}
	taken := takenBy(mark)
	ids := s.matchingEdges(mark.Node, func(e *graph.Edge) bool {
		return taken(e) && e.CreatedBy != mark.Sequence && (gone(e.SourceID) || gone(e.TargetID))
	})
	return ids[:min(limit, len(ids))], nil
}

// EdgesChangedSince implements graph.Resources.
func (s *State) EdgesChangedSince(taken graph.Cascade, limit int) ([]uuid.UUID, error) {
	mark := taken.Mark
	loaded, err := s.loadAllEdges(mark.Node)
	if err != nil {
		return nil, err
	}
	if !loaded || taken.Count > int64(len(taken.Edges)) {
		return s.queryEdges(fmt.Sprintf(strayEdges, limit), mark.Node, mark.Sequence, taken.Edges)
	}
	ids := s.matchingEdges(mark.Node, func(e *graph.Edge) bool {
		return !e.Deleted && (!slices.Contains(taken.Edges, e.ID) || e.Newest() > mark.Sequence)
	})
	return ids[:min(limit, len(ids))], nil
}

func takenBy(mark graph.Mark) func(*graph.Edge) bool {
	return func(e *graph.Edge) bool { return e.IsTaken() && e.Taken == mark }
}

// matchingEdges returns the edges of a node, all of which are in memory, that match, in the
// order of their ids.
func (s *State) matchingEdges(node uuid.UUID, match func(*graph.Edge) bool) []uuid.UUID {
	var ids []uuid.UUID
	for id := range s.edgesByNode[node] {
		if e := s.edges[id].now; e != nil && isAt(e, node) && match(e) {
			ids = append(ids, id)
		}
	}
	uuids.Sort(ids)
	return ids
}

func isAt(e *graph.Edge, node uuid.UUID) bool { return e.SourceID == node || e.TargetID == node }

// edgeSet returns a set of edges from memory if all edges of the node are there, otherwise from
// the database.
func (s *State) edgeSet(
	node uuid.UUID, limit int, match func(*graph.Edge) bool, condition edgeStatement, args ...any,
) (graph.EdgeSet, error) {
	loaded, err := s.loadAllEdges(node)
	if err != nil {
		return graph.EdgeSet{}, err
	}
	if !loaded {
		return s.queryEdgeSet(limit, condition, args...)
	}
	ids := s.matchingEdges(node, match)
	return graph.EdgeSet{Count: int64(len(ids)), First: ids[:min(limit, len(ids))]}, nil
}

// Do implements graph.State.
func (s *State) Do(step *graph.Step, sequence graph.Sequence, at time.Time) error {
	if step.Node != nil {
		row := s.nodes[step.Node.ID]
		if row.now == nil {
			s.edgesLoaded[step.Node.ID] = true // a new node has no edges
		}
		s.putNode(step.Node.ID, nodeRow{stored: row.stored, now: step.Node})
	}
	if step.Edge != nil {
		s.putEdge(step.Edge.ID, edgeRow{stored: s.edges[step.Edge.ID].stored, now: step.Edge})
	}
	if step.Cascade == nil {
		return nil
	}
	loaded, err := s.loadAllEdges(step.Cascade.Mark.Node)
	if err != nil {
		return err
	}
	if loaded {
		s.cascade(step.Cascade, sequence, at, func(row edgeRow, e *graph.Edge) edgeRow {
			return edgeRow{stored: row.stored, now: e}
		})
		return nil
	}
	return s.cascadeInDatabase(step.Cascade, sequence, at)
}

// cascade applies a cascade to the edges in memory. newRow returns the new row of an edge for
// its previous row and the changed edge.
func (s *State) cascade(
	c *graph.Cascade, sequence graph.Sequence, at time.Time, newRow func(edgeRow, *graph.Edge) edgeRow,
) {
	taken := takenBy(c.Mark)
	for id := range s.edgesByNode[c.Mark.Node] {
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
		s.putEdge(id, newRow(row, &e))
	}
}

// Atomically implements graph.State. If f fails, it restores the rows in memory, and rolls
// back to a savepoint if f wrote to the database.
func (s *State) Atomically(f func() error) error {
	if s.savepoint != nil {
		return errors.New("an atomic batch inside another")
	}
	s.savepoint = &memorySavepoint{}
	err := f()
	saved := s.savepoint
	s.savepoint = nil
	if err == nil {
		return saved.release(s)
	}
	if rollbackErr := saved.rollback(s); rollbackErr != nil {
		return errors.Join(err, rollbackErr)
	}
	return err
}
