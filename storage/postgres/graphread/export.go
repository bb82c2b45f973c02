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
	// exportPage is how many rows are read at once, so that a graph of any size is
	// read in little memory and no statement runs for long.
	exportPage = 5000
	// exportPause is how long anyone who takes the rows may hold them up.
	exportPause = "10min"
)

// Extent is how much a workspace's graph holds at one moment.
type Extent struct {
	Sequence int64 // of its newest change; 0: there was none
	Nodes    int64
	Edges    int64
}

// Visitor is given a graph: its extent first, then the nodes and then the
// edges, each by ascending id. An error of its ends the export.
type Visitor interface {
	Begin(extent Extent) error
	Node(n *graph.Node) error
	Edge(e *graph.Edge) error
}

// ExportGraph returns a workspace's whole graph as it is at one moment, whatever
// is written meanwhile. NotFound if there is no such workspace.
func (db *Store) ExportGraph(ctx context.Context, workspace uuid.UUID, to Visitor) error {
	tx, err := db.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return postgres.Classify(fmt.Errorf("beginning to export a graph: %w", err))
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := tx.Exec(ctx, `SET LOCAL idle_in_transaction_session_timeout = '`+exportPause+`'`); err != nil {
		return postgres.Classify(err)
	}
	extent, err := graphExtent(ctx, tx, workspace)
	if err != nil {
		return err
	}
	if err := to.Begin(extent); err != nil {
		return err
	}
	if err := visitAll(ctx, tx, nodes, workspace, to.Node); err != nil {
		return err
	}
	return visitAll(ctx, tx, edges, workspace, to.Edge)
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
func visitAll[T any](ctx context.Context, tx pgx.Tx, of resource[T], workspace uuid.UUID, visit func(*T) error) error {
	// The first page begins with the lowest id there is, which a client may have chosen.
	for after, from := uuid.Nil, ">="; ; from = ">" {
		rows, err := tx.Query(
			ctx, fmt.Sprintf(`SELECT %s FROM %s WHERE workspace_id = $1 AND id %s $2 AND NOT deleted ORDER BY id LIMIT %d`,
				of.columns, of.table, from, exportPage), workspace, after,
		)
		if err != nil {
			return postgres.Classify(fmt.Errorf("exporting %s: %w", of.table, err))
		}
		page, err := pgx.CollectRows(rows, of.scan)
		if err != nil {
			return postgres.Classify(fmt.Errorf("exporting %s: %w", of.table, err))
		}
		for i := range page {
			if err := visit(&page[i]); err != nil {
				return err
			}
		}
		if len(page) < exportPage {
			return nil
		}
		after = of.position(&page[len(page)-1]).ID
	}
}
