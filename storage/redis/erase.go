package redis

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

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
// scanCount per step, so that it also removes new kinds of keys. In a Cluster, keys that move to another
// server at the same time may remain until they expire.
func (db *DB) EraseWorkspace(ctx context.Context, workspace uuid.UUID, removed func(keys int64) error) error {
	return db.scanWorkspace(ctx, workspace, func(found []string) error {
		pipe := db.client.Pipeline()
		for _, key := range found { // one key per command, because they have several slots
			pipe.Unlink(ctx, key)
		}
		if _, err := pipe.Exec(ctx); err != nil {
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

// scanPattern calls visit with the keys of all primaries that match a pattern, in steps. It returns an
// error if the slots of a Cluster have other primaries at the end: it may have missed keys.
func (db *DB) scanPattern(ctx context.Context, pattern string, visit func(found []string) error) error {
	before, err := db.slots(ctx)
	if err != nil {
		return err
	}
	if err := db.eachPrimary(ctx, func(server *redis.Client) error {
		return scan(ctx, server, pattern, visit)
	}); err != nil {
		return err
	}
	after, err := db.slots(ctx)
	if err == nil && after != before {
		err = errors.New("scanning keys: the primaries of the Cluster have changed meanwhile")
	}
	return err
}

// scan calls visit with the keys of one server that match a pattern. It uses one connection, because the
// cursor of another server, such as the primary after a fail-over, is not valid.
func scan(ctx context.Context, server *redis.Client, pattern string, visit func(found []string) error) error {
	conn := server.Conn()
	defer func() { _ = conn.Close() }()
	for cursor := uint64(0); ; {
		found, next, err := conn.Scan(ctx, cursor, pattern, scanCount).Result()
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
