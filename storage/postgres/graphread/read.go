package graphread

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/graphrow"
)

// Node reads a live node. The error is NotFound for any other id.
func (db *Store) Node(ctx context.Context, workspace, id uuid.UUID) (graph.Node, error) {
	n, err := readOne(
		ctx, db, nodes, `SELECT `+graphrow.NodeColumns+` FROM nodes WHERE workspace_id = $1 AND id = $2 AND NOT deleted`,
		workspace, id,
	)
	if errors.Is(err, pgx.ErrNoRows) {
		return n, fault.New(fault.NotFound, "No such node")
	}
	return n, err
}

// Edge reads a live edge. The error is NotFound for any other id.
func (db *Store) Edge(ctx context.Context, workspace, id uuid.UUID) (graph.Edge, error) {
	e, err := readOne(
		ctx, db, edges, `SELECT `+graphrow.EdgeColumns+` FROM edges WHERE workspace_id = $1 AND id = $2 AND NOT deleted`,
		workspace, id,
	)
	if errors.Is(err, pgx.ErrNoRows) {
		return e, fault.New(fault.NotFound, "No such edge")
	}
	return e, err
}

func readOne[T any](ctx context.Context, db *Store, res resource[T], query string, args ...any) (T, error) {
	rows, err := db.pool.Query(ctx, query, args...)
	if err != nil {
		var zero T
		return zero, postgres.Classify(fmt.Errorf("reading %s: %w", res.table, err))
	}
	one, err := pgx.CollectOneRow(rows, res.scan)
	return one, postgres.Classify(err)
}
