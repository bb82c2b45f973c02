package graphread

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres"
)

const (
	// exportPageSize is the number of rows read by one statement, so that a graph of any size
	// needs little memory and no statement runs for long.
	exportPageSize = 5000
	// exportIdleTimeout is the maximum time that a visitor may take between two statements.
	exportIdleTimeout = "10min"
)

// Extent is the size of a workspace's graph at one moment.
type Extent struct {
	Sequence int64 // of the newest change; 0: there is none
	Nodes    int64
	Edges    int64
}

// Visitor receives a graph: first its extent, then the nodes, then the edges, each by ascending
// id. An error that it returns ends the export.
type Visitor interface {
	Begin(extent Extent) error
	Node(n *graph.Node) error
	Edge(e *graph.Edge) error
}

// ExportGraph passes a snapshot of a workspace's whole graph to visitor. Concurrent writes do not
// change the snapshot. The error is NotFound if there is no such workspace.
func (db *Store) ExportGraph(ctx context.Context, workspace uuid.UUID, visitor Visitor) error {
	const setting = `SET LOCAL idle_in_transaction_session_timeout = '` + exportIdleTimeout + `'`
	return db.inSnapshot(ctx, workspace, setting, visitor.Begin, func(tx pgx.Tx) error {
		if err := visitAll(ctx, tx, nodes, workspace, visitor.Node); err != nil {
			return err
		}
		return visitAll(ctx, tx, edges, workspace, visitor.Edge)
	})
}

// inSnapshot runs read in a read-only transaction of any duration with one snapshot and a setting. Before, it passes
// the extent of the workspace's graph in this snapshot to begin. The error is NotFound if there is no such workspace.
func (db *Store) inSnapshot(
	ctx context.Context, workspace uuid.UUID, setting string, begin func(Extent) error, read func(pgx.Tx) error,
) error {
	tx, err := db.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return postgres.Classify(fmt.Errorf("beginning to read a graph: %w", err))
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := tx.Exec(ctx, setting); err != nil {
		return postgres.Classify(err)
	}
	extent, err := graphExtent(ctx, tx, workspace)
	if err != nil {
		return err
	}
	if err := begin(extent); err != nil {
		return err
	}
	return read(tx)
}

func graphExtent(ctx context.Context, tx pgx.Tx, workspace uuid.UUID) (e Extent, err error) {
	rows, err := tx.Query(ctx, `SELECT COALESCE((SELECT sequence FROM graph_heads WHERE workspace_id = w.id), 0),
			COALESCE((SELECT sum(standing) FROM graph_totals WHERE workspace_id = w.id AND kind = $2), 0)::bigint,
			COALESCE((SELECT sum(standing) FROM graph_totals WHERE workspace_id = w.id AND kind = $3), 0)::bigint
		FROM workspaces w WHERE w.id = $1`, workspace, int16(graph.KindNode), int16(graph.KindEdge))
	if err != nil {
		return e, postgres.Classify(fmt.Errorf("measuring a graph: %w", err))
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e Extent, err error) {
		return e, row.Scan(&e.Sequence, &e.Nodes, &e.Edges)
	})
	if err == nil && len(found) == 0 {
		return e, fault.Newf(fault.NotFound, "No workspace %s", workspace)
	}
	if err != nil {
		return e, postgres.Classify(err)
	}
	return found[0], nil
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
