package graphstore

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
)

const wholeNode = `n.workspace_id, n.id, n.name, n.entity_type, n.description, n.properties::text,
	n.created_at, n.updated_at, n.version, n.changed_by, n.created_by, n.deleted, n.deleted_by,
	n.stamps::text, n.stamps_floor`

const wholeEdge = `e.workspace_id, e.id, e.source_id, e.target_id, e.relation_type, e.properties::text,
	e.created_at, e.updated_at, e.version, e.changed_by, e.created_by, e.deleted, e.deleted_by,
	e.stamps::text, e.stamps_floor, e.taken_sequence, e.taken_node`

const selectNodes = `SELECT ` + wholeNode + ` FROM unnest($1::uuid[], $2::uuid[]) AS t (workspace_id, id)
	JOIN nodes n ON n.workspace_id = t.workspace_id AND n.id = t.id`

const selectEdges = `SELECT ` + wholeEdge + ` FROM unnest($1::uuid[], $2::uuid[]) AS t (workspace_id, id)
	JOIN edges e ON e.workspace_id = t.workspace_id AND e.id = t.id`

// selectEdgesAt returns of each node the edges that stand at either end, and those that
// its deletion took along: of each kind one more than is wanted in memory, so that it is
// seen when there are more. The other edges at a node matter to no command on it.
const selectEdgesAt = `SELECT t.id, ` + wholeEdge + ` FROM unnest($1::uuid[], $2::uuid[]) AS t (workspace_id, id)
	CROSS JOIN LATERAL (
		(SELECT * FROM edges s WHERE s.workspace_id = t.workspace_id AND s.source_id = t.id AND NOT s.deleted LIMIT $3 + 1)
		UNION ALL
		(SELECT * FROM edges g WHERE g.workspace_id = t.workspace_id AND g.target_id = t.id AND g.source_id <> t.id
			AND NOT g.deleted LIMIT $3 + 1)
		UNION ALL
		(SELECT * FROM edges d WHERE d.workspace_id = t.workspace_id AND d.taken_node = t.id AND d.deleted LIMIT $3 + 1)
	) e`

func eachNode(rows pgx.Rows, f func(workspace uuid.UUID, n *graph.Node)) error {
	var (
		workspace uuid.UUID
		n         graph.Node
		text      graphread.StoredText
	)
	_, err := pgx.ForEachRow(rows, []any{
		&workspace, &n.ID, &n.Name, &n.EntityType, &n.Description, &text.Properties, &n.CreatedAt, &n.UpdatedAt,
		&n.Version, &n.ChangedBy, &n.CreatedBy, &n.Deleted, &n.DeletedBy, &text.Stamps, &n.Floor,
	}, func() error {
		node := n
		if err := text.Into(&node.Properties, &node.Lifecycle); err != nil {
			return err
		}
		f(workspace, &node)
		return nil
	})
	return err
}

// eachEdge reads edges; before are columns that come before those of the edge.
func eachEdge(rows pgx.Rows, f func(workspace uuid.UUID, e *graph.Edge), before ...any) error {
	var (
		workspace uuid.UUID
		e         graph.Edge
		text      graphread.StoredText
		takenNode *uuid.UUID
	)
	_, err := pgx.ForEachRow(rows, append(before,
		&workspace, &e.ID, &e.SourceID, &e.TargetID, &e.RelationType, &text.Properties, &e.CreatedAt, &e.UpdatedAt,
		&e.Version, &e.ChangedBy, &e.CreatedBy, &e.Deleted, &e.DeletedBy, &text.Stamps, &e.Floor, &e.Taken.Sequence,
		&takenNode,
	), func() error {
		edge := e
		if takenNode != nil {
			edge.Taken.Node = *takenNode
		}
		if err := text.Into(&edge.Properties, &edge.Lifecycle); err != nil {
			return err
		}
		f(workspace, &edge)
		return nil
	})
	return err
}

func (tx *Tx) readNodes(rows pgx.Rows) error {
	return eachNode(rows, func(workspace uuid.UUID, n *graph.Node) {
		tx.states[workspace].readNode(n.ID, nodeRow{n, n})
	})
}

func (tx *Tx) readEdges(rows pgx.Rows) error {
	return eachEdge(rows, func(workspace uuid.UUID, e *graph.Edge) {
		tx.states[workspace].readEdge(e.ID, edgeRow{e, e})
	})
}

// readEdgesAt takes up the edges of nodes, and notes of which nodes these are all.
func (tx *Tx) readEdgesAt(nodes postgres.IDList) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var node uuid.UUID
		count := map[graphID]int{}
		err := eachEdge(rows, func(workspace uuid.UUID, e *graph.Edge) {
			count[graphID{workspace, node}]++
			tx.states[workspace].readEdge(e.ID, edgeRow{e, e})
		}, &node)
		for i, id := range nodes.IDs {
			workspace := uuid.UUID(nodes.Workspaces[i].Bytes)
			tx.states[workspace].lookedAt(id.Bytes, count[graphID{workspace, id.Bytes}] <= tx.edges)
		}
		return err
	}
}

func (s *State) list(ids []uuid.UUID) postgres.IDList {
	var l postgres.IDList
	l.Add(s.workspace, ids, nil)
	return l
}

func (s *State) loadNodes(ids []uuid.UUID) error {
	l := s.list(ids)
	rows, err := s.tx.conn.Query(s.tx.ctx, selectNodes, l.Workspaces, l.IDs)
	if err == nil {
		err = s.tx.readNodes(rows)
	}
	if err != nil {
		return fmt.Errorf("reading nodes: %w", err)
	}
	for _, id := range ids {
		s.readNode(id, nodeRow{}) // if it is not there
	}
	return nil
}

func (s *State) loadEdges(ids []uuid.UUID) error {
	l := s.list(ids)
	rows, err := s.tx.conn.Query(s.tx.ctx, selectEdges, l.Workspaces, l.IDs)
	if err == nil {
		err = s.tx.readEdges(rows)
	}
	if err != nil {
		return fmt.Errorf("reading edges: %w", err)
	}
	for _, id := range ids {
		s.readEdge(id, edgeRow{})
	}
	return nil
}

// wholeAt reports whether all edges of a node are in memory, and reads them if they are
// few. They may be too many for the group.
func (s *State) wholeAt(node uuid.UUID) (bool, error) {
	whole, err := s.allAt(node)
	if err == nil && !whole {
		err = s.checkEdges(node)
	}
	return whole, err
}

func (s *State) allAt(node uuid.UUID) (bool, error) {
	if whole, known := s.whole[node]; known {
		return whole, nil
	}
	l := s.list([]uuid.UUID{node})
	rows, err := s.tx.conn.Query(s.tx.ctx, selectEdgesAt, l.Workspaces, l.IDs, s.tx.edges)
	if err == nil {
		err = s.tx.readEdgesAt(l)(rows)
	}
	if err != nil {
		return false, fmt.Errorf("reading the edges of a node: %w", err)
	}
	return s.whole[node], nil
}

// loadEnds reads the nodes at the other ends of a node's edges.
func (s *State) loadEnds(node uuid.UUID) error {
	var missing []uuid.UUID
	for id := range s.at[node] {
		e := s.edges[id].now
		if e == nil {
			continue
		}
		for _, end := range []uuid.UUID{e.SourceID, e.TargetID} {
			if _, known := s.nodes[end]; !known {
				missing = append(missing, end)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return s.loadNodes(missing)
}

// Change implements graph.Journal.
func (s *State) Change(sequence graph.Sequence) (*graph.Change, error) {
	if c, ok := s.changes[sequence]; ok {
		return c, nil
	}
	var encoded []byte
	err := s.tx.conn.QueryRow(s.tx.ctx, `SELECT change FROM journal WHERE workspace_id = $1 AND sequence = $2`,
		s.workspace, int64(sequence)).Scan(&encoded)
	if err != nil {
		return nil, fmt.Errorf("reading change %d: %w", sequence, err)
	}
	return s.keepChange(sequence, encoded)
}

// micros are times as columns take them.
func micros(at time.Time) time.Time { return at.UTC().Truncate(time.Microsecond) }
