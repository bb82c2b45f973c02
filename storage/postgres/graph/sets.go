package graphstore

import (
	"fmt"
	"maps"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
)

// edgeStatement is a condition on the edges e of the workspace $1: those that stand at the
// node $2, or those that its deletion took along. $3 is the sequence of a mark.
type edgeStatement string

const (
	edgesOf     = `FROM edges e WHERE e.workspace_id = $1 AND `
	isAtNode    = `(e.source_id = $2 OR e.target_id = $2) AND NOT e.deleted`
	isTaken     = `e.deleted AND e.deleted_by = $3 AND e.taken_sequence = $3 AND e.taken_node = $2`
	liveEdges   = edgeStatement(isAtNode)
	takenEdges  = edgeStatement(isTaken)
	orphanEdges = edgeStatement(isTaken + ` AND e.created_by <> $3 AND (SELECT n.deleted FROM nodes n
		WHERE n.workspace_id = e.workspace_id
			AND n.id = CASE e.source_id WHEN $2 THEN e.target_id ELSE e.source_id END AND n.id <> $2)`)
	// strayEdges reads the edges that stand and that the deletion of the mark did not take,
	// or that were written since. Which it took is what the journal lists, $4, or, of many,
	// cascade_edges; those that carry the mark need not be looked for there.
	strayEdges = `SELECT id FROM (
		(SELECT e.id ` + edgesOf + isAtNode + ` AND (e.taken_sequence <> $3 OR e.taken_node IS DISTINCT FROM $2)
		EXCEPT (SELECT unnest($4::uuid[]) UNION ALL SELECT unnest(c.edge_ids) FROM cascade_edges c
			WHERE c.workspace_id = $1 AND c.sequence = $3 AND c.node_id = $2))
		UNION SELECT e.id ` + edgesOf + isAtNode + ` AND e.newest > $3) s ORDER BY id LIMIT %d`
)

// manyEdges returns a set of edges out of the database.
func (s *State) manyEdges(limit int, set edgeStatement, args ...any) (graph.EdgeSet, error) {
	if err := s.write(); err != nil {
		return graph.EdgeSet{}, err
	}
	args = append([]any{s.workspace}, args...)
	var found graph.EdgeSet
	b := &pgx.Batch{}
	b.Queue(`SELECT count(*) `+edgesOf+string(set), args...).QueryRow(func(row pgx.Row) error {
		return row.Scan(&found.Count)
	})
	b.Queue(firstEdges(set, limit), args...).Query(func(rows pgx.Rows) (err error) {
		found.First, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		return err
	})
	if err := s.tx.conn.send(s.tx.ctx, b); err != nil {
		return graph.EdgeSet{}, fmt.Errorf("counting the edges of a node: %w", err)
	}
	return found, nil
}

// someEdges returns a few edges that a query finds, and takes them into memory: they are
// looked at next.
func (s *State) someEdges(query string, args ...any) ([]uuid.UUID, error) {
	if err := s.write(); err != nil {
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
	return fmt.Sprintf(`SELECT e.id %s%s ORDER BY e.id LIMIT %d`, edgesOf, set, limit)
}

// forgetWhole has nodes looked at again whose edges were all in memory: edges that stand
// again are perhaps theirs, too, and were not read.
func (s *State) forgetWhole() {
	maps.DeleteFunc(s.whole, func(_ uuid.UUID, whole bool) bool { return whole })
}

// write writes what was changed so far, so that a statement sees it.
func (s *State) write() error {
	if !s.isDirty() {
		return nil
	}
	if err := s.beforeWriting(); err != nil {
		return err
	}
	b := &pgx.Batch{}
	var lost error
	queueRowsOf(b, []*State{s}, &lost)
	if err := s.tx.conn.send(s.tx.ctx, b); err != nil {
		return fmt.Errorf("writing what was changed so far: %w", err)
	}
	return lost
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
