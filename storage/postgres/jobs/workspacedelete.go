package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/registry"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

// eraseBatch is the number of rows that one transaction of a workspace's deletion deletes. It
// is bounded so that transactions are short and lock few rows.
const eraseBatch = 5_000

// workspaceTable is a table with rows of a workspace. keys are the columns after the
// workspace in an index that has all of these rows. keys is empty if a workspace has few rows.
type workspaceTable struct{ name, keys string }

// workspaceTables returns the tables with rows of a workspace, in the order in which they
// are emptied: series before their sources, and the graph head after the other tables of
// the graph. Table workspaces is not included: its row keeps the id from being used again,
// and marks the workspace's records in the log as deleted.
func workspaceTables() []workspaceTable {
	return []workspaceTable{
		{"idempotency_keys", "actor_id, route, key"}, {"pending_deletions", ""}, {"tombstones", ""},
		{"series", "source_id, metric, id"}, {"sources", "id"}, {"metric_metadata", "metric"},
		{"embedding_nodes", ""}, {"embedding_progress", ""}, {"workspace_reindexes", ""},
		{"node_keys", "key, node_id"}, {"nodes", "id"}, {"edges", "id"}, {"journal", "sequence"},
		{"journal_nodes", "node_id, sequence"},
		{"cascade_edges", "sequence, node_id, place"}, {"undo_entries", "sequence"}, {"command_outcomes", "command_id"},
		{"graph_totals", ""}, {"graph_published", ""}, {"graph_heads", ""},
		{"lexical_champions", "term, node_id"}, {"lexical_champion_lists", "term"},
		{"lexical_postings", "term, node_id"}, {"lexical_terms", "term"}, {"lexical_nodes", "node_id"},
		{"lexical_workspaces", ""}, {"link_keys", "key"}, {"link_nodes", "node_id"}, {"link_names", "key, node_id"},
		{"rule_files", ""}, {"rule_states", ""}, {"firing_alerts", "file, rule_group, fingerprint"}, {"alertmanagers", ""},
		// While a transaction queues deliveries it has a lock on the webhook, so none follow when the webhooks are gone.
		{"webhooks", ""}, {"webhook_deliveries", "webhook_id, id"}, {"analyses", ""},
		{"saved_queries", "id"},
	}
}

// WorkspaceDeletion is the progress of a workspace's deletion.
type WorkspaceDeletion struct {
	Workspace   uuid.UUID       `json:"id"`
	RequestID   string          `json:"-"`
	RequestedAt time.Time       `json:"requestedAt"`
	Progress    []StoreProgress `json:"stores"`     // in the order in which they are emptied
	Problem     *string         `json:"problem"`    // why it is blocked at this time
	RemovedAt   *time.Time      `json:"removedAt"`  // when everything was removed
	FinishedAt  *time.Time      `json:"finishedAt"` // when the stores had been checked again
}

// StoreProgress is the progress of a workspace's deletion in one store.
type StoreProgress struct {
	Store string `json:"store"`
	Found int64  `json:"found"` // rows at the start
	Left  int64  `json:"left"`
	Done  bool   `json:"done"`
}

// DeleteWorkspace permanently closes a workspace to all keys and queues its removal from all
// stores (see OpenWorkspaceDeletions). It does nothing if the deletion has already started.
func (db *Store) DeleteWorkspace(ctx context.Context, id uuid.UUID, requestID string) error {
	return db.root.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE workspaces SET deleted_at = COALESCE(deleted_at, now()), updated_at = now() WHERE id = $1`, id)
		if err != nil {
			return fmt.Errorf("closing workspace: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return access.WorkspaceNotFound(id)
		}
		// LockTombstones comes after the lock on the row: a transaction that waits for the
		// row must not block others that need LockTombstones.
		if _, err = tx.Exec(ctx, registry.LockTombstones); err == nil {
			_, err = tx.Exec(ctx, `
				UPDATE workspaces SET deleted_sequence = COALESCE(deleted_sequence, nextval('tombstone_sequence'))
				WHERE id = $1`, id)
		}
		if err != nil {
			return fmt.Errorf("numbering the workspace's deletion: %w", err)
		}
		_, err = tx.Exec(ctx, `INSERT INTO workspace_deletions (workspace_id, request_id) VALUES ($1, $2)
			ON CONFLICT DO NOTHING`, id, requestID)
		if err != nil {
			return fmt.Errorf("queueing the workspace's deletion: %w", err)
		}
		return nil
	})
}

const selectDeletions = `SELECT workspace_id, request_id, requested_at, progress, problem, removed_at, finished_at
	FROM workspace_deletions WHERE `

// WorkspaceDeletion returns the progress of a workspace's deletion.
func (db *Store) WorkspaceDeletion(ctx context.Context, workspace uuid.UUID) (WorkspaceDeletion, error) {
	rows, err := db.pool.Query(ctx, selectDeletions+`workspace_id = $1`, workspace)
	if err != nil {
		return WorkspaceDeletion{}, postgres.Classify(fmt.Errorf("reading the workspace's deletion: %w", err))
	}
	d, err := pgx.CollectExactlyOneRow(rows, scanDeletion)
	if errors.Is(err, pgx.ErrNoRows) {
		return WorkspaceDeletion{}, access.WorkspaceNotFound(workspace)
	}
	return d, postgres.Classify(err)
}

// OpenWorkspaceDeletions returns the deletions that are not finished, oldest first.
func (db *Store) OpenWorkspaceDeletions(ctx context.Context) ([]WorkspaceDeletion, error) {
	rows, err := db.pool.Query(ctx, selectDeletions+`finished_at IS NULL ORDER BY requested_at, workspace_id`)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("listing the deletions of workspaces: %w", err))
	}
	list, err := pgx.CollectRows(rows, scanDeletion)
	return list, postgres.Classify(err)
}

// SaveWorkspaceDeletion stores the progress of a deletion.
func (db *Store) SaveWorkspaceDeletion(ctx context.Context, d WorkspaceDeletion) error {
	_, err := db.pool.Exec(ctx, `UPDATE workspace_deletions
		SET progress = $2, problem = $3, removed_at = $4, finished_at = $5, updated_at = now() WHERE workspace_id = $1`,
		d.Workspace, d.Progress, d.Problem, d.RemovedAt, d.FinishedAt)
	if err != nil {
		return postgres.Classify(fmt.Errorf("storing the progress of a workspace's deletion: %w", err))
	}
	return nil
}

func scanDeletion(row pgx.CollectableRow) (WorkspaceDeletion, error) {
	var d WorkspaceDeletion
	err := row.Scan(&d.Workspace, &d.RequestID, &d.RequestedAt, &d.Progress, &d.Problem, &d.RemovedAt, &d.FinishedAt)
	d.RequestedAt = d.RequestedAt.UTC()
	return d, err
}

// WorkspaceRows returns the number of rows of a workspace, without its row in table
// workspaces.
func (db *Store) WorkspaceRows(ctx context.Context, workspace uuid.UUID) (rows int64, err error) {
	for _, table := range workspaceTables() {
		var n int64
		if err := db.pool.QueryRow(
			ctx, `SELECT count(*) FROM `+table.name+` WHERE workspace_id = $1`, workspace,
		).Scan(&n); err != nil {
			return 0, postgres.Classify(fmt.Errorf("counting the workspace's %s: %w", table.name, err))
		}
		rows += n
	}
	return rows, nil
}

// EraseWorkspace deletes the rows of a closed workspace in batches, except its row in table
// workspaces, and calls onDeleted after each batch. It can be interrupted and repeated.
func (db *Store) EraseWorkspace(ctx context.Context, workspace uuid.UUID, onDeleted func(rows int64) error) error {
	for _, table := range workspaceTables() {
		for more := true; more; { // until a pass finds no rows
			n, err := db.eraseTable(ctx, table, workspace, onDeleted)
			if err != nil {
				return err
			}
			more = n > 0
		}
	}
	_, err := db.pool.Exec(
		ctx, `UPDATE workspaces SET sources = 0, series = 0 WHERE id = $1 AND deleted_at IS NOT NULL`, workspace,
	)
	return postgres.Classify(err)
}

// eraseTable deletes the rows of a workspace from a table. Each batch starts after the
// previous one. If it started at the beginning it would scan the index entries of all rows
// that are deleted already.
func (db *Store) eraseTable(
	ctx context.Context, table workspaceTable, workspace uuid.UUID, onDeleted func(rows int64) error,
) (total int64, err error) {
	var last []any
	for {
		n, next, err := db.eraseAfter(ctx, table, workspace, last)
		if err != nil || n == 0 {
			return total, err
		}
		total, last = total+n, next
		if err := onDeleted(n); err != nil {
			return total, err
		}
	}
}

// eraseAfter deletes a batch of rows after the given keys, and returns their number and the
// keys of the last one. It waits for commands that are being decided, for series that are
// being registered and for texts that are being written. No more can follow, because the
// workspace is closed. It deletes nothing of a workspace that is not closed.
func (db *Store) eraseAfter(
	ctx context.Context, table workspaceTable, workspace uuid.UUID, after []any,
) (deleted int64, last []any, err error) {
	err = db.root.InTx(ctx, func(tx pgx.Tx) error {
		deleted, last = 0, nil
		if _, err := tx.Exec(ctx, `SELECT FROM workspaces WHERE id = $1 FOR NO KEY UPDATE`, workspace); err != nil {
			return fmt.Errorf("locking the workspace: %w", err)
		}
		if _, err := tx.Exec(ctx, `SELECT FROM graph_heads WHERE workspace_id = $1 FOR UPDATE`, workspace); err != nil {
			return fmt.Errorf("waiting for the workspace's commands: %w", err)
		}
		if _, err := tx.Exec(ctx, textindex.LockLexical, []uuid.UUID{workspace}); err != nil {
			return fmt.Errorf("waiting for the workspace's texts: %w", err)
		}
		ctids, keys, err := table.nextRows(ctx, tx, workspace, after)
		if err != nil || len(ctids) == 0 {
			return err
		}
		tag, err := tx.Exec(
			ctx, `DELETE FROM `+table.name+` WHERE workspace_id = $1 AND ctid = ANY ($2::text[]::tid[])`, workspace, ctids,
		)
		if err != nil {
			return fmt.Errorf("deleting the workspace's %s: %w", table.name, err)
		}
		deleted, last = tag.RowsAffected(), keys
		return nil
	})
	return deleted, last, err
}

// nextRows returns the ctids of a batch of rows of a closed workspace after the given keys,
// and the keys of the last row.
func (t workspaceTable) nextRows(
	ctx context.Context, tx pgx.Tx, workspace uuid.UUID, after []any,
) (ctids []string, last []any, err error) {
	columns, where, orderBy := "t.ctid::text", "", ""
	if t.keys != "" {
		columns, orderBy = columns+", "+t.keys, " ORDER BY t.workspace_id, "+t.keys
	}
	args := []any{workspace, eraseBatch}
	if len(after) > 0 {
		var values []string
		for _, key := range after {
			args = append(args, key)
			values = append(values, fmt.Sprintf("$%d", len(args)))
		}
		where = fmt.Sprintf(" AND (%s) > (%s)", t.keys, strings.Join(values, ", "))
	}
	rows, err := tx.Query(ctx, fmt.Sprintf(`SELECT %s FROM %s t WHERE t.workspace_id = $1%s
		AND EXISTS (SELECT FROM workspaces w WHERE w.id = $1 AND w.deleted_at IS NOT NULL)%s LIMIT $2`,
		columns, t.name, where, orderBy), args...)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the workspace's %s: %w", t.name, err)
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return nil, nil, fmt.Errorf("reading the workspace's %s: %w", t.name, err)
		}
		ctid, _ := values[0].(string)
		ctids, last = append(ctids, ctid), values[1:]
	}
	if err := rows.Err(); err != nil {
		return nil, nil, fmt.Errorf("reading the workspace's %s: %w", t.name, err)
	}
	return ctids, last, nil
}
