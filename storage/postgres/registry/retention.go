package registry

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// MaxRetentionDays is the longest retention, a century. It is bounded so that arithmetic
// with times does not overflow.
const MaxRetentionDays = 36_500

const day = 24 * time.Hour

// KeptFrom returns the earliest time of points with a retention of days, in microseconds
// since the Unix epoch.
func KeptFrom(now time.Time, days int32) int64 {
	return now.Add(-time.Duration(min(max(days, 0), MaxRetentionDays)) * day).UnixMicro()
}

// KeptFromEach returns KeptFrom of each series with a retention by its id, nil if there are none.
func KeptFromEach(list []Series, now time.Time) (kept map[uint64]int64) {
	for i := range list {
		days := list[i].RetentionDays
		if days == nil {
			continue
		}
		if kept == nil {
			kept = map[uint64]int64{}
		}
		kept[list[i].ID] = KeptFrom(now, *days)
	}
	return kept
}

// Retention returns the retention of a workspace's points in days (nil: unlimited), and
// the retention of those of its sources that have their own. The shorter one applies.
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
			var sourceDays int32
			_, err := pgx.ForEachRow(rows, []any{&id, &sourceDays}, func() error { sources[id] = sourceDays; return nil })
			return err
		},
	)
	if err := db.pool.SendBatch(ctx, batch).Close(); err != nil {
		return nil, nil, postgres.Classify(fmt.Errorf("reading the workspace's retention: %w", err))
	}
	return days, sources, nil
}

// SourceRetention is the retention of a source's points in days.
type SourceRetention struct {
	Workspace, Source uuid.UUID
	Days              int32
}

// SourceRetentions returns a page of the sources of all workspaces that have a limited
// retention, ordered by workspace and source, starting after the given one.
func (db *Store) SourceRetentions(ctx context.Context, after SourceRetention, limit int) ([]SourceRetention, error) {
	rows, err := db.pool.Query(ctx, `
		SELECT s.workspace_id, s.id, LEAST(s.retention_days, w.retention_days)
		FROM sources s JOIN workspaces w ON w.id = s.workspace_id
		WHERE (s.workspace_id, s.id) > ($1, $2) AND s.deleted_at IS NULL AND w.deleted_at IS NULL
			AND (s.retention_days IS NOT NULL OR w.retention_days IS NOT NULL)
		ORDER BY s.workspace_id, s.id LIMIT $3`, after.Workspace, after.Source, limit)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("listing sources with a retention: %w", err))
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[SourceRetention])
	return list, postgres.Classify(err)
}

// LongestRetention returns the longest retention of any source in days. bounded is false
// if there is a source with unlimited retention, or no source at all.
func (db *Store) LongestRetention(ctx context.Context) (days int32, bounded bool, err error) {
	err = db.pool.QueryRow(ctx, `
		SELECT COALESCE(max(LEAST(s.retention_days, w.retention_days)), 0),
			COALESCE(bool_and(s.retention_days IS NOT NULL OR w.retention_days IS NOT NULL), false)
		FROM sources s JOIN workspaces w ON w.id = s.workspace_id
		WHERE s.deleted_at IS NULL AND w.deleted_at IS NULL`).Scan(&days, &bounded)
	return days, bounded, postgres.Classify(err)
}
