package savedqueries

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

// MaxQueries is the maximum number of saved queries of a workspace.
const MaxQueries = 1000

// SavedQuery is a request of search with a name. Its name is unique among the workspace's queries that are not deleted.
type SavedQuery struct {
	ID          uuid.UUID
	Name        string
	Description string
	Kind        string // the route
	Request     string // the body, as JSON
	Version     int64  // starts at 1 and rises by one with each change
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

const columns = "id, name, description, kind, request, version, created_at, updated_at"

func scan(row pgx.CollectableRow) (q SavedQuery, err error) {
	err = row.Scan(&q.ID, &q.Name, &q.Description, &q.Kind, &q.Request, &q.Version, &q.CreatedAt, &q.UpdatedAt)
	q.CreatedAt, q.UpdatedAt = q.CreatedAt.UTC(), q.UpdatedAt.UTC()
	return q, err
}

// collect returns the query of a statement's only row. It returns a NotFound error if there is none.
func collect(rows pgx.Rows, err error) (SavedQuery, error) {
	if err != nil {
		return SavedQuery{}, err
	}
	q, err := pgx.CollectExactlyOneRow(rows, scan)
	if errors.Is(err, pgx.ErrNoRows) {
		return SavedQuery{}, notFound()
	}
	return q, err
}

func notFound() error { return fault.New(fault.NotFound, "No such saved query") }

// refusal returns the error of a name or an id that exists, or err.
func refusal(err error) error {
	var field, message string
	switch {
	case postgres.Violates(err, "saved_queries_pkey"):
		field, message = "id", "A saved query has or had this id"
	case postgres.Violates(err, "saved_queries_name"):
		field, message = "name", "A saved query has this name"
	default:
		return err
	}
	return fault.New(fault.Conflict, message).With("reason", "already_exists").With("field", field)
}

// CreateSavedQuery adds a query with the given id. It returns fault.Conflict if a query of the workspace, even a
// deleted one, has the id, or if an existing one has the name, and fault.Invalid if the workspace has MaxQueries. The
// response may be nil.
func (db *Store) CreateSavedQuery(
	ctx context.Context, workspace uuid.UUID, q *SavedQuery, response *Response,
) (created SavedQuery, err error) {
	err = db.root.InTx(ctx, func(tx pgx.Tx) error {
		if err := checkCount(ctx, tx, workspace); err != nil {
			return err
		}
		created, err = collect(tx.Query(ctx, `INSERT INTO saved_queries (workspace_id, id, name, description, kind, request)
			VALUES ($1, $2, $3, $4, $5, $6) RETURNING `+columns,
			workspace, q.ID, q.Name, q.Description, q.Kind, q.Request))
		if err != nil {
			return fmt.Errorf("adding a saved query: %w", err)
		}
		return response.Store(ctx, tx, created)
	})
	return created, refusal(err)
}

// checkCount checks that a workspace may have one more query, and locks it, so that the limit is exact.
func checkCount(ctx context.Context, tx pgx.Tx, workspace uuid.UUID) error {
	if err := access.RequireWorkspace(ctx, tx, workspace); err != nil {
		return err
	}
	var count int
	err := tx.QueryRow(ctx, `SELECT count(*) FROM saved_queries
		WHERE workspace_id = $1 AND deleted_at IS NULL`, workspace).Scan(&count)
	switch {
	case err != nil:
		return fmt.Errorf("counting saved queries: %w", err)
	case count >= MaxQueries:
		return fault.Newf(fault.Invalid, "A workspace may have at most %d saved queries", MaxQueries).
			With("limit", MaxQueries)
	}
	return nil
}

// SavedQuery returns a query that is not deleted. It returns a NotFound error if there is none with the id.
func (db *Store) SavedQuery(ctx context.Context, workspace, id uuid.UUID) (SavedQuery, error) {
	q, err := collect(db.pool.Query(ctx, `SELECT `+columns+` FROM saved_queries
		WHERE workspace_id = $1 AND id = $2 AND deleted_at IS NULL`, workspace, id))
	if err != nil {
		return SavedQuery{}, postgres.Classify(fmt.Errorf("reading a saved query: %w", err))
	}
	return q, nil
}

// UpdateSavedQuery calls change with the stored query and stores the result. change may return an error. If expected is
// not nil and differs from the stored version, UpdateSavedQuery returns fault.Conflict. If nothing changes, the version
// and the time of the update stay the same. The response may be nil.
func (db *Store) UpdateSavedQuery(
	ctx context.Context, workspace, id uuid.UUID, expected *int64, change func(*SavedQuery) error, response *Response,
) (changed SavedQuery, err error) {
	err = db.root.InTx(ctx, func(tx pgx.Tx) error {
		before, err := collect(tx.Query(ctx, `SELECT `+columns+` FROM saved_queries
			WHERE workspace_id = $1 AND id = $2 AND deleted_at IS NULL FOR NO KEY UPDATE`, workspace, id))
		if err != nil {
			return fmt.Errorf("reading a saved query: %w", err)
		}
		if err := fault.CheckVersion(expected, before.Version); err != nil {
			return err
		}
		changed = before
		if err := change(&changed); err != nil {
			return err
		}
		if changed != before {
			changed, err = collect(tx.Query(ctx, `UPDATE saved_queries
				SET name = $3, description = $4, kind = $5, request = $6, updated_at = now(), version = version + 1
				WHERE workspace_id = $1 AND id = $2 RETURNING `+columns,
				workspace, id, changed.Name, changed.Description, changed.Kind, changed.Request))
			if err != nil {
				return fmt.Errorf("changing a saved query: %w", err)
			}
		}
		return response.Store(ctx, tx, changed)
	})
	return changed, refusal(err)
}

// DeleteSavedQuery deletes a query. Its row stays without its texts, so that the id is not used again. It returns a
// NotFound error if there is none with the id.
func (db *Store) DeleteSavedQuery(ctx context.Context, workspace, id uuid.UUID) error {
	tag, err := db.pool.Exec(ctx, `UPDATE saved_queries
		SET name = '', description = '', request = '', deleted_at = now(), updated_at = now(), version = version + 1
		WHERE workspace_id = $1 AND id = $2 AND deleted_at IS NULL`, workspace, id)
	if err != nil {
		return postgres.Classify(fmt.Errorf("deleting a saved query: %w", err))
	}
	if tag.RowsAffected() == 0 {
		return notFound()
	}
	return nil
}
