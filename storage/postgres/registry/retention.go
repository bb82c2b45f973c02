package registry

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// MaxRetentionDays is the longest retention, a century: no arithmetic with times
// overflows with it.
const MaxRetentionDays = 36_500

const day = 24 * time.Hour

// KeptFrom returns the first time of points that are kept for so many days,
// microseconds since the Unix epoch.
func KeptFrom(now time.Time, days int32) int64 {
	return now.Add(-time.Duration(min(max(days, 0), MaxRetentionDays)) * day).UnixMicro()
}

// Retention returns for how many days the points of a workspace are kept (nil: for
// good), and of its sources those that say something themselves. The shorter holds.
func (db *Store) Retention(ctx context.Context, workspace uuid.UUID) (
	days *int32, sources map[uuid.UUID]int32, err error,
) {
	sources = map[uuid.UUID]int32{}
	batch := &pgx.Batch{}
	batch.Queue(`SELECT retention_days FROM workspaces WHERE id = $1`, workspace).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&days}, func() error { return nil })
		return err
	})
	batch.Queue(`SELECT id, retention_days FROM sources
		WHERE workspace_id = $1 AND deleted_at IS NULL AND retention_days IS NOT NULL`, workspace).Query(
		func(rows pgx.Rows) error {
			var id uuid.UUID
			var own int32
			_, err := pgx.ForEachRow(rows, []any{&id, &own}, func() error { sources[id] = own; return nil })
			return err
		},
	)
	if err := db.pool.SendBatch(ctx, batch).Close(); err != nil {
		return nil, nil, postgres.Classify(fmt.Errorf("reading the workspace's retention: %w", err))
	}
	return days, sources, nil
}

// Retained is a source with the number of days for which its points are kept.
type Retained struct {
	Workspace, Source uuid.UUID
	Days              int32
}

// RetainedSources lists a page of the sources of all workspaces whose points are not
// kept for good, in the order of workspace and source, after one that was listed
// before.
func (db *Store) RetainedSources(ctx context.Context, after Retained, limit int) ([]Retained, error) {
	rows, err := db.pool.Query(ctx, `
		SELECT s.workspace_id, s.id, LEAST(s.retention_days, w.retention_days)
		FROM sources s JOIN workspaces w ON w.id = s.workspace_id
		WHERE (s.workspace_id, s.id) > ($1, $2) AND s.deleted_at IS NULL AND w.deleted_at IS NULL
			AND (s.retention_days IS NOT NULL OR w.retention_days IS NOT NULL)
		ORDER BY s.workspace_id, s.id LIMIT $3`, after.Workspace, after.Source, limit)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("listing sources with a retention: %w", err))
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Retained])
	return list, postgres.Classify(err)
}

// LongestRetention returns the most days for which the points of any source are kept,
// and false if there is one whose points are kept for good.
func (db *Store) LongestRetention(ctx context.Context) (days int32, all bool, err error) {
	err = db.pool.QueryRow(ctx, `
		SELECT COALESCE(max(LEAST(s.retention_days, w.retention_days)), 0),
			COALESCE(bool_and(s.retention_days IS NOT NULL OR w.retention_days IS NOT NULL), false)
		FROM sources s JOIN workspaces w ON w.id = s.workspace_id
		WHERE s.deleted_at IS NULL AND w.deleted_at IS NULL`).Scan(&days, &all)
	return days, all, postgres.Classify(err)
}
