package access

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres"
)

// execer executes statements: a pool or a transaction.
type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// IdempotencyKey identifies a request that a client may repeat.
type IdempotencyKey struct {
	Workspace, Actor uuid.UUID
	Route, Key       string
}

// IdempotencyClaim is the state of a key after [Store.ClaimIdempotencyKey].
type IdempotencyClaim struct {
	IdempotencyKey
	BodyHash   [32]byte
	ReservedID uuid.UUID
	ReceivedAt time.Time // to the microsecond
	// Attempt is the number of holders that the key has had. It identifies the current one
	// when it answers, releases or deletes the key.
	Attempt int32
	// Held reports that the caller holds the key. Otherwise Answer is the stored response,
	// or nil while another holder processes the request.
	Held   bool
	Answer []byte
}

// idempotencyRetention is the time after which a key expires.
const idempotencyRetention = `interval '24 hours'`

// ClaimIdempotencyKey claims a key for the caller, who holds it for at most duration. It
// succeeds if the key is new or expired, or if its last holder ended without storing a
// response; ReservedID and ReceivedAt are then those of the first holder. A key that has
// another body hash, has a response, or is held by another caller is returned unchanged.
func (db *Store) ClaimIdempotencyKey(
	ctx context.Context, want IdempotencyClaim, duration time.Duration,
) (IdempotencyClaim, error) {
	const claim = `
		INSERT INTO idempotency_keys AS k (workspace_id, actor_id, route, key, body_hash, reserved_id, received_at,
		running_until)
		VALUES ($1, $2, $3, $4, $5, $6, $7, now() + $8::interval)
		ON CONFLICT (workspace_id, actor_id, route, key) DO UPDATE SET
			body_hash     = excluded.body_hash,
			reserved_id   = CASE WHEN k.created_at <= now() - ` +
		idempotencyRetention + ` THEN excluded.reserved_id ELSE k.reserved_id END,
			received_at   = CASE WHEN k.created_at <= now() - ` +
		idempotencyRetention + ` THEN excluded.received_at ELSE k.received_at END,
			created_at    = CASE WHEN k.created_at <= now() - ` +
		idempotencyRetention + ` THEN excluded.created_at ELSE k.created_at END,
			attempt       = CASE WHEN k.created_at <= now() - ` + idempotencyRetention + ` THEN 1 ELSE k.attempt + 1 END,
			running_until = excluded.running_until, answer = NULL
		WHERE k.created_at <= now() - ` + idempotencyRetention + `
			OR (k.answer IS NULL AND k.running_until <= now() AND k.body_hash = excluded.body_hash)
		RETURNING reserved_id, received_at, attempt`
	for {
		held := want
		err := db.pool.QueryRow(
			ctx, claim, want.Workspace, want.Actor, want.Route, want.Key, want.BodyHash[:], want.ReservedID, want.ReceivedAt,
			duration,
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
		if !errors.Is(err, pgx.ErrNoRows) { // otherwise it was deleted meanwhile and can be claimed
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

// AnswerIdempotencyKey stores the response of the key's holder. It does nothing if another
// caller holds the key by now.
func (db *Store) AnswerIdempotencyKey(ctx context.Context, c IdempotencyClaim, answer []byte) error {
	_, err := AnswerIdempotencyKey(ctx, db.pool, c, answer)
	return postgres.Classify(err)
}

// AnswerHeldKey is AnswerIdempotencyKey for a request whose effect is in the transaction: the error is
// fault.Unavailable, so that the transaction is rolled back, if another request holds the key by now.
func AnswerHeldKey(ctx context.Context, tx pgx.Tx, c IdempotencyClaim, answer []byte) error {
	held, err := AnswerIdempotencyKey(ctx, tx, c, answer)
	if err == nil && !held {
		return fault.New(fault.Unavailable, "The request took too long").After(postgres.RetryAfter)
	}
	return err
}

// Response is the response to a request with an idempotency key, whose effect has the result T. A nil Response is that
// of a request without a key.
type Response[T any] struct {
	Key    IdempotencyClaim
	Encode func(T) ([]byte, error)
}

// Store stores the response in the transaction of the effect, as AnswerHeldKey does.
func (r *Response[T]) Store(ctx context.Context, tx pgx.Tx, result T) error {
	if r == nil {
		return nil
	}
	encoded, err := r.Encode(result)
	if err != nil {
		return err
	}
	return AnswerHeldKey(ctx, tx, r.Key, encoded)
}

// AnswerIdempotencyKey stores the response of the key's holder. It returns false, and stores
// nothing, if another caller holds the key by now.
func AnswerIdempotencyKey(ctx context.Context, q execer, c IdempotencyClaim, answer []byte) (bool, error) {
	tag, err := q.Exec(
		ctx, `UPDATE idempotency_keys SET answer = $6`+ofHolder, c.Workspace, c.Actor, c.Route, c.Key, c.Attempt, answer,
	)
	if err != nil {
		return false, fmt.Errorf("answering an idempotency key: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// ReleaseIdempotencyKey releases a held key without a response. The next caller that claims
// it continues with the reserved id.
func (db *Store) ReleaseIdempotencyKey(ctx context.Context, c IdempotencyClaim) error {
	_, err := db.pool.Exec(
		ctx, `UPDATE idempotency_keys SET running_until = now()`+ofHolder, c.Workspace, c.Actor, c.Route, c.Key, c.Attempt,
	)
	if err != nil {
		return postgres.Classify(fmt.Errorf("releasing an idempotency key: %w", err))
	}
	return nil
}

// DeleteIdempotencyKey deletes a held key, as if it had never been used. The request must
// have had no effect and must have none later.
func (db *Store) DeleteIdempotencyKey(ctx context.Context, c IdempotencyClaim) error {
	_, err := db.pool.Exec(ctx, `DELETE FROM idempotency_keys`+ofHolder, c.Workspace, c.Actor, c.Route, c.Key, c.Attempt)
	if err != nil {
		return postgres.Classify(fmt.Errorf("forgetting an idempotency key: %w", err))
	}
	return nil
}

// PruneIdempotencyKeys deletes up to limit expired keys and returns their number.
func (db *Store) PruneIdempotencyKeys(ctx context.Context, limit int) (int64, error) {
	tag, err := db.pool.Exec(ctx, `DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY (
		SELECT ctid FROM idempotency_keys WHERE created_at <= now() - `+
		idempotencyRetention+` ORDER BY created_at LIMIT $1))`, limit)
	if err != nil {
		return 0, postgres.Classify(fmt.Errorf("pruning idempotency keys: %w", err))
	}
	return tag.RowsAffected(), nil
}
