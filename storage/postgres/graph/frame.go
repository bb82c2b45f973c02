package graphstore

import (
	"fmt"

	"github.com/google/uuid"
)

// frame remembers how resources were before an atomic batch changed them.
type frame struct {
	nodes []nodeUndo
	edges []edgeUndo
	whole []uuid.UUID // nodes that were looked at behind the savepoint
	// savepoint says that something was written since the frame began. What is read
	// then shows it, and is forgotten with it.
	savepoint bool
}

type nodeUndo struct {
	id    uuid.UUID
	row   nodeRow
	known bool
}

type edgeUndo struct {
	id    uuid.UUID
	row   edgeRow
	known bool
}

// undo makes everything as it was.
func (f *frame) undo(s *State) error {
	for i := len(f.nodes) - 1; i >= 0; i-- {
		if u := f.nodes[i]; u.known {
			s.nodes[u.id] = u.row
		} else {
			delete(s.nodes, u.id)
		}
	}
	for i := len(f.edges) - 1; i >= 0; i-- {
		if u := f.edges[i]; u.known {
			s.edges[u.id] = u.row
		} else {
			delete(s.edges, u.id)
		}
	}
	for _, id := range f.whole {
		delete(s.whole, id)
	}
	if !f.savepoint {
		return nil
	}
	if _, err := s.tx.conn.Exec(s.tx.ctx, "rollback to savepoint atomic"); err != nil {
		return fmt.Errorf("undoing a batch: %w", err)
	}
	return f.release(s)
}

// release ends the savepoint, if there is one. Else those of the batches that follow would
// be each inside the ones before.
func (f *frame) release(s *State) error {
	if !f.savepoint {
		return nil
	}
	if _, err := s.tx.conn.Exec(s.tx.ctx, "release savepoint atomic"); err != nil {
		return fmt.Errorf("ending a batch: %w", err)
	}
	return nil
}

// putNode changes the row of a node.
func (s *State) putNode(id uuid.UUID, row nodeRow) {
	if s.frame != nil {
		old, known := s.nodes[id]
		s.frame.nodes = append(s.frame.nodes, nodeUndo{id, old, known})
	}
	s.nodes[id] = row
}

// putEdge changes the row of an edge, or adds it.
func (s *State) putEdge(id uuid.UUID, row edgeRow) {
	if s.frame != nil {
		old, known := s.edges[id]
		s.frame.edges = append(s.frame.edges, edgeUndo{id, old, known})
	}
	s.edges[id] = row
	if row.now != nil {
		s.index(row.now.SourceID, id)
		s.index(row.now.TargetID, id)
	}
}

func (s *State) index(node, edge uuid.UUID) {
	edges := s.at[node]
	if edges == nil {
		edges = map[uuid.UUID]struct{}{}
		s.at[node] = edges
	}
	edges[edge] = struct{}{}
}

// readNode and readEdge take up what was read, unless it is in memory already. What
// a batch reads before it writes is not forgotten with it.
func (s *State) readNode(id uuid.UUID, row nodeRow) {
	if _, known := s.nodes[id]; known {
		return
	}
	if s.frame != nil && s.frame.savepoint {
		s.putNode(id, row)
		return
	}
	s.nodes[id] = row
}

func (s *State) readEdge(id uuid.UUID, row edgeRow) {
	if _, known := s.edges[id]; known {
		return
	}
	frame := s.frame
	if frame != nil && !frame.savepoint {
		s.frame = nil
	}
	s.putEdge(id, row)
	s.frame = frame
}

func (s *State) lookedAt(node uuid.UUID, whole bool) {
	if s.frame != nil && s.frame.savepoint {
		s.frame.whole = append(s.frame.whole, node)
	}
	s.whole[node] = whole
}

// beforeWriting is called before anything is written in the middle of the group.
func (s *State) beforeWriting() error {
	if s.frame == nil || s.frame.savepoint {
		return nil
	}
	if _, err := s.tx.conn.Exec(s.tx.ctx, "savepoint atomic"); err != nil {
		return fmt.Errorf("beginning a batch: %w", err)
	}
	s.frame.savepoint = true
	return nil
}
