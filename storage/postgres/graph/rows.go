package graphstore

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/graphrow"
)

const nodeColumns = `n.workspace_id, n.id, n.name, n.entity_type, n.description, n.properties::text,
	n.created_at, n.updated_at, n.version, n.changed_by, n.created_by, n.deleted, n.deleted_by,
	n.stamps::text, n.stamps_floor`

const edgeColumns = `e.workspace_id, e.id, e.source_id, e.target_id, e.relation_type, e.properties::text,
	e.created_at, e.updated_at, e.version, e.changed_by, e.created_by, e.deleted, e.deleted_by,
	e.stamps::text, e.stamps_floor, e.taken_sequence, e.taken_node`

const selectNodes = `SELECT ` + nodeColumns + ` FROM unnest($1::uuid[], $2::uuid[]) AS t (workspace_id, id)
	JOIN nodes n ON n.workspace_id = t.workspace_id AND n.id = t.id`

const selectEdges = `SELECT ` + edgeColumns + ` FROM unnest($1::uuid[], $2::uuid[]) AS t (workspace_id, id)
	JOIN edges e ON e.workspace_id = t.workspace_id AND e.id = t.id`

// selectEdgesAt selects the live edges at both ends of each node, and the edges that its
// deletion deleted: of each kind at most one more than the memory limit, which shows that
// there are more. No command on the node needs its other edges.
const selectEdgesAt = `SELECT t.id, ` + edgeColumns + ` FROM unnest($1::uuid[], $2::uuid[]) AS t (workspace_id, id)
	CROSS JOIN LATERAL (
		(SELECT * FROM edges s WHERE s.workspace_id = t.workspace_id AND s.source_id = t.id AND NOT s.deleted LIMIT $3 + 1)
		UNION ALL
		(SELECT * FROM edges g WHERE g.workspace_id = t.workspace_id AND g.target_id = t.id AND g.source_id <> t.id
			AND NOT g.deleted LIMIT $3 + 1)
		UNION ALL
		(SELECT * FROM edges d WHERE d.workspace_id = t.workspace_id AND d.taken_node = t.id AND d.deleted LIMIT $3 + 1)
	) e`

// eachNode reads nodes. The columns leading come before those of the node.
func eachNode(rows pgx.Rows, f func(workspace uuid.UUID, n *graph.Node), leading ...any) error {
	var (
		workspace uuid.UUID
		n         graph.Node
		text      graphrow.StoredText
	)
	_, err := pgx.ForEachRow(rows, append(leading,
		&workspace, &n.ID, &n.Name, &n.EntityType, &n.Description, &text.Properties, &n.CreatedAt, &n.UpdatedAt,
		&n.Version, &n.ChangedBy, &n.CreatedBy, &n.Deleted, &n.DeletedBy, &text.Stamps, &n.Floor,
	), func() error {
		node := n
		if err := text.Into(&node.Properties, &node.Lifecycle); err != nil {
			return err
		}
		f(workspace, &node)
		return nil
	})
	return err
}

// eachEdge reads edges. The columns leading come before those of the edge.
func eachEdge(rows pgx.Rows, f func(workspace uuid.UUID, e *graph.Edge), leading ...any) error {
	var (
		workspace uuid.UUID
		e         graph.Edge
		text      graphrow.StoredText
		takenNode *uuid.UUID
	)
	_, err := pgx.ForEachRow(rows, append(leading,
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

// readEdgesAt stores the edges of nodes, and for each node whether these are all of its edges.
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
			tx.states[workspace].setEdgesLoaded(id.Bytes, count[graphID{workspace, id.Bytes}] <= tx.memoryEdgeLimit)
		}
		return err
	}
}

func (s *State) idList(ids []uuid.UUID) postgres.IDList {
	var l postgres.IDList
	l.Add(s.workspace, ids, nil)
	return l
}

func (s *State) loadNodes(ids []uuid.UUID) error {
	l := s.idList(ids)
	rows, err := s.tx.conn.Query(s.tx.ctx, selectNodes, l.Workspaces, l.IDs)
	if err == nil {
		err = s.tx.readNodes(rows)
	}
	if err != nil {
		return fmt.Errorf("reading nodes: %w", err)
	}
	for _, id := range ids {
		s.readNode(id, nodeRow{}) // for an id without a row
	}
	return nil
}

func (s *State) loadEdges(ids []uuid.UUID) error {
	l := s.idList(ids)
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

// loadAllEdges reads the edges of a node if they are few, and reports whether all of them are
// in memory. It returns ErrManyEdges if they are too many for the group.
func (s *State) loadAllEdges(node uuid.UUID) (bool, error) {
	loaded, err := s.loadEdgesIfFew(node)
	if err == nil && !loaded {
		err = s.checkEdgeLimit(node)
	}
	return loaded, err
}

func (s *State) loadEdgesIfFew(node uuid.UUID) (bool, error) {
	if loaded, known := s.edgesLoaded[node]; known {
		return loaded, nil
	}
	l := s.idList([]uuid.UUID{node})
	rows, err := s.tx.conn.Query(s.tx.ctx, selectEdgesAt, l.Workspaces, l.IDs, s.tx.memoryEdgeLimit)
	if err == nil {
		err = s.tx.readEdgesAt(l)(rows)
	}
	if err != nil {
		return false, fmt.Errorf("reading the edges of a node: %w", err)
	}
	return s.edgesLoaded[node], nil
}

// loadEdgeEnds reads the nodes at the other ends of a node's edges.
func (s *State) loadEdgeEnds(node uuid.UUID) error {
	var missing []uuid.UUID
	for id := range s.edgesByNode[node] {
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

// micros returns a time in UTC with the precision of the columns, microseconds.
func micros(at time.Time) time.Time { return at.UTC().Truncate(time.Microsecond) }
