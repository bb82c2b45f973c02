package access

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

	"github.com/livegraph/livegraph/storage/postgres"
)

// Credential has the fields of a key that authentication needs.
type Credential struct {
	ID         uuid.UUID
	ActorID    uuid.UUID
	Mode       string
	Scopes     []string
	ExpiresAt  *time.Time
	RevokedAt  *time.Time
	Workspaces map[uuid.UUID]Access // without deleted ones
}

// Access has the fields of a workspace that authentication needs.
type Access struct {
	Mode              string
	PerMinute, PerDay *int64 // limits of requests; nil: unlimited
}

// AuthChanges has the changes to keys and workspaces up to an auth revision. Each change
// raises the revision by one.
type AuthChanges struct {
	Revision int64
	At       time.Time // a time of Postgres at which the revision was not higher
	// IDs are the ids of the keys and workspaces that changed. Whole is false if not all
	// changes are included.
	IDs      []uuid.UUID
	Complete bool
}

// maxAuthChanges is the maximum number of changes that AuthChanges reads.
const maxAuthChanges = 1000

// AuthChanges returns the changes after a revision.
func (db *Store) AuthChanges(ctx context.Context, since int64) (AuthChanges, error) {
	var c AuthChanges
	var count int64
	// The statement begins before its snapshot is taken. Each revision is one change.
	err := db.pool.QueryRow(ctx, `SELECT r.revision, statement_timestamp(), c.n, c.ids FROM auth_revision r, LATERAL (
			SELECT count(*) AS n, array_agg(COALESCE(key_id, workspace_id)) AS ids FROM auth_changes
			WHERE revision > $1 AND revision <= r.revision AND r.revision - $1 <= $2) c`, since, maxAuthChanges).
		Scan(&c.Revision, &c.At, &count, &c.IDs)
	if err != nil {
		return c, postgres.Classify(fmt.Errorf("reading the changes of keys and workspaces: %w", err))
	}
	c.Complete = count == c.Revision-since
	return c, nil
}

// CredentialByHash returns the key whose text has the SHA-256 hash, or nil if there is none,
// and the revision of the result. See CredentialsByHash.
func (db *Store) CredentialByHash(ctx context.Context, hash [32]byte) (*Credential, int64, error) {
	found, revision, err := db.CredentialsByHash(ctx, [][32]byte{hash})
	if err != nil {
		return nil, 0, err
	}
	return found[0], revision, nil
}

// selectByHash looks up each hash by the index, however few keys the statistics estimate.
const selectByHash = `
	SELECT h.n, r.revision, k.id, k.actor_id, k.mode, k.scopes, k.expires_at, k.revoked_at,
		ws.ids, ws.modes, ws.plans, ws.minutes, ws.days
	FROM auth_revision r
	CROSS JOIN unnest($1::bytea[]) WITH ORDINALITY AS h (hash, n)
	LEFT JOIN LATERAL (SELECT * FROM api_keys WHERE hash = h.hash LIMIT 1) k ON true
	LEFT JOIN LATERAL (
		SELECT array_agg(w.id) AS ids, array_agg(w.mode) AS modes, array_agg(w.plan) AS plans,
			array_agg(w.per_minute) AS minutes, array_agg(w.per_day) AS days
		FROM api_key_workspaces kw JOIN workspaces w ON w.id = kw.workspace_id
		WHERE kw.key_id = k.id AND w.deleted_at IS NULL) ws ON true`

// credentialRow is a row of selectByHash: columns of a key that does not exist are null.
type credentialRow struct {
	n                  int64
	id, actor          *uuid.UUID
	mode               *string
	scopes             []string
	expires, revoked   *time.Time
	ids                []uuid.UUID
	modes, plans       []string
	perMinute, perDays []*int64
}

// CredentialsByHash returns the key for each SHA-256 hash of a key's text, nil if there is
// none, and the revision of the result. The result is from one snapshot, so that a cache
// can determine whether it is older than a change.
func (db *Store) CredentialsByHash(ctx context.Context, hashes [][32]byte) ([]*Credential, int64, error) {
	column := make([][]byte, len(hashes))
	for i := range hashes {
		column[i] = hashes[i][:]
	}
	found, revision, rowCount := make([]*Credential, len(hashes)), int64(0), 0
	rows, err := db.pool.Query(ctx, selectByHash, column)
	if err == nil {
		var row credentialRow
		columns := []any{
			&row.n, &revision, &row.id, &row.actor, &row.mode, &row.scopes, &row.expires, &row.revoked,
			&row.ids, &row.modes, &row.plans, &row.perMinute, &row.perDays,
		}
		_, err = pgx.ForEachRow(rows, columns, func() (err error) {
			rowCount++
			found[row.n-1], err = row.credential()
			return err
		})
	}
	if err != nil {
		return nil, 0, postgres.Classify(fmt.Errorf("looking up keys: %w", err))
	}
	if rowCount != len(hashes) {
		return nil, 0, errors.New("looking up keys: rows are missing")
	}
	return found, revision, nil
}

// credential returns the key of a row, nil if there is none.
func (row *credentialRow) credential() (*Credential, error) {
	if row.id == nil {
		return nil, nil
	}
	n := len(row.ids)
	if n != len(row.modes) || n != len(row.plans) || n != len(row.perMinute) || n != len(row.perDays) ||
		row.actor == nil || row.mode == nil {
		return nil, errors.New("the row of a key is incomplete")
	}
	c := &Credential{
		ID: *row.id, ActorID: *row.actor, Mode: *row.mode, Scopes: row.scopes, ExpiresAt: row.expires,
		RevokedAt: row.revoked, Workspaces: make(map[uuid.UUID]Access, n),
	}
	for i, workspace := range row.ids {
		w := Workspace{Plan: row.plans[i], PerMinute: row.perMinute[i], PerDay: row.perDays[i]}
		access := Access{Mode: row.modes[i]}
		access.PerMinute, access.PerDay = w.RequestLimits()
		c.Workspaces[workspace] = access
	}
	return c, nil
}

// KeyUse is the time and the address of the last use of a key.
type KeyUse struct {
	ID uuid.UUID
	At time.Time
	IP netip.Addr // the zero address: unknown
}

// RecordKeyUses stores the last use of each key. A use that is older than the stored one
// changes nothing. Keys must not repeat.
func (db *Store) RecordKeyUses(ctx context.Context, uses []KeyUse) error {
	// The same order in all processes avoids deadlocks.
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
		return postgres.Classify(fmt.Errorf("storing the last use of keys: %w", err))
	}
	return nil
}
