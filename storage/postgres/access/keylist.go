package access

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// States of keys.
const (
	KeyActive  = "active"
	KeyExpired = "expired"
	KeyRevoked = "revoked"
)

// KeyFilter selects keys. Empty fields match all keys.
type KeyFilter struct {
	Workspace *uuid.UUID  // keys that open this workspace
	IDs       []uuid.UUID // any of these keys
	Actors    []uuid.UUID // keys of any of these actors
	State     string
	// Text is a case-insensitive substring of the name or the display text, or an id.
	Text          string
	CreatedBefore *time.Time
	Newest        bool // sort newest first instead of oldest first
	Limit, Offset int
}

const keyConditions = `
	WHERE ($1::uuid IS NULL OR EXISTS (SELECT FROM api_key_workspaces w WHERE w.key_id = k.id AND w.workspace_id = $1))
	AND ($2::uuid[] IS NULL OR k.id = ANY ($2))
	AND ($3 = '' OR $3 = CASE
		WHEN k.revoked_at IS NOT NULL THEN 'revoked' WHEN k.expires_at <= $4 THEN 'expired' ELSE 'active' END)
	AND ($5 = '' OR strpos(lower(k.name), $5) > 0 OR strpos(lower(k.display), $5) > 0 OR k.id::text = $5)
	AND ($6::timestamptz IS NULL OR k.created_at < $6)
	AND ($7::uuid[] IS NULL OR k.actor_id = ANY ($7))`

// KeyPage returns a page of the keys that match a filter, and the total number of matches.
// now determines which keys are expired.
func (db *Store) KeyPage(ctx context.Context, f *KeyFilter, now time.Time) (page []Key, total int64, err error) {
	values := []any{f.Workspace, f.IDs, f.State, now, strings.ToLower(f.Text), f.CreatedBefore, f.Actors}
	err = db.pool.QueryRow(ctx, `SELECT count(*) FROM api_keys k`+keyConditions, values...).Scan(&total)
	if err != nil {
		return nil, 0, postgres.Classify(fmt.Errorf("counting keys: %w", err))
	}
	order := "k.created_at, k.id"
	if f.Newest {
		order = "k.created_at DESC, k.id DESC"
	}
	rows, err := db.pool.Query(ctx, `SELECT `+
		keyColumns+` FROM api_keys k`+keyConditions+` ORDER BY `+order+` LIMIT $8 OFFSET $9`,
		append(values, f.Limit, f.Offset)...)
	if err != nil {
		return nil, 0, postgres.Classify(fmt.Errorf("listing keys: %w", err))
	}
	page, err = pgx.CollectRows(rows, scanKey)
	return page, total, postgres.Classify(err)
}
