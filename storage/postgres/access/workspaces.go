package access

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres"
)

// Workspace is a tenant. Keys give access to workspaces.
type Workspace struct {
	ID         uuid.UUID `json:"id"`
	Name       string    `json:"name"`
	Plan       string    `json:"plan"`      // one of Plans
	Mode       string    `json:"mode"`      // live or test, fixed
	PerMinute  *int64    `json:"perMinute"` // limit of requests; nil: the plan's, on enterprise unlimited
	PerDay     *int64    `json:"perDay"`
	MaxSources int64     `json:"maxSources"`
	MaxSeries  int64     `json:"maxSeries"`
	// RetentionDays is the retention of points, unless their source has a shorter one; nil:
	// unlimited.
	RetentionDays *int32    `json:"retentionDays"`
	Sources       int64     `json:"sources"` // current number
	Series        int64     `json:"series"`
	CreatedAt     time.Time `json:"createdAt"`
	UpdatedAt     time.Time `json:"updatedAt"`
}

// WorkspaceChange has the fields that UpdateWorkspace changes. Nil fields stay unchanged.
type WorkspaceChange struct {
	Name          *string
	Plan          *string
	PerMinute     **int64 // to nil: the plan's
	PerDay        **int64
	MaxSources    *int64
	MaxSeries     *int64
	RetentionDays **int32 // to nil: unlimited
}

const workspaceColumns = `id, name, plan, mode, per_minute, per_day, max_sources, max_series, retention_days,
	sources, series, created_at, updated_at`

// CreateWorkspace adds a workspace with the id, name, plan, mode and limits of w and returns
// the stored workspace. A zero id or limit is replaced by its default. Names may repeat.
func (db *Store) CreateWorkspace(ctx context.Context, w Workspace) (Workspace, error) {
	var created Workspace
	err := db.root.InTx(ctx, func(tx pgx.Tx) (err error) {
		created, err = createWorkspace(ctx, tx, w)
		return err
	})
	return created, err
}

func createWorkspace(ctx context.Context, tx pgx.Tx, w Workspace) (Workspace, error) {
	if w.ID == uuid.Nil {
		var err error
		if w.ID, err = uuid.NewV7(); err != nil {
			return Workspace{}, fmt.Errorf("making a workspace id: %w", err)
		}
	}
	rows, err := tx.Query(ctx, `
		INSERT INTO workspaces (id, name, plan, mode, per_minute, per_day, max_sources, max_series, retention_days)
		VALUES ($1, $2, $3, $4, $5, $6, COALESCE(NULLIF($7::bigint, 0), 10000), COALESCE(NULLIF($8::bigint, 0), 1000000), $9)
		RETURNING `+
		workspaceColumns, w.ID, w.Name, w.Plan, w.Mode, w.PerMinute, w.PerDay, w.MaxSources, w.MaxSeries, w.RetentionDays)
	if err != nil {
		return Workspace{}, fmt.Errorf("adding workspace: %w", err)
	}
	return pgx.CollectExactlyOneRow(rows, scanWorkspace)
}

// Workspaces returns the workspaces that are not deleted, oldest first.
func (db *Store) Workspaces(ctx context.Context) ([]Workspace, error) {
	return db.workspaces(
		ctx, `SELECT `+workspaceColumns+` FROM workspaces WHERE deleted_at IS NULL ORDER BY created_at, id`,
	)
}

// WorkspacesByID returns the workspaces with these ids that are not deleted, oldest first.
func (db *Store) WorkspacesByID(ctx context.Context, ids []uuid.UUID) ([]Workspace, error) {
	return db.workspaces(ctx, `SELECT `+workspaceColumns+` FROM workspaces
		WHERE deleted_at IS NULL AND id = ANY($1) ORDER BY created_at, id`, ids)
}

func (db *Store) workspaces(ctx context.Context, query string, args ...any) ([]Workspace, error) {
	rows, err := db.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("listing workspaces: %w", err))
	}
	list, err := pgx.CollectRows(rows, scanWorkspace)
	return list, postgres.Classify(err)
}

// UpdateWorkspace changes a workspace's name, plan or limits. The mode is fixed.
func (db *Store) UpdateWorkspace(ctx context.Context, id uuid.UUID, change WorkspaceChange) (Workspace, error) {
	var changed Workspace
	err := db.root.InTx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT `+workspaceColumns+` FROM workspaces
			WHERE id = $1 AND deleted_at IS NULL FOR UPDATE`, id)
		if err != nil {
			return fmt.Errorf("reading workspace: %w", err)
		}
		w, err := pgx.CollectExactlyOneRow(rows, scanWorkspace)
		if errors.Is(err, pgx.ErrNoRows) {
			return WorkspaceNotFound(id)
		} else if err != nil {
			return fmt.Errorf("reading workspace: %w", err)
		}
		change.apply(&w)
		rows, err = tx.Query(ctx, `
			UPDATE workspaces SET name = $2, plan = $3, per_minute = $4, per_day = $5,
				max_sources = $6, max_series = $7, retention_days = $8, updated_at = now()
			WHERE id = $1 RETURNING `+workspaceColumns,
			id, w.Name, w.Plan, w.PerMinute, w.PerDay, w.MaxSources, w.MaxSeries, w.RetentionDays)
		if err != nil {
			return fmt.Errorf("changing workspace: %w", err)
		}
		changed, err = pgx.CollectExactlyOneRow(rows, scanWorkspace)
		return err
	})
	return changed, err
}

func (c *WorkspaceChange) apply(w *Workspace) {
	setIf(&w.Name, c.Name)
	setIf(&w.Plan, c.Plan)
	setIf(&w.PerMinute, c.PerMinute)
	setIf(&w.PerDay, c.PerDay)
	setIf(&w.MaxSources, c.MaxSources)
	setIf(&w.MaxSeries, c.MaxSeries)
	setIf(&w.RetentionDays, c.RetentionDays)
}

func setIf[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

func scanWorkspace(row pgx.CollectableRow) (Workspace, error) {
	var w Workspace
	err := row.Scan(&w.ID, &w.Name, &w.Plan, &w.Mode, &w.PerMinute, &w.PerDay,
		&w.MaxSources, &w.MaxSeries, &w.RetentionDays, &w.Sources, &w.Series, &w.CreatedAt, &w.UpdatedAt)
	w.CreatedAt, w.UpdatedAt = w.CreatedAt.UTC(), w.UpdatedAt.UTC()
	return w, err
}

// WorkspaceNotFound returns the error for a workspace that does not exist.
func WorkspaceNotFound(id uuid.UUID) error {
	return fault.Newf(fault.NotFound, "No workspace %s", id)
}

// LockWorkspace locks the row of a workspace until the transaction ends, so that changes which count against a limit of
// the workspace wait for each other. It reports false if there is no such workspace, or it is being deleted.
func LockWorkspace(ctx context.Context, tx pgx.Tx, workspace uuid.UUID) (exists bool, err error) {
	tag, err := tx.Exec(ctx, `SELECT FROM workspaces WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE`, workspace)
	if err != nil {
		return false, fmt.Errorf("locking the workspace: %w", err)
	}
	return tag.RowsAffected() > 0, nil
}

// RequireWorkspace locks a workspace like LockWorkspace. It returns a NotFound error if the workspace does not exist.
func RequireWorkspace(ctx context.Context, tx pgx.Tx, workspace uuid.UUID) error {
	exists, err := LockWorkspace(ctx, tx, workspace)
	if err == nil && !exists {
		return WorkspaceNotFound(workspace)
	}
	return err
}
