package registry

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// PendingDeletion is a deleted source whose deletion record may not be in the log yet. It
// is written in the transaction that deletes the source. It is removed when Kafka has
// acknowledged the record and the source's series are removed from the registry, so that
// a crash in between loses nothing. Writing the record twice is harmless.
type PendingDeletion struct {
	ID        uuid.UUID
	Workspace uuid.UUID
	Source    uuid.UUID
	RequestID string
	CreatedAt time.Time
}

// removeSeriesBatch is the number of series that one transaction removes from the
// registry. It is bounded so that no transaction locks the workspace's counter for long.
const removeSeriesBatch = 10_000

func insertDeletion(
	ctx context.Context, tx pgx.Tx, workspace, source uuid.UUID, requestID string,
) (PendingDeletion, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return PendingDeletion{}, fmt.Errorf("making a deletion id: %w", err)
	}
	d := PendingDeletion{ID: id, Workspace: workspace, Source: source, RequestID: requestID}
	err = tx.QueryRow(ctx, `
		INSERT INTO pending_deletions (id, workspace_id, source_id, request_id)
		VALUES ($1, $2, $3, $4) RETURNING created_at`, id, workspace, source, requestID).Scan(&d.CreatedAt)
	if err != nil {
		return PendingDeletion{}, fmt.Errorf("noting the deletion: %w", err)
	}
	return d, nil
}

// PendingDeletions returns up to limit deletions that have been pending for at least age,
// oldest first. The requests that created younger ones may still be completing them.
func (db *Store) PendingDeletions(ctx context.Context, age time.Duration, limit int) ([]PendingDeletion, error) {
	rows, err := db.pool.Query(ctx, `
		SELECT id, workspace_id, source_id, request_id, created_at FROM pending_deletions
		WHERE created_at <= now() - make_interval(secs => $1) ORDER BY created_at, id LIMIT $2`, age.Seconds(), limit)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("listing pending deletions: %w", err))
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (PendingDeletion, error) {
		var d PendingDeletion
		err := row.Scan(&d.ID, &d.Workspace, &d.Source, &d.RequestID, &d.CreatedAt)
		return d, err
	})
	return list, postgres.Classify(err)
}

// DeletionBacklog returns the number of pending deletions and the age of the oldest,
// zero if there is none.
func (db *Store) DeletionBacklog(ctx context.Context) (pending int64, oldest time.Duration, err error) {
	var seconds float64
	err = db.pool.QueryRow(ctx, `
		SELECT count(*), COALESCE(EXTRACT(EPOCH FROM now() - min(created_at)), 0)::float8 FROM pending_deletions`).Scan(
		&pending, &seconds,
	)
	return pending, time.Duration(seconds * float64(time.Second)), postgres.Classify(err)
}

// RemoveSeries removes a batch of a deleted source's series from the registry and reports
// whether there may be more.
func (db *Store) RemoveSeries(ctx context.Context, d PendingDeletion) (more bool, err error) {
	err = db.root.InTx(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `SELECT FROM workspaces WHERE id = $1 FOR NO KEY UPDATE`, d.Workspace)
		if err != nil {
			return fmt.Errorf("locking the workspace: %w", err)
		}
		tag, err := tx.Exec(ctx, `
			DELETE FROM series WHERE id IN (
				SELECT s.id FROM series s JOIN sources src ON src.workspace_id = s.workspace_id AND src.id = s.source_id
				WHERE s.workspace_id = $1 AND s.source_id = $2 AND src.deleted_at IS NOT NULL LIMIT $3)`,
			d.Workspace, d.Source, removeSeriesBatch)
		if err != nil {
			return fmt.Errorf("removing the source's series: %w", err)
		}
		_, err = tx.Exec(
			ctx, `UPDATE workspaces SET series = GREATEST(series - $2, 0) WHERE id = $1`, d.Workspace, tag.RowsAffected(),
		)
		if err != nil {
			return fmt.Errorf("counting the series: %w", err)
		}
		more = tag.RowsAffected() == removeSeriesBatch
		return nil
	})
	return more, err
}

// FinishDeletion removes a pending deletion that is complete.
func (db *Store) FinishDeletion(ctx context.Context, id uuid.UUID) error {
	if _, err := db.pool.Exec(ctx, `DELETE FROM pending_deletions WHERE id = $1`, id); err != nil {
		return postgres.Classify(fmt.Errorf("finishing a deletion: %w", err))
	}
	return nil
}
