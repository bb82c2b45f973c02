package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// CreateSources makes sources with these names, which the caller has checked, and
// gives the ids of all that stand with them then: made just now, before, or by
// another at the same time. It goes by the order of the names as far as the
// workspace's limit allows, exactly, whatever creates sources at the same time;
// names beyond it are left out. In a workspace that is gone there is room for none.
func (db *Store) CreateSources(ctx context.Context, workspace uuid.UUID, names []string) (map[string]uuid.UUID, error) {
	full, err := db.sourcesFull(ctx, workspace)
	if err != nil {
		return nil, err
	}
	if full { // asked again and again by clients that do not give up: without the lock
		return db.SourcesByName(ctx, workspace, names)
	}
	var standing map[string]uuid.UUID
	err = db.root.InBulkTx(ctx, func(tx pgx.Tx) (err error) {
		// The workspace's row is the turnstile of all that count sources, so a name
		// that is not there now can only come by the renaming of another.
		left, err := roomForSources(ctx, tx, workspace)
		if err != nil {
			return err
		}
		if standing, err = sourcesNamed(ctx, tx, workspace, names); err != nil {
			return err
		}
		fresh := newNames(names, standing, left)
		made, err := insertNamed(ctx, tx, workspace, fresh)
		if err != nil || len(fresh) == 0 {
			return err
		}
		maps.Copy(standing, made)
		if len(made) < len(fresh) { // a source was renamed to one of them meanwhile
			renamed, err := sourcesNamed(ctx, tx, workspace, fresh)
			if err != nil {
				return err
			}
			maps.Copy(standing, renamed)
		}
		if _, err = tx.Exec(
			ctx, `UPDATE workspaces SET sources = sources + $2 WHERE id = $1`, workspace, len(made),
		); err != nil {
			return fmt.Errorf("counting the sources: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return standing, nil
}

// sourcesFull reports whether the workspace has its sources.
func (db *Store) sourcesFull(ctx context.Context, workspace uuid.UUID) (full bool, err error) {
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

// roomForSources locks the workspace's counter and gives how many sources fit.
func roomForSources(ctx context.Context, tx pgx.Tx, workspace uuid.UUID) (left int64, err error) {
	err = tx.QueryRow(ctx, `
		SELECT max_sources - sources FROM workspaces WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE`,
		workspace).Scan(&left)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the workspace's limit: %w", err)
	}
	return max(left, 0), nil
}

// sourcesNamed returns the ids of the sources that have the names, exactly as
// written.
func sourcesNamed(
	ctx context.Context, q postgres.Querier, workspace uuid.UUID, names []string,
) (map[string]uuid.UUID, error) {
	rows, err := q.Query(ctx, `
		SELECT name, id FROM sources WHERE workspace_id = $1 AND name = ANY($2) AND deleted_at IS NULL`,
		postgres.Planned([]any{workspace, names})...)
	if err != nil {
		return nil, fmt.Errorf("looking up sources by name: %w", err)
	}
	return collectNamed(rows, len(names))
}

func collectNamed(rows pgx.Rows, most int) (map[string]uuid.UUID, error) {
	found := make(map[string]uuid.UUID, most)
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

// newNames returns those of the names that no source has, each once, at most so
// many.
func newNames(names []string, standing map[string]uuid.UUID, most int64) []string {
	seen, fresh := map[string]bool{}, []string{}
	for _, name := range names {
		if int64(len(fresh)) == most {
			break
		}
		if _, stands := standing[name]; stands || seen[name] {
			continue
		}
		seen[name] = true
		fresh = append(fresh, name)
	}
	return fresh
}

// insertNamed adds sources of which only the name is known, in the order of their
// names, in which any two transactions meet without a deadlock. A name that is
// taken meanwhile is left out.
func insertNamed(ctx context.Context, tx pgx.Tx, workspace uuid.UUID, names []string) (map[string]uuid.UUID, error) {
	if len(names) == 0 {
		return nil, nil
	}
	slices.Sort(names)
	ids := make([]uuid.UUID, len(names))
	for i := range ids {
		ids[i] = uuid.Must(uuid.NewV7())
	}
	rows, err := tx.Query(ctx, `
		INSERT INTO sources (workspace_id, id, name)
		SELECT $1, n.id, n.name FROM unnest($2::uuid[], $3::text[]) AS n(id, name)
		ON CONFLICT (workspace_id, name) WHERE deleted_at IS NULL DO NOTHING RETURNING name, id`, workspace, ids, names)
	if err != nil {
		return nil, fmt.Errorf("adding sources: %w", err)
	}
	return collectNamed(rows, len(names))
}
