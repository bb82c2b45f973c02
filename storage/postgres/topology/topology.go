// Package topology reads whole graphs in one snapshot: how large they are, and their nodes and edges without the texts.
package topology

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/storage/postgres"
)

// pageSize is the number of rows that a statement reads, including deleted and unselected ones, so that no
// statement runs for long.
const pageSize = 20_000

// Store reads graphs in a database.
type Store struct{ pool *pgxpool.Pool }

// New returns a store on a database.
func New(db *postgres.DB) *Store { return &Store{db.Pool()} }

// Query selects a part of a graph.
type Query struct {
	EntityTypes   []string // read nodes of one of these; empty: all
	RelationTypes []string // read edges of one of these; empty: all
	Weight        string   // the property of edges to read; empty: none
	Property      string   // the property of nodes to read; empty: none
}

// Node is a node of a graph, without its texts.
type Node struct {
	ID       uuid.UUID
	Version  int64
	Property string // JSON text of the property that was read, empty if the node has none
}

// Edge is an edge of a graph. Its ends need not be among the nodes that were read.
type Edge struct {
	Source, Target uuid.UUID
	Weight         string // JSON text of the property that was read if it is a number, otherwise empty
}

// Visitor receives a graph: first the extent of the whole graph, then the selected nodes by ascending id, then
// the selected edges by ascending id. An error that it returns ends the reading.
type Visitor interface {
	Begin(whole Extent) error
	Node(n *Node) error
	Edge(e *Edge) error
}

// ReadTopology passes a snapshot of a part of a workspace's graph to visitor. Concurrent writes do not change the
// snapshot. The error is NotFound if there is no such workspace.
func (db *Store) ReadTopology(
	ctx context.Context, workspace uuid.UUID, q *Query, visitor Visitor,
) error {
	const setting = `SET LOCAL jit = off` // otherwise jsonb expressions are compiled for each page
	return InSnapshot(ctx, db.pool, workspace, setting, visitor.Begin, func(tx pgx.Tx) error {
		r := &reader{tx: tx, workspace: workspace, query: q}
		if err := r.read(ctx, selectNodes, r.nodes(visitor)); err != nil {
			return err
		}
		return r.read(ctx, selectEdges, r.edges(visitor))
	})
}

// The statements return the rows of a page. Rows that are not selected are returned, too, because the next page begins
// after the last row.
const (
	selectNodes = `SELECT id, NOT deleted AND (cardinality($4::text[]) = 0 OR entity_type = ANY($4)), version,
			CASE WHEN $5 <> '' THEN COALESCE((properties -> $5::text)::text, '') ELSE '' END
		FROM nodes WHERE workspace_id = $1 AND id %s $2 ORDER BY id LIMIT $3`
	selectEdges = `SELECT id, NOT deleted AND (cardinality($4::text[]) = 0 OR relation_type = ANY($4)), source_id,
			target_id, CASE WHEN $5 <> '' AND jsonb_typeof(properties -> $5::text) = 'number'
				THEN (properties -> $5::text)::text ELSE '' END
		FROM edges WHERE workspace_id = $1 AND id %s $2 ORDER BY id LIMIT $3`
)

// reader reads the pages of a table.
type reader struct {
	tx        pgx.Tx
	workspace uuid.UUID
	query     *Query
}

// table is what is read of a table: the types to select, the property, and where a row is scanned to.
type table struct {
	types    []string
	property string
	columns  []any // after the id and whether the row is selected
	visit    func(id uuid.UUID) error
}

func (r *reader) nodes(visitor Visitor) table {
	var n Node
	return table{
		types: r.query.EntityTypes, property: r.query.Property, columns: []any{&n.Version, &n.Property},
		visit: func(id uuid.UUID) error {
			n.ID = id
			return visitor.Node(&n)
		},
	}
}

func (r *reader) edges(visitor Visitor) table {
	var e Edge
	return table{
		types: r.query.RelationTypes, property: r.query.Weight, columns: []any{&e.Source, &e.Target, &e.Weight},
		visit: func(uuid.UUID) error { return visitor.Edge(&e) },
	}
}

// read reads a table by its primary key, page by page.
func (r *reader) read(ctx context.Context, sql string, t table) error {
	types := t.types
	if types == nil {
		types = []string{}
	}
	// The first page includes the lowest possible id, because a client may have chosen it.
	for after, comparison := uuid.Nil, ">="; ; comparison = ">" {
		rows, err := r.tx.Query(
			ctx, fmt.Sprintf(sql, comparison), r.workspace, after, pageSize, types, t.property,
		)
		if err != nil {
			return postgres.Classify(fmt.Errorf("reading a graph: %w", err))
		}
		count, selected := 0, false
		var visitErr error
		_, err = pgx.ForEachRow(rows, append([]any{&after, &selected}, t.columns...), func() error {
			count++
			if selected {
				visitErr = t.visit(after)
			}
			return visitErr
		})
		switch {
		case visitErr != nil:
			return visitErr
		case err != nil:
			return postgres.Classify(fmt.Errorf("reading a graph: %w", err))
		case count < pageSize:
			return nil
		}
	}
}

// TopologyNodes returns those of the nodes that exist, by id.
func (db *Store) TopologyNodes(
	ctx context.Context, workspace uuid.UUID, ids []uuid.UUID, property string,
) (map[uuid.UUID]Node, error) {
	rows, err := db.pool.Query(ctx, `SELECT id, version, COALESCE((properties -> $3::text)::text, '') FROM nodes
		WHERE workspace_id = $1 AND id = ANY($2) AND NOT deleted`, workspace, ids, property)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading nodes: %w", err))
	}
	found := make(map[uuid.UUID]Node, len(ids))
	var n Node
	_, err = pgx.ForEachRow(rows, []any{&n.ID, &n.Version, &n.Property}, func() error {
		found[n.ID] = n
		return nil
	})
	return found, postgres.Classify(err)
}
