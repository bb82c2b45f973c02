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

// OperatorSession is a session on the administration page that holds.
type OperatorSession struct {
	Operator     uuid.UUID
	OperatorName string
	ExpiresAt    time.Time // by its age or for want of use, whichever comes first
}

// NewOperatorSession is what a session is opened with.
type NewOperatorSession struct {
	Hash      [32]byte // SHA-256 of what the cookie holds
	Operator  uuid.UUID
	Age       time.Duration // that it can have at most
	IP        netip.Addr    // the zero address: unknown
	UserAgent string
	// PasswordHash is what the password was checked against. If the operator has another
	// by now the session is not opened.
	PasswordHash string
	// Replaces is the hash of a session that ends with it; zero: none.
	Replaces [32]byte
}

// maxOperatorSessions is how many sessions an operator has at most; the oldest end.
const maxOperatorSessions = 20

// OpenOperatorSession opens a session, notes the login, and removes sessions that are
// over. An operator that is gone or has another password by now is Unauthenticated.
func (db *Store) OpenOperatorSession(ctx context.Context, n NewOperatorSession) error {
	var ip *netip.Addr
	if n.IP.IsValid() {
		ip = &n.IP
	}
	return db.root.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(
			ctx, `UPDATE operators SET last_login_at = now(), last_login_ip = $3 WHERE id = $1 AND password_hash = $2`,
			n.Operator, n.PasswordHash, ip,
		)
		if err != nil {
			return fmt.Errorf("noting a login: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return fault.New(fault.Unauthenticated, "Unauthorized")
		}
		_, err = tx.Exec(ctx, `INSERT INTO operator_sessions (hash, operator_id, expires_at, ip, user_agent)
			VALUES ($1, $2, now() + $3::interval, $4, $5)`, n.Hash[:], n.Operator, n.Age, ip, n.UserAgent)
		if err != nil {
			return fmt.Errorf("opening a session: %w", err)
		}
		_, err = tx.Exec(ctx, `DELETE FROM operator_sessions WHERE hash = $1 OR expires_at <= now() OR hash IN (
			SELECT hash FROM operator_sessions WHERE operator_id = $2 ORDER BY created_at DESC, hash OFFSET $3)`,
			n.Replaces[:], n.Operator, maxOperatorSessions)
		if err != nil {
			return fmt.Errorf("removing sessions: %w", err)
		}
		return nil
	})
}

// OperatorSession returns a session that holds, Unauthenticated if there is none: unknown,
// too old, or not used for idle. With touch it counts as used now, to a minute.
func (db *Store) OperatorSession(
	ctx context.Context, hash [32]byte, idle time.Duration, touch bool,
) (OperatorSession, error) {
	var s OperatorSession
	var stale bool
	err := db.pool.QueryRow(ctx, `
		SELECT o.id, o.name, LEAST(s.expires_at, CASE WHEN $3 THEN now() ELSE s.seen_at END + $2::interval),
		s.seen_at < now() - interval '1 minute'
		FROM operator_sessions s JOIN operators o ON o.id = s.operator_id
		WHERE s.hash = $1 AND s.expires_at > now() AND s.seen_at > now() - $2::interval`, hash[:], idle, touch).
		Scan(&s.Operator, &s.OperatorName, &s.ExpiresAt, &stale)
	if errors.Is(err, pgx.ErrNoRows) {
		return s, fault.New(fault.Unauthenticated, "Unauthorized")
	}
	if err != nil {
		return s, postgres.Classify(fmt.Errorf("looking up a session: %w", err))
	}
	s.ExpiresAt = s.ExpiresAt.UTC()
	if touch && stale {
		if _, err := db.pool.Exec(
			ctx, `UPDATE operator_sessions SET seen_at = now() WHERE hash = $1 AND seen_at < now()`, hash[:],
		); err != nil {
			return s, postgres.Classify(fmt.Errorf("noting the use of a session: %w", err))
		}
	}
	return s, nil
}

// EndOperatorSession ends a session. One that is over is none.
func (db *Store) EndOperatorSession(ctx context.Context, hash [32]byte) error {
	if _, err := db.pool.Exec(ctx, `DELETE FROM operator_sessions WHERE hash = $1`, hash[:]); err != nil {
		return postgres.Classify(fmt.Errorf("ending a session: %w", err))
	}
	return nil
}
