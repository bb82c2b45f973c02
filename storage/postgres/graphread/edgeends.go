package graphread

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// EdgeEnds is what identifies an edge: its ends and its type.
type EdgeEnds struct {
	ID           uuid.UUID
	SourceID     uuid.UUID
	TargetID     uuid.UUID
	RelationType string
}

// EdgeEnds returns edges of a workspace, also deleted ones, in no order. Edges that no longer exist are left out.
func (db *Store) EdgeEnds(ctx context.Context, workspace uuid.UUID, ids []uuid.UUID) ([]EdgeEnds, error) {
	rows, err := db.pool.Query(ctx, `SELECT id, source_id, target_id, relation_type FROM edges
		WHERE workspace_id = $1 AND id = ANY ($2)`, workspace, ids)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading edges: %w", err))
	}
	edges, err := pgx.CollectRows(rows, pgx.RowToStructByPos[EdgeEnds])
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading edges: %w", err))
	}
	return edges, nil
}
