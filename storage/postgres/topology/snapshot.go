package topology

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres"
)

// Extent is the size of a workspace's graph at one moment.
type Extent struct {
	Sequence int64 // of the newest change; 0: there is none
	Nodes    int64
	Edges    int64
}

// InSnapshot runs read in a read-only transaction of any duration with one snapshot and a setting. Before, it passes
// the extent of the workspace's graph in this snapshot to begin. The error is NotFound if there is no such workspace.
func InSnapshot(
	ctx context.Context, pool *pgxpool.Pool, workspace uuid.UUID, setting string, begin func(Extent) error,
	read func(pgx.Tx) error,
) error {
	tx, err := pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
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
