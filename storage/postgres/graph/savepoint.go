package graphstore

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
)

// memorySavepoint has the rows of a state as they were before an atomic batch changed them.
type memorySavepoint struct {
	nodes []nodeBefore
	edges []edgeBefore
	// What was read after the savepoint in the database: nodes whose edges were read, nodes by
	// their keys, edges between nodes.
	edgesLoaded   []uuid.UUID
	keys          []graph.NodeKey
	pairs         []pair
	keyProperties []string // that became keys
	// inDatabase reports whether the database has a savepoint, because rows were written
	// since the batch began. Rows that are read after that include these writes, so they are
	// removed from memory when the batch is rolled back.
	inDatabase bool
}

type nodeBefore struct {
	id    uuid.UUID
	row   nodeRow
	known bool
}

type edgeBefore struct {
	id    uuid.UUID
	row   edgeRow
	known bool
}

// rollback restores the rows in memory and in the database.
func (f *memorySavepoint) rollback(s *State) error {
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
	for _, id := range f.edgesLoaded {
		delete(s.edgesLoaded, id)
	}
	for _, key := range f.keys {
		delete(s.keys.read, key)
	}
	for _, p := range f.pairs {
		delete(s.pairs, p)
	}
	for _, property := range f.keyProperties {
		delete(s.keys.properties, property)
	}
	if !f.inDatabase {
		return nil
	}
	if _, err := s.tx.conn.Exec(s.tx.ctx, "rollback to savepoint atomic"); err != nil {
		return fmt.Errorf("undoing a batch: %w", err)
	}
	return f.release(s)
}

// release releases the savepoint in the database, if there is one. Otherwise the savepoints
// of later batches would be nested in it.
func (f *memorySavepoint) release(s *State) error {
	if !f.inDatabase {
		return nil
	}
	if _, err := s.tx.conn.Exec(s.tx.ctx, "release savepoint atomic"); err != nil {
		return fmt.Errorf("ending a batch: %w", err)
	}
	return nil
}

// putNode sets the row of a node.
func (s *State) putNode(id uuid.UUID, row nodeRow) {
	if s.savepoint != nil {
		old, known := s.nodes[id]
		s.savepoint.nodes = append(s.savepoint.nodes, nodeBefore{id, old, known})
	}
	s.nodes[id] = row
	s.keys.remember(row.now)
}

// putEdge sets the row of an edge.
func (s *State) putEdge(id uuid.UUID, row edgeRow) {
	if s.savepoint != nil {
		old, known := s.edges[id]
		s.savepoint.edges = append(s.savepoint.edges, edgeBefore{id, old, known})
	}
	s.edges[id] = row
	if row.now != nil {
		s.addToNode(row.now.SourceID, id)
		s.addToNode(row.now.TargetID, id)
	}
}

func (s *State) addToNode(node, edge uuid.UUID) {
	edges := s.edgesByNode[node]
	if edges == nil {
		edges = map[uuid.UUID]struct{}{}
		s.edgesByNode[node] = edges
	}
	edges[edge] = struct{}{}
}

// readNode and readEdge store a row that was read, unless it is in memory already. A row that
// a batch reads before it writes stays in memory when the batch is rolled back.
func (s *State) readNode(id uuid.UUID, row nodeRow) {
	if _, known := s.nodes[id]; known {
		return
	}
	if s.savepoint != nil && s.savepoint.inDatabase {
		s.putNode(id, row)
		return
	}
	s.nodes[id] = row
	s.keys.remember(row.now)
}

func (s *State) readEdge(id uuid.UUID, row edgeRow) {
	if _, known := s.edges[id]; known {
		return
	}
	saved := s.savepoint
	if saved != nil && !saved.inDatabase {
		s.savepoint = nil
	}
	s.putEdge(id, row)
	s.savepoint = saved
}

func (s *State) setEdgesLoaded(node uuid.UUID, loaded bool) {
	if s.savepoint != nil && s.savepoint.inDatabase {
		s.savepoint.edgesLoaded = append(s.savepoint.edgesLoaded, node)
	}
	s.edgesLoaded[node] = loaded
}

// ensureSavepoint creates the savepoint of an atomic batch in the database, if it does not
// exist. It is called before rows are written ahead of the commit.
func (s *State) ensureSavepoint() error {
	if s.savepoint == nil || s.savepoint.inDatabase {
		return nil
	}
	if _, err := s.tx.conn.Exec(s.tx.ctx, "savepoint atomic"); err != nil {
		return fmt.Errorf("beginning a batch: %w", err)
	}
	s.savepoint.inDatabase = true
	return nil
}
