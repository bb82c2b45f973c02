package access

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/livegraph/livegraph/storage/postgres"
)

// execer is a pool or a transaction.
type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// IdempotencyKey names what a client may repeat.
type IdempotencyKey struct {
	Workspace, Actor uuid.UUID
	Route, Key       string
}

// IdempotencyClaim is what is known of a key after [DB.ClaimIdempotencyKey].
type IdempotencyClaim struct {
	IdempotencyKey
	BodyHash   [32]byte
	ReservedID uuid.UUID
	ReceivedAt time.Time // to the microsecond
	// Attempt counts those who held the key. The holder names it when it lets go.
	Attempt int32
	// Held says that the caller holds the key now. Else Answer is what was answered,
	// or nil while somebody else works at it.
	Held   bool
	Answer []byte
}

// idempotencyKept is how long a key means what it meant.
const idempotencyKept = `interval '24 hours'`

// ClaimIdempotencyKey takes a key for the caller, who holds it for the time given at
// most: one that is new, or whose holder ended without an answer that is kept. Then
// ReservedID and ReceivedAt are those of the first holder. A key that has another
// body hash, is answered, or is held by somebody else is given as it is.
func (db *Store) ClaimIdempotencyKey(
	ctx context.Context, want IdempotencyClaim, hold time.Duration,
) (IdempotencyClaim, error) {
	const claim = `
		INSERT INTO idempotency_keys AS k (workspace_id, actor_id, route, key, body_hash, reserved_id, received_at,
		running_until)
		VALUES ($1, $2, $3, $4, $5, $6, $7, now() + $8::interval)
		ON CONFLICT (workspace_id, actor_id, route, key) DO UPDATE SET
			body_hash     = excluded.body_hash,
			reserved_id   = CASE WHEN k.created_at <= now() - ` +
		idempotencyKept + ` THEN excluded.reserved_id ELSE k.reserved_id END,
			received_at   = CASE WHEN k.created_at <= now() - ` +
		idempotencyKept + ` THEN excluded.received_at ELSE k.received_at END,
			created_at    = CASE WHEN k.created_at <= now() - ` +
		idempotencyKept + ` THEN excluded.created_at ELSE k.created_at END,
			attempt       = CASE WHEN k.created_at <= now() - ` + idempotencyKept + ` THEN 1 ELSE k.attempt + 1 END,
			running_until = excluded.running_until, answer = NULL
		WHERE k.created_at <= now() - ` + idempotencyKept + `
			OR (k.answer IS NULL AND k.running_until <= now() AND k.body_hash = excluded.body_hash)
		RETURNING reserved_id, received_at, attempt`
	for {
		held := want
		err := db.pool.QueryRow(
			ctx, claim, want.Workspace, want.Actor, want.Route, want.Key, want.BodyHash[:], want.ReservedID, want.ReceivedAt,
			hold,
		).
			Scan(&held.ReservedID, &held.ReceivedAt, &held.Attempt)
		if err == nil {
			held.Held, held.ReceivedAt = true, held.ReceivedAt.UTC()
			return held, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return IdempotencyClaim{}, postgres.Classify(fmt.Errorf("claiming an idempotency key: %w", err))
		}
		other, err := db.idempotencyKey(ctx, want.IdempotencyKey)
		if !errors.Is(err, pgx.ErrNoRows) { // else it went in between: it is free
			return other, postgres.Classify(err)
		}
	}
}

func (db *Store) idempotencyKey(ctx context.Context, key IdempotencyKey) (IdempotencyClaim, error) {
	found := IdempotencyClaim{IdempotencyKey: key}
	var hash []byte
	err := db.pool.QueryRow(ctx, `SELECT body_hash, reserved_id, received_at, attempt, answer FROM idempotency_keys
		WHERE workspace_id = $1 AND actor_id = $2 AND route = $3 AND key = $4`, key.Workspace, key.Actor, key.Route, key.Key).
		Scan(&hash, &found.ReservedID, &found.ReceivedAt, &found.Attempt, &found.Answer)
	if err != nil {
		return IdempotencyClaim{}, fmt.Errorf("reading an idempotency key: %w", err)
	}
	copy(found.BodyHash[:], hash)
	found.ReceivedAt = found.ReceivedAt.UTC()
	return found, nil
}

const ofHolder = ` WHERE workspace_id = $1 AND actor_id = $2 AND route = $3 AND key = $4
	AND attempt = $5 AND answer IS NULL`

// AnswerIdempotencyKey keeps the answer of the key's holder. Nothing happens if
// another holds it by now.
func (db *Store) AnswerIdempotencyKey(ctx context.Context, c IdempotencyClaim, answer []byte) error {
	_, err := AnswerIdempotencyKey(ctx, db.pool, c, answer)
	return postgres.Classify(err)
}

// AnswerIdempotencyKey reports whether the caller still held the key.
func AnswerIdempotencyKey(ctx context.Context, q execer, c IdempotencyClaim, answer []byte) (bool, error) {
	tag, err := q.Exec(
		ctx, `UPDATE idempotency_keys SET answer = $6`+ofHolder, c.Workspace, c.Actor, c.Route, c.Key, c.Attempt, answer,
	)
	if err != nil {
		return false, fmt.Errorf("answering an idempotency key: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// ReleaseIdempotencyKey ends the holding without an answer: the next who asks goes
// on, with what is reserved.
func (db *Store) ReleaseIdempotencyKey(ctx context.Context, c IdempotencyClaim) error {
	_, err := db.pool.Exec(
		ctx, `UPDATE idempotency_keys SET running_until = now()`+ofHolder, c.Workspace, c.Actor, c.Route, c.Key, c.Attempt,
	)
	if err != nil {
		return postgres.Classify(fmt.Errorf("releasing an idempotency key: %w", err))
	}
	return nil
}

// ForgetIdempotencyKey makes the key as if it had never been used: what was asked for
// had no effect and will have none.
func (db *Store) ForgetIdempotencyKey(ctx context.Context, c IdempotencyClaim) error {
	_, err := db.pool.Exec(ctx, `DELETE FROM idempotency_keys`+ofHolder, c.Workspace, c.Actor, c.Route, c.Key, c.Attempt)
	if err != nil {
		return postgres.Classify(fmt.Errorf("forgetting an idempotency key: %w", err))
	}
	return nil
}

// PruneIdempotencyKeys removes keys that mean nothing any more, at most so many, and
// gives how many.
func (db *Store) PruneIdempotencyKeys(ctx context.Context, most int) (int64, error) {
	tag, err := db.pool.Exec(ctx, `DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY (
		SELECT ctid FROM idempotency_keys WHERE created_at <= now() - `+
		idempotencyKept+` ORDER BY created_at LIMIT $1))`, most)
	if err != nil {
		return 0, postgres.Classify(fmt.Errorf("pruning idempotency keys: %w", err))
	}
	return tag.RowsAffected(), nil
}
