package graphstore

import (
	"fmt"
	"maps"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
)

// edgeStatement is a condition on the edges e of the workspace $1: the live edges at the node
// $2, or those that its deletion deleted. $3 is the sequence of a mark.
type edgeStatement string

const (
	fromEdges   = `FROM edges e WHERE e.workspace_id = $1 AND `
	isAtNode    = `(e.source_id = $2 OR e.target_id = $2) AND NOT e.deleted`
	isTaken     = `e.deleted AND e.deleted_by = $3 AND e.taken_sequence = $3 AND e.taken_node = $2`
	liveEdges   = edgeStatement(isAtNode)
	takenEdges  = edgeStatement(isTaken)
	orphanEdges = edgeStatement(isTaken + ` AND e.created_by <> $3 AND (SELECT n.deleted FROM nodes n
		WHERE n.workspace_id = e.workspace_id
			AND n.id = CASE e.source_id WHEN $2 THEN e.target_id ELSE e.source_id END AND n.id <> $2)`)
	// strayEdges selects the live edges that the deletion of the mark did not delete, or that
	// were written since. The edges that it deleted are listed in the journal, $4, and, of a
	// large cascade, in cascade_edges. Edges with the mark need no lookup there.
	strayEdges = `SELECT id FROM (
		(SELECT e.id ` + fromEdges + isAtNode + ` AND (e.taken_sequence <> $3 OR e.taken_node IS DISTINCT FROM $2)
		EXCEPT (SELECT unnest($4::uuid[]) UNION ALL SELECT unnest(c.edge_ids) FROM cascade_edges c
			WHERE c.workspace_id = $1 AND c.sequence = $3 AND c.node_id = $2))
		UNION SELECT e.id ` + fromEdges + isAtNode + ` AND e.newest > $3) s ORDER BY id LIMIT %d`
)

// queryEdgeSet reads a set of edges from the database.
func (s *State) queryEdgeSet(limit int, condition edgeStatement, args ...any) (graph.EdgeSet, error) {
	if err := s.flush(); err != nil {
		return graph.EdgeSet{}, err
	}
	args = append([]any{s.workspace}, args...)
	var found graph.EdgeSet
	b := &pgx.Batch{}
	b.Queue(`SELECT count(*) `+fromEdges+string(condition), args...).QueryRow(func(row pgx.Row) error {
		return row.Scan(&found.Count)
	})
	b.Queue(firstEdges(condition, limit), args...).Query(func(rows pgx.Rows) (err error) {
		found.First, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		return err
	})
	if err := s.tx.conn.send(s.tx.ctx, b); err != nil {
		return graph.EdgeSet{}, fmt.Errorf("counting the edges of a node: %w", err)
	}
	return found, nil
}

// queryEdges returns the ids of the few edges that a query selects, and loads the edges into
// memory, because the caller reads them next.
func (s *State) queryEdges(query string, args ...any) ([]uuid.UUID, error) {
	if err := s.flush(); err != nil {
		return nil, err
	}
	rows, err := s.tx.conn.Query(s.tx.ctx, query, append([]any{s.workspace}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("reading edges of a node: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, fmt.Errorf("reading edges of a node: %w", err)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return ids, s.loadEdges(ids)
}

func firstEdges(set edgeStatement, limit int) string {
	return fmt.Sprintf(`SELECT e.id %s%s ORDER BY e.id LIMIT %d`, fromEdges, set, limit)
}

// forgetLoadedEdges marks the edges of all nodes as not loaded, except for nodes with too many
// of them. Restored edges may belong to nodes whose edges were read before.
func (s *State) forgetLoadedEdges() {
	maps.DeleteFunc(s.edgesLoaded, func(_ uuid.UUID, loaded bool) bool { return loaded })
}

// flush writes the changed rows, so that the following statement sees them.
func (s *State) flush() error {
	if !s.isDirty() {
		return nil
	}
	if err := s.ensureSavepoint(); err != nil {
		return err
	}
	b := &pgx.Batch{}
	var rowErr error
	queueStateRows(b, []*State{s}, &rowErr)
	if err := s.tx.conn.send(s.tx.ctx, b); err != nil {
		return fmt.Errorf("writing what was changed so far: %w", err)
	}
	return rowErr
}

func (s *State) isDirty() bool {
	for _, row := range s.nodes {
		if row.dirty() {
			return true
		}
	}
	for _, row := range s.edges {
		if row.dirty() {
			return true
		}
	}
	return false
}
