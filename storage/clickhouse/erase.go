package clickhouse

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/tracing"
)

// WorkspaceRows counts the rows of a workspace in all tables, except for the identities of
// its series (see ForgetWorkspace).
func (db *DB) WorkspaceRows(ctx context.Context, workspace uuid.UUID) (rows int64, err error) {
	for _, table := range timedTables() {
		n, err := db.countWhere(ctx, table.name, "series IN (SELECT id FROM series WHERE "+WorkspaceCondition(workspace)+")")
		if err != nil {
			return 0, err
		}
		rows += n
	}
	for _, table := range []string{"latest", "source_activity"} {
		n, err := db.countWhere(ctx, table, WorkspaceCondition(workspace))
		if err != nil {
			return 0, err
		}
		rows += n
	}
	return rows, nil
}

// EraseWorkspace removes all points of a workspace and the data derived from them, and calls
// removed with the number of rows after each statement. It may be repeated, also after an
// interruption, because it keeps the identities of the series, by which rows are found.
func (db *DB) EraseWorkspace(ctx context.Context, workspace uuid.UUID, removed func(rows int64) error) (err error) {
	defer func(began time.Time) { db.metrics.observe(opErase, began, 0, err) }(time.Now())
	ctx, span := db.start(ctx, opErase)
	defer func() { tracing.End(span, err) }()
	series, err := db.seriesWhere(ctx, WorkspaceCondition(workspace))
	if err != nil {
		return err
	}
	remove := func(table, condition string) error {
		n, err := db.removeWhere(ctx, table, condition)
		if err != nil || n == 0 {
			return err
		}
		return removed(n)
	}
	for chunk := range slices.Chunk(series, maxDeleteSeries) {
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
		if err := remove(table, WorkspaceCondition(workspace)); err != nil {
			return err
		}
	}
	return nil
}

// ForgetWorkspace removes the identities of the series of a workspace. Its points cannot be
// found afterwards, so it must be called only when there can be none.
func (db *DB) ForgetWorkspace(ctx context.Context, workspace uuid.UUID) error {
	_, err := db.removeWhere(ctx, "series", WorkspaceCondition(workspace))
	return err
}

// WorkspaceCondition returns the condition that a row belongs to a workspace.
func WorkspaceCondition(workspace uuid.UUID) string {
	return fmt.Sprintf("workspace = '%s'", workspace)
}
