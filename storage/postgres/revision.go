package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Credential is what authentication needs to know of a key.
type Credential struct {
	ID         uuid.UUID
	ActorID    uuid.UUID
	Mode       string
	Scopes     []string
	ExpiresAt  *time.Time
	RevokedAt  *time.Time
	Workspaces map[uuid.UUID]Access // those that stand
}

// Access is what a key needs to know of a workspace that it opens.
type Access struct {
	Mode              string
	PerMinute, PerDay *int64 // the requests that it has; nil: unlimited
}

// AuthChanges are the changes to keys and workspaces up to an auth revision: the number that
// each of them raises.
type AuthChanges struct {
	Revision int64
	At       time.Time // when it was not higher, by the clock of Postgres
	// IDs are those of the keys and workspaces that have changed. Whole is false where not
	// all of them are known any more.
	IDs   []uuid.UUID
	Whole bool
}

// maxAuthChanges bounds what AuthChanges reads.
const maxAuthChanges = 1000

// AuthChanges returns what has changed after a revision.
func (db *DB) AuthChanges(ctx context.Context, since int64) (AuthChanges, error) {
	var c AuthChanges
	var noted int64
	// The statement begins before its snapshot is taken. Each revision is one change.
	err := db.pool.QueryRow(ctx, `SELECT r.revision, statement_timestamp(), c.n, c.ids FROM auth_revision r, LATERAL (
			SELECT count(*) AS n, array_agg(COALESCE(key_id, workspace_id)) AS ids FROM auth_changes
			WHERE revision > $1 AND revision <= r.revision AND r.revision - $1 <= $2) c`, since, maxAuthChanges).
		Scan(&c.Revision, &c.At, &noted, &c.IDs)
	if err != nil {
		return c, classify(fmt.Errorf("reading what changed of keys and workspaces: %w", err))
	}
	c.Whole = noted == c.Revision-since
	return c, nil
}

// CredentialByHash finds the key whose text has the SHA-256 hash, nil when there
// is none, and the revision at which this held: both are of one snapshot, so
// that a cache can tell whether the answer is older than a change.
func (db *DB) CredentialByHash(ctx context.Context, hash [32]byte) (*Credential, int64, error) {
	var (
		c        Credential
		id       *uuid.UUID
		actor    *uuid.UUID
		mode     *string
		ids      []uuid.UUID
		modes    []string
		plans    []string
		minutes  []*int64
		days     []*int64
		revision int64
	)
	err := db.pool.QueryRow(ctx, `
		SELECT r.revision, k.id, k.actor_id, k.mode, k.scopes, k.expires_at, k.revoked_at,
			ws.ids, ws.modes, ws.plans, ws.minutes, ws.days
		FROM auth_revision r
		LEFT JOIN api_keys k ON k.hash = $1
		LEFT JOIN LATERAL (
			SELECT array_agg(w.id) AS ids, array_agg(w.mode) AS modes, array_agg(w.plan) AS plans,
				array_agg(w.per_minute) AS minutes, array_agg(w.per_day) AS days
			FROM api_key_workspaces kw JOIN workspaces w ON w.id = kw.workspace_id
			WHERE kw.key_id = k.id AND w.deleted_at IS NULL) ws ON true`, hash[:]).
		Scan(&revision, &id, &actor, &mode, &c.Scopes, &c.ExpiresAt, &c.RevokedAt, &ids, &modes, &plans, &minutes, &days)
	if err != nil {
		return nil, 0, classify(fmt.Errorf("looking up a key: %w", err))
	}
	if id == nil {
		return nil, revision, nil
	}
	if len(ids) != len(modes) || len(ids) != len(plans) || len(ids) != len(minutes) || len(ids) != len(days) ||
		actor == nil || mode == nil {
		return nil, 0, errors.New("looking up a key: the row is incomplete")
	}
	c.ID, c.ActorID, c.Mode = *id, *actor, *mode
	c.Workspaces = make(map[uuid.UUID]Access, len(ids))
	for i, workspace := range ids {
		w := Workspace{Plan: plans[i], PerMinute: minutes[i], PerDay: days[i]}
		access := Access{Mode: modes[i]}
		access.PerMinute, access.PerDay = w.RequestLimits()
		c.Workspaces[workspace] = access
	}
	return &c, revision, nil
}

// KeyUse is when and from where a key was last used.
type KeyUse struct {
	ID uuid.UUID
	At time.Time
	IP netip.Addr // the zero address: unknown
}

// RecordKeyUses stores the last use of each key; an older use than the stored
// one changes nothing. Keys must not repeat.
func (db *DB) RecordKeyUses(ctx context.Context, uses []KeyUse) error {
	// In one order, so that two processes cannot block each other.
	slices.SortFunc(uses, func(a, b KeyUse) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	batch := &pgx.Batch{}
	for _, use := range uses {
		var ip *netip.Addr
		if use.IP.IsValid() {
			ip = &use.IP
		}
		batch.Queue(`
			UPDATE api_keys SET last_used_at = $2, last_used_ip = $3
			WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)`, use.ID, use.At, ip)
	}
	if err := db.pool.SendBatch(ctx, batch).Close(); err != nil {
		return classify(fmt.Errorf("storing the last use of keys: %w", err))
	}
	return nil
}
