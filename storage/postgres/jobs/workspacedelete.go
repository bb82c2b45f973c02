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

// eraseBatch is how many rows one transaction of a workspace's deletion removes, so
// that none runs long or locks much.
const eraseBatch = 5_000

// workspaceTable is a table with rows of a workspace. Its keys are the columns that follow
// the workspace in an index that has all of these rows; none: they are few.
type workspaceTable struct{ name, keys string }

// workspaceTables are the tables with rows of a workspace, in the order in which
// they are emptied: series before the sources that they belong to, the head of its
// graph last of the graph. Not workspaces itself: its row keeps the id from being
// used again, and says to anyone who reads the log that its points are void.
func workspaceTables() []workspaceTable {
	return []workspaceTable{
		{"idempotency_keys", "actor_id, route, key"}, {"pending_deletions", ""}, {"tombstones", ""},
		{"series", "source_id, metric, id"}, {"sources", "id"},
		{"embedding_nodes", ""}, {"embedding_progress", ""}, {"workspace_reindexes", ""},
		{"nodes", "id"}, {"edges", "id"}, {"journal", "sequence"}, {"journal_nodes", "node_id, sequence"},
		{"cascade_edges", "sequence, node_id, place"}, {"undo_entries", "sequence"}, {"command_outcomes", "command_id"},
		{"graph_totals", ""}, {"graph_published", ""}, {"graph_heads", ""},
		{"lexical_champions", "term, node_id"}, {"lexical_champion_lists", "term"},
		{"lexical_postings", "term, node_id"}, {"lexical_terms", "term"}, {"lexical_nodes", "node_id"},
		{"lexical_workspaces", ""},
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
func (db *Store) DeleteWorkspace(ctx context.Context, id uuid.UUID, requestID string) error {
	return db.root.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE workspaces SET deleted_at = COALESCE(deleted_at, now()), updated_at = now() WHERE id = $1`, id)
		if err != nil {
			return fmt.Errorf("closing workspace: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return access.NoWorkspace(id)
		}
		// Behind the row's lock, so that nobody waits for that.
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
			return fmt.Errorf("noting the workspace's deletion: %w", err)
		}
		return nil
	})
}

const selectDeletions = `SELECT workspace_id, request_id, requested_at, progress, problem, removed_at, finished_at
	FROM workspace_deletions WHERE `

// WorkspaceDeletion reads how far the deletion of a workspace is.
func (db *Store) WorkspaceDeletion(ctx context.Context, workspace uuid.UUID) (WorkspaceDeletion, error) {
	rows, err := db.pool.Query(ctx, selectDeletions+`workspace_id = $1`, workspace)
	if err != nil {
		return WorkspaceDeletion{}, postgres.Classify(fmt.Errorf("reading the workspace's deletion: %w", err))
	}
	d, err := pgx.CollectExactlyOneRow(rows, scanDeletion)
	if errors.Is(err, pgx.ErrNoRows) {
		return WorkspaceDeletion{}, access.NoWorkspace(workspace)
	}
	return d, postgres.Classify(err)
}

// OpenWorkspaceDeletions lists the deletions that are not finished, oldest first.
func (db *Store) OpenWorkspaceDeletions(ctx context.Context) ([]WorkspaceDeletion, error) {
	rows, err := db.pool.Query(ctx, selectDeletions+`finished_at IS NULL ORDER BY requested_at, workspace_id`)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("listing the deletions of workspaces: %w", err))
	}
	list, err := pgx.CollectRows(rows, scanDeletion)
	return list, postgres.Classify(err)
}

// SaveWorkspaceDeletion notes how far a deletion is.
func (db *Store) SaveWorkspaceDeletion(ctx context.Context, d WorkspaceDeletion) error {
	_, err := db.pool.Exec(ctx, `UPDATE workspace_deletions
		SET progress = $2, problem = $3, removed_at = $4, finished_at = $5, updated_at = now() WHERE workspace_id = $1`,
		d.Workspace, d.Progress, d.Problem, d.RemovedAt, d.FinishedAt)
	if err != nil {
		return postgres.Classify(fmt.Errorf("noting the progress of a workspace's deletion: %w", err))
	}
	return nil
}

func scanDeletion(row pgx.CollectableRow) (WorkspaceDeletion, error) {
	var d WorkspaceDeletion
	err := row.Scan(&d.Workspace, &d.RequestID, &d.RequestedAt, &d.Progress, &d.Problem, &d.RemovedAt, &d.FinishedAt)
	d.RequestedAt = d.RequestedAt.UTC()
	return d, err
}

// WorkspaceRows counts the rows of a workspace, except for its own.
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

// EraseWorkspace removes the rows of a workspace that is closed, except for its own, in
// batches, and tells of each. It may be cut short and begun again.
func (db *Store) EraseWorkspace(ctx context.Context, workspace uuid.UUID, gone func(rows int64) error) error {
	for _, table := range workspaceTables() {
		for more := true; more; { // what was removed is passed over once more, and nothing found
			n, err := db.eraseTable(ctx, table, workspace, gone)
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

// eraseTable removes the rows of a workspace from a table, each batch behind the one
// before: from the beginning, a batch would pass over the entries in the index of all rows
// that are removed.
func (db *Store) eraseTable(
	ctx context.Context, table workspaceTable, workspace uuid.UUID, gone func(rows int64) error,
) (all int64, err error) {
	var last []any
	for {
		n, next, err := db.eraseFrom(ctx, table, workspace, last)
		if err != nil || n == 0 {
			return all, err
		}
		all, last = all+n, next
		if err := gone(n); err != nil {
			return all, err
		}
	}
}

// eraseFrom removes some rows, behind the keys of one, and returns how many and the keys
// of the last. It waits for a group of commands that is being decided, for series that
// are being registered and for texts that are being written; none comes after, because the
// workspace is closed. A workspace that stands loses nothing.
func (db *Store) eraseFrom(
	ctx context.Context, table workspaceTable, workspace uuid.UUID, behind []any,
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
		places, keys, err := table.some(ctx, tx, workspace, behind)
		if err != nil || len(places) == 0 {
			return err
		}
		tag, err := tx.Exec(
			ctx, `DELETE FROM `+table.name+` WHERE workspace_id = $1 AND ctid = ANY ($2::text[]::tid[])`, workspace, places,
		)
		if err != nil {
			return fmt.Errorf("deleting the workspace's %s: %w", table.name, err)
		}
		deleted, last = tag.RowsAffected(), keys
		return nil
	})
	return deleted, last, err
}

// some returns where some rows of a workspace that is closed are, behind the keys of one,
// and the keys of the last.
func (t workspaceTable) some(
	ctx context.Context, tx pgx.Tx, workspace uuid.UUID, behind []any,
) (places []string, last []any, err error) {
	columns, where, order := "t.ctid::text", "", ""
	if t.keys != "" {
		columns, order = columns+", "+t.keys, " ORDER BY t.workspace_id, "+t.keys
	}
	args := []any{workspace, eraseBatch}
	if len(behind) > 0 {
		var values []string
		for _, key := range behind {
			args = append(args, key)
			values = append(values, fmt.Sprintf("$%d", len(args)))
		}
		where = fmt.Sprintf(" AND (%s) > (%s)", t.keys, strings.Join(values, ", "))
	}
	rows, err := tx.Query(ctx, fmt.Sprintf(`SELECT %s FROM %s t WHERE t.workspace_id = $1%s
		AND EXISTS (SELECT FROM workspaces w WHERE w.id = $1 AND w.deleted_at IS NOT NULL)%s LIMIT $2`,
		columns, t.name, where, order), args...)
	if err != nil {
		return nil, nil, fmt.Errorf("looking for the workspace's %s: %w", t.name, err)
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return nil, nil, fmt.Errorf("looking for the workspace's %s: %w", t.name, err)
		}
		place, _ := values[0].(string)
		places, last = append(places, place), values[1:]
	}
	if err := rows.Err(); err != nil {
		return nil, nil, fmt.Errorf("looking for the workspace's %s: %w", t.name, err)
	}
	return places, last, nil
}
