package access

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres"
)

// WorkspaceCounts has counts of a workspace besides those of its sources and series.
type WorkspaceCounts struct {
	Nodes, Edges int64
	Keys         int64 // that are neither revoked nor expired
}

// WorkspaceCounts returns the current counts of a workspace.
func (db *Store) WorkspaceCounts(ctx context.Context, workspace uuid.UUID) (c WorkspaceCounts, err error) {
	err = db.pool.QueryRow(ctx, `
		SELECT COALESCE((SELECT sum(standing) FROM graph_totals WHERE workspace_id = $1 AND kind = $2), 0)::bigint,
			COALESCE((SELECT sum(standing) FROM graph_totals WHERE workspace_id = $1 AND kind = $3), 0)::bigint,
			(SELECT count(*) FROM api_key_workspaces w JOIN api_keys k ON k.id = w.key_id
				WHERE w.workspace_id = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()))`,
		workspace, int16(graph.KindNode), int16(graph.KindEdge)).Scan(&c.Nodes, &c.Edges, &c.Keys)
	if err != nil {
		return c, postgres.Classify(fmt.Errorf("counting the contents of a workspace: %w", err))
	}
	return c, nil
}
