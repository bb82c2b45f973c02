package hooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres"
)

// State is the state of a delivery.
type State string

// States of deliveries.
const (
	Pending   State = "pending"
	Delivered State = "delivered"
	Failed    State = "failed" // no further attempt is made, unless it is requested
)

// Delivery is an event on its way to a webhook.
type Delivery struct {
	ID            uuid.UUID
	Webhook       uuid.UUID
	EventID       uuid.UUID
	EventType     string
	State         State
	Attempts      int
	NextAttemptAt time.Time
	LastStatus    *int // of the last answer
	LastError     *string
	CreatedAt     time.Time
	FinishedAt    *time.Time
}

const deliveryColumns = `id, webhook_id, event_id, event_type, state, attempts, next_attempt_at, last_status,
	last_error, created_at, finished_at`

func scanDelivery(row pgx.CollectableRow) (d Delivery, err error) {
	err = row.Scan(&d.ID, &d.Webhook, &d.EventID, &d.EventType, &d.State, &d.Attempts, &d.NextAttemptAt, &d.LastStatus,
		&d.LastError, &d.CreatedAt, &d.FinishedAt)
	d.NextAttemptAt, d.CreatedAt = d.NextAttemptAt.UTC(), d.CreatedAt.UTC()
	if d.FinishedAt != nil {
		finished := d.FinishedAt.UTC()
		d.FinishedAt = &finished
	}
	return d, err
}

// collectDelivery returns the delivery of a statement's only row.
func collectDelivery(rows pgx.Rows, err error) (Delivery, error) {
	if err != nil {
		return Delivery{}, err
	}
	d, err := pgx.CollectExactlyOneRow(rows, scanDelivery)
	if errors.Is(err, pgx.ErrNoRows) {
		return d, fault.New(fault.NotFound, "No such delivery")
	}
	return d, err
}

// Deliveries returns a page of the deliveries of a webhook, newest first, and how many there are. An empty state
// selects all. It returns a NotFound error if there is no such webhook.
func (db *Store) Deliveries(
	ctx context.Context, workspace, webhook uuid.UUID, state State, limit, offset int,
) (page []Delivery, total int64, err error) {
	err = db.root.InReadTx(ctx, func(tx pgx.Tx) error {
		if _, err := collectWebhook(tx.Query(ctx, `SELECT `+webhookColumns+` FROM webhooks
			WHERE workspace_id = $1 AND id = $2`, workspace, webhook)); err != nil {
			return fmt.Errorf("reading a webhook: %w", err)
		}
		const where = ` FROM webhook_deliveries WHERE workspace_id = $1 AND webhook_id = $2 AND ($3 = '' OR state = $3)`
		if err := tx.QueryRow(ctx, `SELECT count(*)`+where, workspace, webhook, string(state)).Scan(&total); err != nil {
			return fmt.Errorf("counting deliveries: %w", err)
		}
		rows, err := tx.Query(ctx, `SELECT `+deliveryColumns+where+` ORDER BY id DESC LIMIT $4 OFFSET $5`,
			workspace, webhook, string(state), limit, offset)
		if err != nil {
			return fmt.Errorf("reading deliveries: %w", err)
		}
		if page, err = pgx.CollectRows(rows, scanDelivery); err != nil {
			return fmt.Errorf("reading deliveries: %w", err)
		}
		return nil
	})
	return page, total, err
}

// Redeliver queues a delivery again, with all of its attempts. A pending one is tried at once.
func (db *Store) Redeliver(ctx context.Context, workspace, webhook, id uuid.UUID) (d Delivery, err error) {
	err = db.root.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := lockEnabled(ctx, tx, workspace, webhook); err != nil {
			return err
		}
		d, err = collectDelivery(tx.Query(ctx, `UPDATE webhook_deliveries SET state = 'pending', attempts = 0,
			next_attempt_at = now(), finished_at = NULL
			WHERE workspace_id = $1 AND webhook_id = $2 AND id = $3 RETURNING `+deliveryColumns, workspace, webhook, id))
		if err != nil {
			return fmt.Errorf("queueing a delivery again: %w", err)
		}
		return nil
	})
	return d, err
}

// Claim is a delivery that the caller is to send, and has to finish before Until.
type Claim struct {
	ID        uuid.UUID
	Webhook   uuid.UUID
	Workspace uuid.UUID
	EventID   uuid.UUID
	EventType string
	Payload   string
	Attempts  int // before this one
	URL       string
	Secrets   []string // the newest first
	Until     time.Time
}

// Claims bounds what ClaimDeliveries claims.
type Claims struct {
	Max        int // deliveries
	PerWebhook int
	For        time.Duration
	// Busy has the number of deliveries that the caller sends at this time to webhooks. It counts for PerWebhook.
	Busy map[uuid.UUID]int
}

// ClaimDeliveries claims deliveries that are due, for a time after which another process may claim them. Webhooks
// with few deliveries come first, so that those of one webhook do not keep others waiting.
func (db *Store) ClaimDeliveries(ctx context.Context, c Claims) (claims []Claim, err error) {
	busy, counts := make([]uuid.UUID, 0, len(c.Busy)), make([]int32, 0, len(c.Busy))
	for id, n := range c.Busy {
		busy, counts = append(busy, id), append(counts, int32(min(n, c.PerWebhook)))
	}
	// The first part steps through the webhooks in the index, so its cost does not depend on the number of deliveries.
	rows, err := db.pool.Query(ctx, `
		WITH RECURSIVE waiting (id) AS (
			(SELECT webhook_id FROM webhook_deliveries WHERE state = 'pending' ORDER BY webhook_id LIMIT 1)
			UNION ALL
			SELECT (SELECT d.webhook_id FROM webhook_deliveries d
				WHERE d.state = 'pending' AND d.webhook_id > waiting.id ORDER BY d.webhook_id LIMIT 1)
			FROM waiting WHERE waiting.id IS NOT NULL
		), due AS (
			SELECT d.workspace_id, d.webhook_id, d.id, COALESCE(b.n, 0) + row_number() OVER
				(PARTITION BY d.webhook_id ORDER BY d.next_attempt_at) AS place
			FROM webhooks h JOIN waiting ON waiting.id = h.id
			JOIN workspaces w ON w.id = h.workspace_id AND w.deleted_at IS NULL
			LEFT JOIN unnest($4::uuid[], $5::integer[]) b (id, n) ON b.id = h.id
			CROSS JOIN LATERAL (SELECT * FROM webhook_deliveries d WHERE d.webhook_id = h.id AND d.state = 'pending'
				AND d.next_attempt_at <= now() AND (d.claimed_until IS NULL OR d.claimed_until <= now())
				ORDER BY d.next_attempt_at LIMIT $2 - COALESCE(b.n, 0)) d
			WHERE h.enabled
		), chosen AS (
			SELECT d.workspace_id, d.webhook_id, d.id FROM webhook_deliveries d
			JOIN due USING (workspace_id, webhook_id, id)
			WHERE d.state = 'pending' AND d.next_attempt_at <= now() AND (d.claimed_until IS NULL OR d.claimed_until <= now())
			ORDER BY due.place, d.next_attempt_at LIMIT $1 FOR UPDATE OF d SKIP LOCKED
		)
		UPDATE webhook_deliveries d SET claimed_until = now() + $3
		FROM chosen c JOIN webhooks h ON h.id = c.webhook_id
		WHERE d.workspace_id = c.workspace_id AND d.webhook_id = c.webhook_id AND d.id = c.id
		RETURNING d.id, d.webhook_id, d.workspace_id, d.event_id, d.event_type, d.payload, d.attempts, h.url,
			CASE WHEN h.previous_until > now() THEN ARRAY[h.secret, h.previous_secret] ELSE ARRAY[h.secret] END,
			d.claimed_until`, c.Max, c.PerWebhook, c.For, busy, counts)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("claiming deliveries: %w", err))
	}
	claims, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c Claim, err error) {
		err = row.Scan(&c.ID, &c.Webhook, &c.Workspace, &c.EventID, &c.EventType, &c.Payload, &c.Attempts, &c.URL,
			&c.Secrets, &c.Until)
		return c, err
	})
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("claiming deliveries: %w", err))
	}
	return claims, nil
}

// Attempt is the outcome of an attempt to deliver.
type Attempt struct {
	State  State         // Pending: it is tried again
	Retry  time.Duration // from now, if it is tried again
	Status *int          // of the answer
	Error  *string
	// Disable is why the webhook has to be disabled; empty: it is not.
	Disable string
}

// FinishAttempt stores the outcome of an attempt, and ends the claim. It does nothing if the claim has expired and
// another process has claimed the delivery, or if the delivery was removed.
func (db *Store) FinishAttempt(ctx context.Context, c *Claim, a Attempt) error {
	return db.root.InTx(ctx, func(tx pgx.Tx) error {
		if a.Disable != "" {
			_, err := tx.Exec(ctx, `UPDATE webhooks SET enabled = false, disabled_reason = $2, updated_at = now()
				WHERE id = $1 AND enabled AND url = $3`, c.Webhook, a.Disable, c.URL)
			if err != nil {
				return fmt.Errorf("disabling a webhook: %w", err)
			}
		}
		_, err := tx.Exec(ctx, `UPDATE webhook_deliveries SET state = $5, attempts = attempts + 1, claimed_until = NULL,
			next_attempt_at = CASE WHEN $5 = 'pending' THEN now() + $6 ELSE next_attempt_at END,
			finished_at = CASE WHEN $5 = 'pending' THEN NULL ELSE now() END, last_status = $7, last_error = $8
			WHERE workspace_id = $1 AND webhook_id = $2 AND id = $3 AND claimed_until = $4`,
			c.Workspace, c.Webhook, c.ID, c.Until, string(a.State), a.Retry, a.Status, a.Error)
		if err != nil {
			return fmt.Errorf("storing the outcome of a delivery: %w", err)
		}
		return nil
	})
}

// ReleaseClaim ends the claim of a delivery that was not sent.
func (db *Store) ReleaseClaim(ctx context.Context, c *Claim) error {
	_, err := db.pool.Exec(ctx, `UPDATE webhook_deliveries SET claimed_until = NULL
		WHERE workspace_id = $1 AND webhook_id = $2 AND id = $3 AND claimed_until = $4`,
		c.Workspace, c.Webhook, c.ID, c.Until)
	if err != nil {
		return postgres.Classify(fmt.Errorf("releasing a delivery: %w", err))
	}
	return nil
}

// PruneDeliveries removes deliveries that finished more than age ago, that wait for longer than it because their
// webhook is disabled, and those of deleted webhooks: at most limit of each. It returns how many it removed.
func (db *Store) PruneDeliveries(ctx context.Context, age time.Duration, limit int) (removed int64, err error) {
	for _, which := range []string{
		`d.state <> 'pending' AND d.finished_at < now() - $1::interval`,
		`d.state = 'pending' AND d.created_at < now() - $1::interval
			AND d.webhook_id IN (SELECT h.id FROM webhooks h WHERE NOT h.enabled)`,
		`$1::interval IS NOT NULL AND NOT EXISTS (SELECT FROM webhooks h WHERE h.id = d.webhook_id)`,
	} {
		tag, err := db.pool.Exec(ctx, `DELETE FROM webhook_deliveries WHERE ctid = ANY (ARRAY(
			SELECT d.ctid FROM webhook_deliveries d WHERE `+which+` LIMIT $2 FOR UPDATE SKIP LOCKED))`, age, limit)
		if err != nil {
			return removed, postgres.Classify(fmt.Errorf("removing old deliveries: %w", err))
		}
		removed += tag.RowsAffected()
	}
	return removed, nil
}
