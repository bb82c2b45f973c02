package redis

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// scanCount is the COUNT option of SCAN.
const scanCount = 1000

// WorkspaceRows returns the number of keys of a workspace: those that contain its id.
func (db *DB) WorkspaceRows(ctx context.Context, workspace uuid.UUID) (keys int64, err error) {
	err = db.scanWorkspace(ctx, workspace, func(found []string) error {
		keys += int64(len(found))
		return nil
	})
	return keys, err
}

// EraseWorkspace removes the keys of a workspace and calls removed after each step. It scans all keys,
// scanCount per step, so that it also removes new kinds of keys.
func (db *DB) EraseWorkspace(ctx context.Context, workspace uuid.UUID, removed func(keys int64) error) error {
	return db.scanWorkspace(ctx, workspace, func(found []string) error {
		if err := db.client.Unlink(ctx, found...).Err(); err != nil {
			return fmt.Errorf("removing keys: %w", err)
		}
		return removed(int64(len(found)))
	})
}

// RequireEmpty returns fault.Conflict if the database has keys of Livegraph.
func (db *DB) RequireEmpty(ctx context.Context) error {
	return db.scanPattern(ctx, "livegraph:*", func([]string) error {
		return fault.New(
			fault.Conflict,
			"Redis is not empty: it has keys that begin with livegraph:, which do not match the backup. "+
				"Remove them; Livegraph creates them again",
		)
	})
}

// scanWorkspace calls visit with the keys of a workspace, in steps.
func (db *DB) scanWorkspace(ctx context.Context, workspace uuid.UUID, visit func(found []string) error) error {
	return db.scanPattern(ctx, "livegraph:*"+workspace.String()+"*", visit)
}

// scanPattern calls visit with the keys that match a pattern, in steps.
func (db *DB) scanPattern(ctx context.Context, pattern string, visit func(found []string) error) error {
	for cursor := uint64(0); ; {
		found, next, err := db.client.Scan(ctx, cursor, pattern, scanCount).Result()
		if err != nil {
			return fmt.Errorf("scanning keys: %w", err)
		}
		if len(found) > 0 {
			if err := visit(found); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}
