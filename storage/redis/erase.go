package redis

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// scanned is how many keys one step of a search looks at.
const scanned = 1000

// WorkspaceRows counts the keys that are of a workspace: those with its id in them.
func (db *DB) WorkspaceRows(ctx context.Context, workspace uuid.UUID) (keys int64, err error) {
	err = db.keysOf(ctx, workspace, func(found []string) error {
		keys += int64(len(found))
		return nil
	})
	return keys, err
}

// EraseWorkspace removes the keys of a workspace and tells of them as they go. It
// looks at every key there is, a thousand a time, so that nobody who adds a kind of
// key has to think of it.
func (db *DB) EraseWorkspace(ctx context.Context, workspace uuid.UUID, gone func(keys int64) error) error {
	return db.keysOf(ctx, workspace, func(found []string) error {
		if err := db.client.Unlink(ctx, found...).Err(); err != nil {
			return fmt.Errorf("removing keys: %w", err)
		}
		return gone(int64(len(found)))
	})
}

// RequireEmpty refuses a database that has keys of ours, fault.Conflict.
func (db *DB) RequireEmpty(ctx context.Context) error {
	return db.keysLike(ctx, "livegraph:*", func([]string) error {
		return fault.New(
			fault.Conflict,
			"Redis is not empty: it has keys that begin with livegraph:, of another moment than the backup's. "+
				"Remove them; whatever they are, it is made again",
		)
	})
}

func (db *DB) keysOf(ctx context.Context, workspace uuid.UUID, each func(found []string) error) error {
	return db.keysLike(ctx, "livegraph:*"+workspace.String()+"*", each)
}

func (db *DB) keysLike(ctx context.Context, pattern string, each func(found []string) error) error {
	for cursor := uint64(0); ; {
		found, next, err := db.client.Scan(ctx, cursor, pattern, scanned).Result()
		if err != nil {
			return fmt.Errorf("looking for keys: %w", err)
		}
		if len(found) > 0 {
			if err := each(found); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}
