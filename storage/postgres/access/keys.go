package access

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres"
)

// Key is an API key as it is stored, without its text.
type Key struct {
	ID         uuid.UUID   `json:"id"`
	Display    string      `json:"display"` // prefix and the first four random characters
	Name       string      `json:"name"`
	Mode       string      `json:"mode"` // live or test
	Scopes     []string    `json:"scopes"`
	Workspaces []uuid.UUID `json:"workspaces"`
	ActorID    uuid.UUID   `json:"actorId"` // owner of the undo stack; a rolled key passes it on
	RolledFrom *uuid.UUID  `json:"rolledFrom"`
	CreatedBy  string      `json:"createdBy"`
	CreatedAt  time.Time   `json:"createdAt"`
	ExpiresAt  *time.Time  `json:"expiresAt"`
	RevokedAt  *time.Time  `json:"revokedAt"`
	LastUsedAt *time.Time  `json:"lastUsedAt"`
	LastUsedIP *netip.Addr `json:"lastUsedIp"`
}

// NewKey has the fields of a key to create.
type NewKey struct {
	Hash       [32]byte // SHA-256 of the text
	Display    string
	Name       string
	Mode       string
	Scopes     []string
	Workspaces []uuid.UUID // at least one, all of Mode
	CreatedBy  string
	ExpiresAt  *time.Time // nil: never
}

const keyColumns = `k.id, k.display, k.name, k.mode, k.scopes, k.actor_id, k.rolled_from, k.created_by,
	k.created_at, k.expires_at, k.revoked_at, k.last_used_at, k.last_used_ip,
	ARRAY(SELECT workspace_id FROM api_key_workspaces w WHERE w.key_id = k.id ORDER BY workspace_id)`

// CreateKey adds a key. It returns fault.NotFound for a workspace that does not exist or is
// deleted, and fault.Invalid for one of another mode.
func (db *Store) CreateKey(ctx context.Context, n NewKey) (Key, error) {
	var created Key
	err := db.root.InTx(ctx, func(tx pgx.Tx) (err error) {
		if created, err = createKey(ctx, tx, n); err == nil {
			err = db.keyChanged(ctx, tx, &created)
		}
		return err
	})
	return created, err
}

func createKey(ctx context.Context, tx pgx.Tx, n NewKey) (Key, error) {
	if err := checkWorkspaces(ctx, tx, n.Workspaces, n.Mode); err != nil {
		return Key{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Key{}, fmt.Errorf("making a key id: %w", err)
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO api_keys (id, hash, display, name, mode, scopes, actor_id, created_by, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, gen_random_uuid(), $7, $8)`,
		id, n.Hash[:], n.Display, n.Name, n.Mode, n.Scopes, n.CreatedBy, n.ExpiresAt)
	if err != nil {
		return Key{}, fmt.Errorf("adding key: %w", err)
	}
	_, err = tx.Exec(
		ctx, `INSERT INTO api_key_workspaces (key_id, workspace_id) SELECT $1, unnest($2::uuid[])`, id, n.Workspaces,
	)
	if err != nil {
		return Key{}, fmt.Errorf("adding the key's workspaces: %w", err)
	}
	return readKey(ctx, tx, id)
}

func checkWorkspaces(ctx context.Context, tx pgx.Tx, ids []uuid.UUID, mode string) error {
	rows, err := tx.Query(ctx, `SELECT id, mode FROM workspaces WHERE id = ANY($1) AND deleted_at IS NULL FOR SHARE`, ids)
	if err != nil {
		return fmt.Errorf("reading the key's workspaces: %w", err)
	}
	modes := map[uuid.UUID]string{}
	var (
		id    uuid.UUID
		found string
	)
	if _, err = pgx.ForEachRow(rows, []any{&id, &found}, func() error { modes[id] = found; return nil }); err != nil {
		return fmt.Errorf("reading the key's workspaces: %w", err)
	}
	for _, id := range ids {
		if modes[id] == "" {
			return WorkspaceNotFound(id)
		}
		if modes[id] != mode {
			return fault.Newf(fault.Invalid, "Workspace %s is of mode %s, the key of mode %s", id, modes[id], mode)
		}
	}
	return nil
}

// RollKey creates a successor of a key with the same actor, name, scopes, workspaces and
// lifetime. The old key expires after grace at the latest. The lifetime is that of the old
// key before it was rolled first, not the one that grace shortened.
func (db *Store) RollKey(
	ctx context.Context, id uuid.UUID, hash [32]byte, display, createdBy string, grace time.Duration,
) (Key, error) {
	var created Key
	err := db.root.InTx(ctx, func(tx pgx.Tx) error {
		successor, err := uuid.NewV7()
		if err != nil {
			return fmt.Errorf("making a key id: %w", err)
		}
		if err := usableKey(ctx, tx, id); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO api_keys (id, hash, display, name, mode, scopes, actor_id, rolled_from, created_by, expires_at)
			SELECT $2, $3, $4, name, mode, scopes, actor_id, id, $5,
				now() + CASE WHEN rolled_at IS NULL THEN expires_at - created_at ELSE lifetime END
			FROM api_keys WHERE id = $1`, id, successor, hash[:], display, createdBy)
		if err != nil {
			return fmt.Errorf("adding the successor: %w", err)
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO api_key_workspaces (key_id, workspace_id)
			SELECT $2, workspace_id FROM api_key_workspaces WHERE key_id = $1`, id, successor)
		if err != nil {
			return fmt.Errorf("adding the successor's workspaces: %w", err)
		}
		_, err = tx.Exec(ctx, `
			UPDATE api_keys SET expires_at = LEAST(expires_at, now() + make_interval(secs => $2)),
				lifetime = CASE WHEN rolled_at IS NULL THEN expires_at - created_at
				ELSE lifetime END, rolled_at = COALESCE(rolled_at, now())
			WHERE id = $1`,
			id, grace.Seconds())
		if err != nil {
			return fmt.Errorf("expiring the old key: %w", err)
		}
		if created, err = readKey(ctx, tx, successor); err == nil {
			err = db.keyChanged(ctx, tx, &created)
		}
		return err
	})
	return created, err
}

// usableKey locks the key's row. It returns fault.NotFound for an unknown key, and
// fault.Conflict for one that is revoked or expired.
func usableKey(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	var revoked, expired bool
	err := tx.QueryRow(ctx, `
		SELECT revoked_at IS NOT NULL, COALESCE(expires_at <= now(), false) FROM api_keys WHERE id = $1 FOR UPDATE`, id).
		Scan(&revoked, &expired)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return keyNotFound(id)
	case err != nil:
		return fmt.Errorf("reading key: %w", err)
	case revoked:
		return fault.Newf(fault.Conflict, "Key %s is revoked", id)
	case expired:
		return fault.Newf(fault.Conflict, "Key %s has expired", id)
	}
	return nil
}

// RevokeKey revokes a key now. Revoking it again changes nothing.
func (db *Store) RevokeKey(ctx context.Context, id uuid.UUID) (Key, error) {
	var revoked Key
	err := db.root.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE api_keys SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL`, id)
		if err != nil {
			return fmt.Errorf("revoking key: %w", err)
		}
		if revoked, err = readKey(ctx, tx, id); err == nil && tag.RowsAffected() > 0 {
			err = db.keyChanged(ctx, tx, &revoked)
		}
		return err
	})
	return revoked, err
}

// Keys returns the keys of a workspace, or all keys if workspace is nil, oldest first.
func (db *Store) Keys(ctx context.Context, workspace *uuid.UUID) ([]Key, error) {
	rows, err := db.pool.Query(ctx, `
		SELECT `+keyColumns+` FROM api_keys k
		WHERE $1::uuid IS NULL OR EXISTS (
			SELECT FROM api_key_workspaces w WHERE w.key_id = k.id AND w.workspace_id = $1)
		ORDER BY k.created_at, k.id`, workspace)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("listing keys: %w", err))
	}
	list, err := pgx.CollectRows(rows, scanKey)
	return list, postgres.Classify(err)
}

func readKey(ctx context.Context, tx pgx.Tx, id uuid.UUID) (Key, error) {
	rows, err := tx.Query(ctx, `SELECT `+keyColumns+` FROM api_keys k WHERE k.id = $1`, id)
	if err != nil {
		return Key{}, fmt.Errorf("reading key: %w", err)
	}
	key, err := pgx.CollectExactlyOneRow(rows, scanKey)
	if errors.Is(err, pgx.ErrNoRows) {
		return Key{}, keyNotFound(id)
	}
	return key, err
}

func scanKey(row pgx.CollectableRow) (Key, error) {
	var k Key
	err := row.Scan(&k.ID, &k.Display, &k.Name, &k.Mode, &k.Scopes, &k.ActorID, &k.RolledFrom, &k.CreatedBy,
		&k.CreatedAt, &k.ExpiresAt, &k.RevokedAt, &k.LastUsedAt, &k.LastUsedIP, &k.Workspaces)
	k.CreatedAt = k.CreatedAt.UTC()
	for _, t := range []*time.Time{k.ExpiresAt, k.RevokedAt, k.LastUsedAt} {
		if t != nil {
			*t = t.UTC()
		}
	}
	return k, err
}

func keyNotFound(id uuid.UUID) error { return fault.Newf(fault.NotFound, "No key %s", id) }

// KeyByID returns a key, or fault.NotFound if there is none.
func (db *Store) KeyByID(ctx context.Context, id uuid.UUID) (Key, error) {
	rows, err := db.pool.Query(ctx, `SELECT `+keyColumns+` FROM api_keys k WHERE k.id = $1`, id)
	if err != nil {
		return Key{}, postgres.Classify(fmt.Errorf("reading key: %w", err))
	}
	key, err := pgx.CollectExactlyOneRow(rows, scanKey)
	if errors.Is(err, pgx.ErrNoRows) {
		return Key{}, keyNotFound(id)
	}
	return key, postgres.Classify(err)
}
