package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// CreateSources creates sources with these names, which the caller has validated, and with
// the tags that the function returns for each name (nil: without tags). It returns the ids of
// all sources with these names: new ones, existing ones, and those that another request
// created at the same time. It creates them in the order of names up to
// the workspace's limit, which is exact under concurrency, and omits the names beyond it.
// In a workspace that does not exist or is deleted it creates none.
func (db *Store) CreateSources(
	ctx context.Context, workspace uuid.UUID, names []string, tags func(name string) map[string]string,
) (map[string]uuid.UUID, error) {
	full, err := db.sourceLimitReached(ctx, workspace)
	if err != nil {
		return nil, err
	}
	if full { // clients may retry persistently, so that this case avoids the lock
		return db.SourcesByName(ctx, workspace, names)
	}
	var existing map[string]uuid.UUID
	err = db.root.InBulkTx(ctx, func(tx pgx.Tx) (err error) {
		// The lock on the workspace's row serializes the creation of sources, so that a
		// missing name can only appear if another source is renamed to it.
		remaining, err := remainingSources(ctx, tx, workspace)
		if err != nil {
			return err
		}
		if existing, err = sourceIDsByName(ctx, tx, workspace, names); err != nil {
			return err
		}
		missing := missingNames(names, existing, remaining)
		created, err := insertSources(ctx, tx, workspace, missing, tags)
		if err != nil || len(missing) == 0 {
			return err
		}
		maps.Copy(existing, created)
		if len(created) < len(missing) { // meanwhile a source was renamed to one of them
			renamed, err := sourceIDsByName(ctx, tx, workspace, missing)
			if err != nil {
				return err
			}
			maps.Copy(existing, renamed)
		}
		if _, err = tx.Exec(
			ctx, `UPDATE workspaces SET sources = sources + $2 WHERE id = $1`, workspace, len(created),
		); err != nil {
			return fmt.Errorf("counting the sources: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return existing, nil
}

// sourceLimitReached reports whether the workspace cannot have more sources: its limit is
// reached, or it does not exist.
func (db *Store) sourceLimitReached(ctx context.Context, workspace uuid.UUID) (full bool, err error) {
	err = db.pool.QueryRow(
		ctx, `SELECT sources >= max_sources FROM workspaces WHERE id = $1 AND deleted_at IS NULL`, workspace,
	).Scan(&full)
	if errors.Is(err, pgx.ErrNoRows) {
		return true, nil
	}
	if err != nil {
		return false, postgres.Classify(fmt.Errorf("reading the workspace's limit: %w", err))
	}
	return full, nil
}

// remainingSources locks the workspace's counter and returns the number of sources that can be added.
func remainingSources(ctx context.Context, tx pgx.Tx, workspace uuid.UUID) (remaining int64, err error) {
	err = tx.QueryRow(ctx, `
		SELECT max_sources - sources FROM workspaces WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE`,
		workspace).Scan(&remaining)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the workspace's limit: %w", err)
	}
	return max(remaining, 0), nil
}

// sourceIDsByName returns the ids of the sources with exactly these names.
func sourceIDsByName(
	ctx context.Context, q postgres.Querier, workspace uuid.UUID, names []string,
) (map[string]uuid.UUID, error) {
	rows, err := q.Query(ctx, `
		SELECT name, id FROM sources WHERE workspace_id = $1 AND name = ANY($2) AND deleted_at IS NULL`,
		postgres.WithCustomPlan([]any{workspace, names})...)
	if err != nil {
		return nil, fmt.Errorf("looking up sources by name: %w", err)
	}
	return collectSourceIDs(rows, len(names))
}

func collectSourceIDs(rows pgx.Rows, capacity int) (map[string]uuid.UUID, error) {
	found := make(map[string]uuid.UUID, capacity)
	var (
		name string
		id   uuid.UUID
	)
	_, err := pgx.ForEachRow(rows, []any{&name, &id}, func() error { found[name] = id; return nil })
	if err != nil {
		return nil, fmt.Errorf("looking up sources by name: %w", err)
	}
	return found, nil
}

// missingNames returns up to limit distinct names that are not in existing.
func missingNames(names []string, existing map[string]uuid.UUID, limit int64) []string {
	seen, missing := map[string]bool{}, []string{}
	for _, name := range names {
		if int64(len(missing)) == limit {
			break
		}
		if _, exists := existing[name]; exists || seen[name] {
			continue
		}
		seen[name] = true
		missing = append(missing, name)
	}
	return missing
}

// insertSources adds sources that have only a name and tags. It inserts them sorted by name, so that
// concurrent transactions do not deadlock, and omits a name that is taken meanwhile.
func insertSources(
	ctx context.Context, tx pgx.Tx, workspace uuid.UUID, names []string, tagsOf func(name string) map[string]string,
) (map[string]uuid.UUID, error) {
	if len(names) == 0 {
		return nil, nil
	}
	slices.Sort(names)
	ids, tags := make([]uuid.UUID, len(names)), make([]string, len(names))
	for i := range ids {
		ids[i], tags[i] = uuid.Must(uuid.NewV7()), "{}"
		if tagsOf == nil {
			continue
		}
		text, err := json.Marshal(tagsOf(names[i]), json.Deterministic(true))
		if err != nil {
			return nil, fmt.Errorf("encoding tags: %w", err)
		}
		tags[i] = string(text)
	}
	rows, err := tx.Query(ctx, `
		INSERT INTO sources (workspace_id, id, name, tags)
		SELECT $1, n.id, n.name, n.tags::jsonb FROM unnest($2::uuid[], $3::text[], $4::text[]) AS n(id, name, tags)
		ON CONFLICT (workspace_id, name) WHERE deleted_at IS NULL DO NOTHING RETURNING name, id`,
		workspace, ids, names, tags)
	if err != nil {
		return nil, fmt.Errorf("adding sources: %w", err)
	}
	return collectSourceIDs(rows, len(names))
}
