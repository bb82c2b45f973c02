package textindex

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres"
)

// WorkspaceReindex is a wish to have the nodes of one workspace embedded again in the
// index there is, and how far that is.
type WorkspaceReindex struct {
	Workspace   uuid.UUID
	ID          uuid.UUID
	RequestedAt time.Time
	Sequence    int64      // nodes that later changes create are not for it
	After       *uuid.UUID // the last node that was written again; nil: none
	Done        int64      // nodes
}

// RequestWorkspaceReindex asks for a workspace to be embedded again. Conflict: it is being
// already.
func (db *Store) RequestWorkspaceReindex(
	ctx context.Context, workspace uuid.UUID, by string,
) (WorkspaceReindex, error) {
	r := WorkspaceReindex{Workspace: workspace, ID: uuid.New()}
	err := db.pool.QueryRow(ctx, `INSERT INTO workspace_reindexes (workspace_id, id, requested_by, sequence)
		SELECT id, $2, $3, COALESCE((SELECT sequence FROM graph_heads WHERE workspace_id = $1), 0) FROM workspaces
		WHERE id = $1 AND deleted_at IS NULL
		ON CONFLICT DO NOTHING RETURNING requested_at, sequence`, workspace, r.ID, by).Scan(&r.RequestedAt, &r.Sequence)
	if isNoRows(err) {
		return r, fault.New(fault.Conflict, "The workspace is being indexed anew already").With("reason", "reindex_running")
	}
	if err != nil {
		return r, postgres.Classify(fmt.Errorf("asking for a workspace to be indexed anew: %w", err))
	}
	r.RequestedAt = r.RequestedAt.UTC()
	return r, nil
}

// NextWorkspaceReindex returns the wish that least was done for, so that a large workspace
// does not keep small ones waiting; nil: there is none.
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
		return nil, postgres.Classify(fmt.Errorf("looking for workspaces to index anew: %w", err))
	}
	return &r, nil
}

// ContinueWorkspaceReindex notes that the next nodes of a wish were written, up to one.
func (db *Store) ContinueWorkspaceReindex(ctx context.Context, id, after uuid.UUID, nodes int) error {
	return db.changeIndex(
		ctx, `UPDATE workspace_reindexes SET after_node = $2, done = done + $3 WHERE id = $1`, id, after, nodes,
	)
}

// EndWorkspaceReindex notes that a wish is fulfilled.
func (db *Store) EndWorkspaceReindex(ctx context.Context, id uuid.UUID) error {
	return db.changeIndex(ctx, `DELETE FROM workspace_reindexes WHERE id = $1`, id)
}
