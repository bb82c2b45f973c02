package graphread

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph/paths"
)

// ReadPathEdges reads edges as a search for paths does.
func (db *Store) ReadPathEdges(
	ctx context.Context, workspace uuid.UUID, q PathQuery, read paths.Read,
) (batch paths.Batch, err error) {
	err = db.root.InReadTx(ctx, func(tx pgx.Tx) error {
		batch, err = (&pathReader{tx: tx, workspace: workspace, query: q}).ReadEdges(ctx, read)
		return err
	})
	return batch, err
}
