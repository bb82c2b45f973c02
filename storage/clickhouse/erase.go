package clickhouse

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/tracing"
)

// WorkspaceRows counts what the tables have of a workspace, except for the identities
// of its series (see ForgetWorkspace).
func (db *DB) WorkspaceRows(ctx context.Context, workspace uuid.UUID) (rows int64, err error) {
	for _, table := range timedTables() {
		n, err := db.countWhere(ctx, table.name, "series IN (SELECT id FROM series WHERE "+OfWorkspace(workspace)+")")
		if err != nil {
			return 0, err
		}
		rows += n
	}
	for _, table := range []string{"latest", "source_activity"} {
		n, err := db.countWhere(ctx, table, OfWorkspace(workspace))
		if err != nil {
			return 0, err
		}
		rows += n
	}
	return rows, nil
}

// EraseWorkspace removes all points of a workspace and what is derived from them,
// and tells of the rows as they go. It may be repeated, and be cut short and begun
// again: the identities of the series, which rows are found by, stay.
func (db *DB) EraseWorkspace(ctx context.Context, workspace uuid.UUID, gone func(rows int64) error) (err error) {
	defer func(began time.Time) { db.metrics.observe(opErase, began, 0, err) }(time.Now())
	ctx, span := db.start(ctx, opErase)
	defer func() { tracing.End(span, err) }()
	series, err := db.seriesWhere(ctx, OfWorkspace(workspace))
	if err != nil {
		return err
	}
	remove := func(table, condition string) error {
		n, err := db.removeWhere(ctx, table, condition)
		if err != nil || n == 0 {
			return err
		}
		return gone(n)
	}
	for chunk := range slices.Chunk(series, deleteChunk) {
		ids := "series IN (" + joinIDs(chunk) + ")"
		if _, err := db.removeWhere(ctx, "rollup_marks", ids); err != nil {
			return err
		}
		for _, table := range timedTables() {
			if err := remove(table.name, ids); err != nil {
				return err
			}
		}
	}
	for _, table := range []string{"latest", "source_activity"} {
		if err := remove(table, OfWorkspace(workspace)); err != nil {
			return err
		}
	}
	return nil
}

// ForgetWorkspace removes the identities of a workspace's series. After that its
// points are not found any more, so it is for when there can be none.
func (db *DB) ForgetWorkspace(ctx context.Context, workspace uuid.UUID) error {
	_, err := db.removeWhere(ctx, "series", OfWorkspace(workspace))
	return err
}

// OfWorkspace returns the condition that a row belongs to a workspace.
func OfWorkspace(workspace uuid.UUID) string { return fmt.Sprintf("workspace = '%s'", workspace) }
