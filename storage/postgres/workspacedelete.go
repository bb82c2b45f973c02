package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// eraseBatch is how many rows one transaction of a workspace's deletion removes, so
// that none runs long or locks much.
const eraseBatch = 5_000

// workspaceTables are the tables with rows of a workspace, in the order in which
// they are emptied: series before the sources that they belong to, the head of its
// graph last of the graph. Not workspaces itself: its row keeps the id from being
// used again, and says to whoever reads the log that its points are void.
func workspaceTables() []string {
	return []string{
		"idempotency_keys", "pending_deletions", "tombstones", "series", "sources",
		"embedding_nodes", "embedding_progress", "workspace_reindexes",
		"nodes", "edges", "journal", "journal_nodes", "cascade_edges", "undo_entries", "command_outcomes", "graph_totals", "graph_published", "graph_heads",
		"lexical_postings", "lexical_terms", "lexical_nodes", "lexical_workspaces",
	}
}

// WorkspaceDeletion is how far the deletion of a workspace is.
type WorkspaceDeletion struct {
	Workspace   uuid.UUID       `json:"id"`
	RequestID   string          `json:"-"`
	RequestedAt time.Time       `json:"requestedAt"`
	Progress    []StoreProgress `json:"stores"`     // in the order in which they are emptied
	Problem     *string         `json:"problem"`    // why it does not go on at this moment
	RemovedAt   *time.Time      `json:"removedAt"`  // when all was removed
	FinishedAt  *time.Time      `json:"finishedAt"` // when it had been looked for once more
}

// StoreProgress is how much of a workspace a store has left.
type StoreProgress struct {
	Store string `json:"store"`
	Found int64  `json:"found"` // rows at first
	Left  int64  `json:"left"`
	Done  bool   `json:"done"`
}

// DeleteWorkspace closes a workspace to every key, for good, and leaves a note by
// which it is removed from all stores (see OpenWorkspaceDeletions). For one that is
// being deleted it changes nothing.
func (db *DB) DeleteWorkspace(ctx context.Context, id uuid.UUID, requestID string) error {
	return db.inTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE workspaces SET deleted_at = COALESCE(deleted_at, now()), updated_at = now() WHERE id = $1`, id)
		if err != nil {
			return fmt.Errorf("closing workspace: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return noWorkspace(id)
		}
		_, err = tx.Exec(ctx, `INSERT INTO workspace_deletions (workspace_id, request_id) VALUES ($1, $2)
			ON CONFLICT DO NOTHING`, id, requestID)
		if err != nil {
			return fmt.Errorf("noting the workspace's deletion: %w", err)
		}
		return nil
	})
}

const selectDeletions = `SELECT workspace_id, request_id, requested_at, progress, problem, removed_at, finished_at
	FROM workspace_deletions WHERE `

// WorkspaceDeletion reads how far the deletion of a workspace is.
func (db *DB) WorkspaceDeletion(ctx context.Context, workspace uuid.UUID) (WorkspaceDeletion, error) {
	rows, err := db.pool.Query(ctx, selectDeletions+`workspace_id = $1`, workspace)
	if err != nil {
		return WorkspaceDeletion{}, classify(fmt.Errorf("reading the workspace's deletion: %w", err))
	}
	d, err := pgx.CollectExactlyOneRow(rows, scanDeletion)
	if errors.Is(err, pgx.ErrNoRows) {
		return WorkspaceDeletion{}, noWorkspace(workspace)
	}
	return d, classify(err)
}

// OpenWorkspaceDeletions lists the deletions that are not finished, oldest first.
func (db *DB) OpenWorkspaceDeletions(ctx context.Context) ([]WorkspaceDeletion, error) {
	rows, err := db.pool.Query(ctx, selectDeletions+`finished_at IS NULL ORDER BY requested_at, workspace_id`)
	if err != nil {
		return nil, classify(fmt.Errorf("listing the deletions of workspaces: %w", err))
	}
	list, err := pgx.CollectRows(rows, scanDeletion)
	return list, classify(err)
}

// SaveWorkspaceDeletion notes how far a deletion is.
func (db *DB) SaveWorkspaceDeletion(ctx context.Context, d WorkspaceDeletion) error {
	_, err := db.pool.Exec(ctx, `UPDATE workspace_deletions
		SET progress = $2, problem = $3, removed_at = $4, finished_at = $5, updated_at = now() WHERE workspace_id = $1`,
		d.Workspace, d.Progress, d.Problem, d.RemovedAt, d.FinishedAt)
	if err != nil {
		return classify(fmt.Errorf("noting the progress of a workspace's deletion: %w", err))
	}
	return nil
}

func scanDeletion(row pgx.CollectableRow) (WorkspaceDeletion, error) {
	var d WorkspaceDeletion
	err := row.Scan(&d.Workspace, &d.RequestID, &d.RequestedAt, &d.Progress, &d.Problem, &d.RemovedAt, &d.FinishedAt)
	d.RequestedAt = d.RequestedAt.UTC()
	return d, err
}

// WorkspaceRows counts the rows of a workspace, but for its own.
func (db *DB) WorkspaceRows(ctx context.Context, workspace uuid.UUID) (rows int64, err error) {
	for _, table := range workspaceTables() {
		var n int64
		if err := db.pool.QueryRow(ctx, `SELECT count(*) FROM `+table+` WHERE workspace_id = $1`, workspace).Scan(&n); err != nil {
			return 0, classify(fmt.Errorf("counting the workspace's %s: %w", table, err))
		}
		rows += n
	}
	return rows, nil
}

// EraseWorkspace removes the rows of a workspace that is closed, but for its own, in
// batches, and tells of each. It may be cut short and begun again.
func (db *DB) EraseWorkspace(ctx context.Context, workspace uuid.UUID, gone func(rows int64) error) error {
	for _, table := range workspaceTables() {
		for {
			n, err := db.eraseFrom(ctx, table, workspace)
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
			if err := gone(n); err != nil {
				return err
			}
		}
	}
	_, err := db.pool.Exec(ctx, `UPDATE workspaces SET sources = 0, series = 0 WHERE id = $1 AND deleted_at IS NOT NULL`, workspace)
	return classify(err)
}

// eraseFrom removes some rows. It waits for a group of commands that is being
// decided, for series that are being registered and for texts that are being written;
// none comes after, because the workspace is closed. A workspace that stands loses nothing.
func (db *DB) eraseFrom(ctx context.Context, table string, workspace uuid.UUID) (int64, error) {
	var deleted int64
	err := db.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT FROM workspaces WHERE id = $1 FOR NO KEY UPDATE`, workspace); err != nil {
			return fmt.Errorf("locking the workspace: %w", err)
		}
		if _, err := tx.Exec(ctx, `SELECT FROM graph_heads WHERE workspace_id = $1 FOR UPDATE`, workspace); err != nil {
			return fmt.Errorf("waiting for the workspace's commands: %w", err)
		}
		if _, err := tx.Exec(ctx, lockLexical, []uuid.UUID{workspace}); err != nil {
			return fmt.Errorf("waiting for the workspace's texts: %w", err)
		}
		tag, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE ctid = ANY (ARRAY(
			SELECT t.ctid FROM `+table+` t JOIN workspaces w ON w.id = t.workspace_id
			WHERE t.workspace_id = $1 AND w.deleted_at IS NOT NULL LIMIT $2))`, workspace, eraseBatch)
		if err != nil {
			return fmt.Errorf("deleting the workspace's %s: %w", table, err)
		}
		deleted = tag.RowsAffected()
		return nil
	})
	return deleted, err
}
