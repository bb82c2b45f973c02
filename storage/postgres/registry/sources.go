package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

// Source is the origin of points: a device, a process, a feed. Its name is unique among
// the workspace's sources that are not deleted.
type Source struct {
	ID              uuid.UUID         `json:"id"`
	Name            string            `json:"name"`
	Description     string            `json:"description"`
	NodeID          *uuid.UUID        `json:"nodeId"`
	Unit            *string           `json:"unit"`
	Metrics         []SourceMetric    `json:"metrics"` // descriptive only
	Tags            map[string]string `json:"tags"`
	RetentionDays   *int32            `json:"retentionDays"`
	IntervalSeconds *float64          `json:"intervalSeconds"` // how often points are expected
	CreatedAt       time.Time         `json:"createdAt"`
	UpdatedAt       time.Time         `json:"updatedAt"`
	Version         int64             `json:"version"` // starts at 1 and rises by one with each change
}

// SourceMetric describes one metric of a source.
type SourceMetric struct {
	Name        string  `json:"name"`
	Unit        *string `json:"unit,omitempty"`
	Description *string `json:"description,omitempty"`
}

const sourceColumns = `id, name, description, node_id, unit, metrics, tags, retention_days, interval_seconds,
	created_at, updated_at, version`

// CreateSource adds a source with the given id. It returns fault.Conflict if a source of
// the workspace, even a deleted one, has the id, or if an existing one has the name. It
// returns fault.Invalid if the workspace's limit of sources is reached.
func (db *Store) CreateSource(ctx context.Context, workspace uuid.UUID, s Source) (Source, error) {
	return db.createSource(ctx, workspace, s, func(pgx.Tx, Source) error { return nil })
}

// CreateSourceOnce is CreateSource for the holder of an idempotency key: it stores the
// source and the response for the key in one transaction. It returns fault.Unavailable if
// another request holds the key by now.
func (db *Store) CreateSourceOnce(ctx context.Context, workspace uuid.UUID, s Source, key access.IdempotencyClaim,
	response func(Source) ([]byte, error)) (Source, error) {
	return db.createSource(ctx, workspace, s, func(tx pgx.Tx, created Source) error {
		return (&access.Response[Source]{Key: key, Encode: response}).Store(ctx, tx, created)
	})
}

func (db *Store) createSource(
	ctx context.Context, workspace uuid.UUID, s Source, inTx func(pgx.Tx, Source) error,
) (Source, error) {
	var created Source
	err := db.root.InBulkTx(ctx, func(tx pgx.Tx) (err error) { // checks of foreign keys use cached plans
		if err := countSource(ctx, tx, workspace); err != nil {
			return err
		}
		if created, err = insertSource(ctx, tx, workspace, s); err != nil {
			return err
		}
		return inTx(tx, created)
	})
	switch {
	case postgres.Violates(err, "sources_pkey"):
		return Source{}, alreadyExists("id", "A source has or had this id")
	case postgres.Violates(err, "sources_name"):
		return Source{}, alreadyExists("name", "A source has this name")
	}
	return created, err
}

// countSource adds one to the workspace's counter of sources. Its row is locked until the
// end of the transaction, so that the limit is exact.
func countSource(ctx context.Context, tx pgx.Tx, workspace uuid.UUID) error {
	var sources, limit int64
	err := tx.QueryRow(ctx, `
		SELECT sources, max_sources FROM workspaces WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE`, workspace).
		Scan(&sources, &limit)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return access.WorkspaceNotFound(workspace)
	case err != nil:
		return fmt.Errorf("reading the workspace's limit: %w", err)
	case sources >= limit:
		return fault.Newf(fault.Invalid, "The workspace has its %d sources", limit).
			With("field", "sources").With("reason", "the workspace's limit of sources is reached").With("limit", limit)
	}
	if _, err = tx.Exec(ctx, `UPDATE workspaces SET sources = sources + 1 WHERE id = $1`, workspace); err != nil {
		return fmt.Errorf("counting the source: %w", err)
	}
	return nil
}

func insertSource(ctx context.Context, tx pgx.Tx, workspace uuid.UUID, s Source) (Source, error) {
	s.normalise()
	rows, err := tx.Query(ctx, `
		INSERT INTO sources (workspace_id, id, name, description, node_id, unit, metrics, tags, retention_days,
		interval_seconds)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING `+sourceColumns,
		workspace, s.ID, s.Name, s.Description, s.NodeID, s.Unit, s.Metrics, s.Tags, s.RetentionDays, s.IntervalSeconds)
	if err != nil {
		return Source{}, fmt.Errorf("adding source: %w", err)
	}
	created, err := pgx.CollectExactlyOneRow(rows, scanSource)
	if err != nil {
		return Source{}, fmt.Errorf("adding source: %w", err)
	}
	return created, nil
}

// Source returns a source that is not deleted.
func (db *Store) Source(ctx context.Context, workspace, id uuid.UUID) (Source, error) {
	rows, err := db.pool.Query(ctx, `
		SELECT `+sourceColumns+` FROM sources WHERE workspace_id = $1 AND id = $2 AND deleted_at IS NULL`, workspace, id)
	if err != nil {
		return Source{}, postgres.Classify(fmt.Errorf("reading source: %w", err))
	}
	s, err := pgx.CollectExactlyOneRow(rows, scanSource)
	if errors.Is(err, pgx.ErrNoRows) {
		return Source{}, sourceNotFound()
	}
	return s, postgres.Classify(err)
}

// UpdateSource calls change with the stored source and stores the result. change may
// return an error, and must replace pointers instead of writing through them. If expected
// is not nil and differs from the stored version, UpdateSource returns fault.Conflict. If
// nothing changes, the version and the time of the update stay the same.
func (db *Store) UpdateSource(
	ctx context.Context, workspace, id uuid.UUID, expected *int64, change func(*Source) error,
) (Source, error) {
	return db.updateSource(ctx, workspace, id, expected, change, func(pgx.Tx, Source) error { return nil })
}

// UpdateSourceOnce is UpdateSource for the holder of an idempotency key: it stores the change and the response for the
// key in one transaction. It returns fault.Unavailable if another request holds the key by now.
func (db *Store) UpdateSourceOnce(
	ctx context.Context, workspace, id uuid.UUID, expected *int64, change func(*Source) error,
	key access.IdempotencyClaim, response func(Source) ([]byte, error),
) (Source, error) {
	return db.updateSource(ctx, workspace, id, expected, change, func(tx pgx.Tx, changed Source) error {
		return (&access.Response[Source]{Key: key, Encode: response}).Store(ctx, tx, changed)
	})
}

func (db *Store) updateSource(
	ctx context.Context, workspace, id uuid.UUID, expected *int64, change func(*Source) error,
	inTx func(pgx.Tx, Source) error,
) (Source, error) {
	var changed Source
	err := db.root.InTx(ctx, func(tx pgx.Tx) error {
		before, err := lockSource(ctx, tx, workspace, id)
		if err != nil {
			return err
		}
		if err := fault.CheckVersion(expected, before.Version); err != nil {
			return err
		}
		after := before
		after.Metrics, after.Tags = slices.Clone(before.Metrics), maps.Clone(before.Tags)
		if err := change(&after); err != nil {
			return err
		}
		after.normalise()
		if reflect.DeepEqual(before, after) {
			changed = before
		} else if changed, err = storeSource(ctx, tx, workspace, after); err != nil {
			return err
		}
		return inTx(tx, changed)
	})
	if postgres.Violates(err, "sources_name") {
		return Source{}, alreadyExists("name", "A source has this name")
	}
	return changed, err
}

func lockSource(ctx context.Context, tx pgx.Tx, workspace, id uuid.UUID) (Source, error) {
	rows, err := tx.Query(ctx, `
		SELECT `+sourceColumns+` FROM sources
		WHERE workspace_id = $1 AND id = $2 AND deleted_at IS NULL FOR NO KEY UPDATE`, workspace, id)
	if err != nil {
		return Source{}, fmt.Errorf("reading source: %w", err)
	}
	s, err := pgx.CollectExactlyOneRow(rows, scanSource)
	if errors.Is(err, pgx.ErrNoRows) {
		return Source{}, sourceNotFound()
	}
	return s, err
}

func storeSource(ctx context.Context, tx pgx.Tx, workspace uuid.UUID, s Source) (Source, error) {
	rows, err := tx.Query(ctx, `
		UPDATE sources SET name = $3, description = $4, node_id = $5, unit = $6, metrics = $7, tags = $8,
			retention_days = $9, interval_seconds = $10, updated_at = now(), version = version + 1
		WHERE workspace_id = $1 AND id = $2 RETURNING `+sourceColumns,
		workspace, s.ID, s.Name, s.Description, s.NodeID, s.Unit, s.Metrics, s.Tags, s.RetentionDays, s.IntervalSeconds)
	if err != nil {
		return Source{}, fmt.Errorf("changing source: %w", err)
	}
	stored, err := pgx.CollectExactlyOneRow(rows, scanSource)
	if err != nil {
		return Source{}, fmt.Errorf("changing source: %w", err)
	}
	return stored, nil
}

// DeleteSource deletes a source: it is no longer found, and no response contains its
// points. The row stays, so that the id is not used again. DeleteSource creates and
// returns a pending deletion, from which the deletion is written to the log (see
// deletions.go).
func (db *Store) DeleteSource(ctx context.Context, workspace, id uuid.UUID, requestID string) (PendingDeletion, error) {
	var pending PendingDeletion
	err := db.root.InTx(ctx, func(tx pgx.Tx) error {
		// The workspace is locked first, as in the registration of series, to avoid deadlocks.
		_, err := tx.Exec(ctx, `SELECT FROM workspaces WHERE id = $1 FOR NO KEY UPDATE`, workspace)
		if err != nil {
			return fmt.Errorf("locking the workspace: %w", err)
		}
		tag, err := tx.Exec(ctx, `
			UPDATE sources SET deleted_at = now(), updated_at = now(), version = version + 1
			WHERE workspace_id = $1 AND id = $2 AND deleted_at IS NULL`, workspace, id)
		if err != nil {
			return fmt.Errorf("deleting source: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return sourceNotFound()
		}
		_, err = tx.Exec(ctx, `UPDATE workspaces SET sources = GREATEST(sources - 1, 0) WHERE id = $1`, workspace)
		if err != nil {
			return fmt.Errorf("counting the source: %w", err)
		}
		pending, err = insertDeletion(ctx, tx, workspace, id, requestID)
		return err
	})
	return pending, err
}

// SourcesByID returns the set of those ids that are sources that are not deleted.
func (db *Store) SourcesByID(ctx context.Context, workspace uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]bool, error) {
	rows, err := db.pool.Query(ctx, `
		SELECT s.id FROM unnest($2::uuid[]) AS t (id) CROSS JOIN LATERAL (
			SELECT x.id, x.deleted_at FROM sources x WHERE x.workspace_id = $1 AND x.id = t.id OFFSET 0) s
		WHERE s.deleted_at IS NULL`, postgres.WithCustomPlan([]any{workspace, ids})...)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("looking up sources: %w", err))
	}
	found := make(map[uuid.UUID]bool, len(ids))
	var id uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&id}, func() error { found[id] = true; return nil })
	return found, postgres.Classify(err)
}

// SourcesByName returns the ids of the sources with exactly these names. Names that no
// source has are omitted.
func (db *Store) SourcesByName(ctx context.Context, workspace uuid.UUID, names []string) (map[string]uuid.UUID, error) {
	found, err := sourceIDsByName(ctx, db.pool, workspace, names)
	return found, postgres.Classify(err)
}

// normalise replaces a nil list and a nil map by empty ones, so that sources can be compared and stored.
func (s *Source) normalise() {
	if s.Metrics == nil {
		s.Metrics = []SourceMetric{}
	}
	if s.Tags == nil {
		s.Tags = map[string]string{}
	}
}

func scanSource(row pgx.CollectableRow) (Source, error) {
	var s Source
	err := row.Scan(&s.ID, &s.Name, &s.Description, &s.NodeID, &s.Unit, &s.Metrics, &s.Tags,
		&s.RetentionDays, &s.IntervalSeconds, &s.CreatedAt, &s.UpdatedAt, &s.Version)
	s.CreatedAt, s.UpdatedAt = s.CreatedAt.UTC(), s.UpdatedAt.UTC()
	s.normalise()
	return s, err
}

func sourceNotFound() error { return fault.New(fault.NotFound, "No such source") }

func alreadyExists(field, message string) error {
	return fault.New(fault.Conflict, message).With("reason", "already_exists").With("field", field)
}
