package postgres

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// How many rows one transaction of a workspace's deletion touches, so that none
// runs long or locks much.
const (
	deleteSourcesBatch = 500
	deleteSeriesBatch  = 10_000
	deleteGraphBatch   = 5_000
)

// graphTables are what a workspace's graph is in. Its head comes last: it is what an
// interrupted deletion finds that there is something left by.
var graphTables = []string{
	"nodes", "edges", "journal", "journal_nodes", "undo_entries", "command_outcomes", "graph_totals", "graph_published", "graph_heads",
}

// DeletionProgress is how far the deletion of a workspace is: what was removed
// so far in this run.
type DeletionProgress struct {
	Sources int64 `json:"sources"`
	Series  int64 `json:"series"`
	Graph   int64 `json:"graph"` // rows of its nodes, edges and journal
}

// DeleteWorkspace closes a workspace to every key at once, then removes its
// sources, series and graph in batches and tells progress (may be nil) after each. The points go by
// records in the log: each source leaves a pending deletion. A deletion that
// was interrupted goes on when it is called again.
func (db *DB) DeleteWorkspace(ctx context.Context, id uuid.UUID, requestID string, progress func(DeletionProgress)) error {
	tag, err := db.pool.Exec(ctx, `
		UPDATE workspaces SET deleted_at = COALESCE(deleted_at, now()), updated_at = now() WHERE id = $1`, id)
	if err != nil {
		return classify(fmt.Errorf("closing workspace: %w", err))
	}
	if tag.RowsAffected() == 0 {
		return noWorkspace(id)
	}
	if progress == nil {
		progress = func(DeletionProgress) {}
	}
	var done DeletionProgress
	for {
		n, err := db.deleteSourcesOf(ctx, id, requestID)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		done.Sources += n
		progress(done)
	}
	for {
		n, err := db.deleteSeriesOf(ctx, id)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		done.Series += n
		progress(done)
	}
	for _, table := range graphTables {
		for {
			n, err := db.deleteGraphOf(ctx, id, table)
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
			done.Graph += n
			progress(done)
		}
	}
	return nil
}

// deleteGraphOf removes some rows of a workspace's graph. It waits for a group of
// commands that is being decided; none comes after, because the workspace is closed.
func (db *DB) deleteGraphOf(ctx context.Context, workspace uuid.UUID, table string) (int64, error) {
	var deleted int64
	err := db.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT sequence FROM graph_heads WHERE workspace_id = $1 FOR UPDATE`, workspace); err != nil {
			return fmt.Errorf("waiting for the workspace's commands: %w", err)
		}
		tag, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE ctid = ANY (ARRAY(
			SELECT ctid FROM `+table+` WHERE workspace_id = $1 LIMIT $2))`, workspace, deleteGraphBatch)
		if err != nil {
			return fmt.Errorf("deleting the workspace's graph: %w", err)
		}
		deleted = tag.RowsAffected()
		return nil
	})
	return deleted, err
}

func (db *DB) deleteSourcesOf(ctx context.Context, workspace uuid.UUID, requestID string) (int64, error) {
	var deleted int64
	err := db.inTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			WITH gone AS (
				UPDATE sources SET deleted_at = now(), updated_at = now(), version = version + 1
				WHERE (workspace_id, id) IN (
					SELECT workspace_id, id FROM sources
					WHERE workspace_id = $1 AND deleted_at IS NULL ORDER BY id LIMIT $2 FOR UPDATE)
				RETURNING workspace_id, id)
			INSERT INTO pending_deletions (id, workspace_id, source_id, request_id)
			SELECT gen_random_uuid(), workspace_id, id, $3 FROM gone`, workspace, deleteSourcesBatch, requestID)
		if err != nil {
			return fmt.Errorf("deleting the workspace's sources: %w", err)
		}
		deleted = tag.RowsAffected()
		_, err = tx.Exec(ctx, `UPDATE workspaces SET sources = GREATEST(sources - $2, 0) WHERE id = $1`, workspace, deleted)
		return err
	})
	return deleted, err
}

func (db *DB) deleteSeriesOf(ctx context.Context, workspace uuid.UUID) (int64, error) {
	var deleted int64
	err := db.inTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			DELETE FROM series WHERE id IN (SELECT id FROM series WHERE workspace_id = $1 LIMIT $2)`,
			workspace, deleteSeriesBatch)
		if err != nil {
			return fmt.Errorf("deleting the workspace's series: %w", err)
		}
		deleted = tag.RowsAffected()
		_, err = tx.Exec(ctx, `UPDATE workspaces SET series = GREATEST(series - $2, 0) WHERE id = $1`, workspace, deleted)
		return err
	})
	return deleted, err
}
