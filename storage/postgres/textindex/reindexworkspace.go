package textindex

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres"
)

// WorkspaceReindex is a request to embed the nodes of one workspace again in the live index, and its
// progress.
type WorkspaceReindex struct {
	Workspace   uuid.UUID
	ID          uuid.UUID
	RequestedAt time.Time
	Sequence    int64      // nodes created by later changes are not embedded again
	After       *uuid.UUID // the last node that was embedded again; nil: none
	Done        int64      // number of nodes that were embedded again
}

// RequestWorkspaceReindex requests to embed a workspace again. The error is Conflict if there is
// such a request already.
func (db *Store) RequestWorkspaceReindex(
	ctx context.Context, workspace uuid.UUID, by string,
) (WorkspaceReindex, error) {
	r := WorkspaceReindex{Workspace: workspace, ID: uuid.New()}
	err := db.pool.QueryRow(ctx, `INSERT INTO workspace_reindexes (workspace_id, id, requested_by, sequence)
		SELECT id, $2, $3, COALESCE((SELECT sequence FROM graph_heads WHERE workspace_id = $1), 0) FROM workspaces
		WHERE id = $1 AND deleted_at IS NULL
		ON CONFLICT DO NOTHING RETURNING requested_at, sequence`, workspace, r.ID, by).Scan(&r.RequestedAt, &r.Sequence)
	if isNoRows(err) {
		return r, fault.New(fault.Conflict, "The workspace is already being reindexed").With("reason", "reindex_running")
	}
	if err != nil {
		return r, postgres.Classify(fmt.Errorf("requesting a workspace reindex: %w", err))
	}
	r.RequestedAt = r.RequestedAt.UTC()
	return r, nil
}

// NextWorkspaceReindex returns the request with the fewest nodes done, so that small workspaces do
// not wait for a large one. It returns nil if there is none.
func (db *Store) NextWorkspaceReindex(ctx context.Context) (*WorkspaceReindex, error) {
	var r WorkspaceReindex
	err := db.pool.QueryRow(ctx, `SELECT r.workspace_id, r.id, r.requested_at, r.sequence, r.after_node, r.done
		FROM workspace_reindexes r JOIN workspaces w ON w.id = r.workspace_id AND w.deleted_at IS NULL
		ORDER BY r.done, r.requested_at, r.workspace_id LIMIT 1`).Scan(
		&r.Workspace, &r.ID, &r.RequestedAt, &r.Sequence, &r.After, &r.Done,
	)
	if isNoRows(err) {
		return nil, nil
	}
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("looking for workspace reindexes: %w", err))
	}
	return &r, nil
}

// ContinueWorkspaceReindex records that the next nodes of a request were embedded, up to after.
func (db *Store) ContinueWorkspaceReindex(ctx context.Context, id, after uuid.UUID, nodes int) error {
	return db.changeIndex(
		ctx, `UPDATE workspace_reindexes SET after_node = $2, done = done + $3 WHERE id = $1`, id, after, nodes,
	)
}

// EndWorkspaceReindex removes a request that is complete.
func (db *Store) EndWorkspaceReindex(ctx context.Context, id uuid.UUID) error {
	return db.changeIndex(ctx, `DELETE FROM workspace_reindexes WHERE id = $1`, id)
}
