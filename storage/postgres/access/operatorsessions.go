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

// OperatorSession is a valid session of the admin UI.
type OperatorSession struct {
	Operator     uuid.UUID
	OperatorName string
	ExpiresAt    time.Time // by its maximum age or its idle timeout, whichever is earlier
}

// NewOperatorSession has the fields of a session to open.
type NewOperatorSession struct {
	Hash      [32]byte // SHA-256 of the cookie's value
	Operator  uuid.UUID
	Age       time.Duration // maximum age
	IP        netip.Addr    // the zero address: unknown
	UserAgent string
	// PasswordHash is the hash that the password was checked against. The session is not
	// opened if the operator has another hash by now.
	PasswordHash string
	// Replaces is the hash of a session that ends when this one opens; zero: none.
	Replaces [32]byte
}

// maxOperatorSessions is the maximum number of sessions of an operator. The oldest ones
// beyond it end.
const maxOperatorSessions = 20

// OpenOperatorSession opens a session, records the login, and deletes expired sessions. It
// returns fault.Unauthenticated if the operator no longer exists or its password has
// changed.
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
			return fmt.Errorf("recording a login: %w", err)
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

// OperatorSession returns a valid session. It returns fault.Unauthenticated if the session
// is unknown, expired, or was not used for idle. touch marks the session as used now, with
// a precision of one minute.
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
			return s, postgres.Classify(fmt.Errorf("recording the use of a session: %w", err))
		}
	}
	return s, nil
}

// EndOperatorSession ends a session. It does nothing if there is no such session.
func (db *Store) EndOperatorSession(ctx context.Context, hash [32]byte) error {
	if _, err := db.pool.Exec(ctx, `DELETE FROM operator_sessions WHERE hash = $1`, hash[:]); err != nil {
		return postgres.Classify(fmt.Errorf("ending a session: %w", err))
	}
	return nil
}
