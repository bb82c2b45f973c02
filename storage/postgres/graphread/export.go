package graphread

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/topology"
)

const (
	// exportPageSize is the number of rows read by one statement, so that a graph of any size
	// needs little memory and no statement runs for long.
	exportPageSize = 5000
	// exportIdleTimeout is the maximum time that a visitor may take between two statements.
	exportIdleTimeout = "10min"
)

// Visitor receives a graph: first its extent, then the nodes, then the edges, each by ascending
// id. An error that it returns ends the export.
type Visitor interface {
	Begin(extent topology.Extent) error
	Node(n *graph.Node) error
	Edge(e *graph.Edge) error
}

// ExportGraph passes a snapshot of a workspace's whole graph to visitor. Concurrent writes do not
// change the snapshot. The error is NotFound if there is no such workspace.
func (db *Store) ExportGraph(ctx context.Context, workspace uuid.UUID, visitor Visitor) error {
	const setting = `SET LOCAL idle_in_transaction_session_timeout = '` + exportIdleTimeout + `'`
	return topology.InSnapshot(ctx, db.pool, workspace, setting, visitor.Begin, func(tx pgx.Tx) error {
		if err := visitAll(ctx, tx, nodes, workspace, visitor.Node); err != nil {
			return err
		}
		return visitAll(ctx, tx, edges, workspace, visitor.Edge)
	})
}

// visitAll reads a table by its primary key, page by page.
func visitAll[T any](ctx context.Context, tx pgx.Tx, res resource[T], workspace uuid.UUID, visit func(*T) error) error {
	// The first page includes the lowest possible id, because a client may have chosen it.
	for after, comparison := uuid.Nil, ">="; ; comparison = ">" {
		rows, err := tx.Query(
			ctx, fmt.Sprintf(`SELECT %s FROM %s WHERE workspace_id = $1 AND id %s $2 AND NOT deleted ORDER BY id LIMIT %d`,
				res.columns, res.table, comparison, exportPageSize), workspace, after,
		)
		if err != nil {
			return postgres.Classify(fmt.Errorf("exporting %s: %w", res.table, err))
		}
		page, err := pgx.CollectRows(rows, res.scan)
		if err != nil {
			return postgres.Classify(fmt.Errorf("exporting %s: %w", res.table, err))
		}
		for i := range page {
			if err := visit(&page[i]); err != nil {
				return err
			}
		}
		if len(page) < exportPageSize {
			return nil
		}
		after = res.position(&page[len(page)-1]).ID
	}
}
