package hooks

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

// MaxWebhooks is the maximum number of webhooks of a workspace.
const MaxWebhooks = 20

// PreviousSecretFor is how long the previous secret of a webhook signs, too, after a new one was created.
const PreviousSecretFor = 24 * time.Hour

// SecretPrefix is the prefix of secrets, as in the specification of Standard Webhooks.
const SecretPrefix = "whsec_"

const secretBytes = 32

// Webhook is an address to which events are sent.
type Webhook struct {
	ID        uuid.UUID
	Workspace uuid.UUID
	Name      string
	URL       string
	Events    []string // types
	Filters
	Enabled        bool
	DisabledReason *string // why the service disabled it
	Dropped        int64   // events that were not queued: too many were pending, or too large
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// Filters select events. An empty filter selects all. A filter of another kind of event does not apply.
type Filters struct {
	Labels        map[string]string // of alerts: each must have this value
	EntityTypes   []string          // of nodes
	RelationTypes []string          // of edges
	NodeIDs       []uuid.UUID       // of nodes, and of edges that begin or end at one of them
}

const webhookColumns = `id, workspace_id, name, url, events, labels, entity_types, relation_types, node_ids,
	enabled, disabled_reason, dropped, created_at, updated_at`

func scanWebhook(row pgx.CollectableRow) (w Webhook, err error) {
	err = row.Scan(&w.ID, &w.Workspace, &w.Name, &w.URL, &w.Events, &w.Labels, &w.EntityTypes, &w.RelationTypes,
		&w.NodeIDs, &w.Enabled, &w.DisabledReason, &w.Dropped, &w.CreatedAt, &w.UpdatedAt)
	w.CreatedAt, w.UpdatedAt = w.CreatedAt.UTC(), w.UpdatedAt.UTC()
	return w, err
}

func errNoWebhook() error { return fault.New(fault.NotFound, "No such webhook") }

// newSecret creates a secret.
func newSecret() string {
	random := make([]byte, secretBytes)
	_, _ = rand.Read(random) // never fails
	return SecretPrefix + base64.StdEncoding.EncodeToString(random)
}

// collectWebhook returns the webhook of a statement's only row.
func collectWebhook(rows pgx.Rows, err error) (Webhook, error) {
	if err != nil {
		return Webhook{}, err
	}
	w, err := pgx.CollectExactlyOneRow(rows, scanWebhook)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return w, errNoWebhook()
	case postgres.Violates(err, "webhooks_workspace_id_name_key"):
		return w, fault.New(fault.Conflict, "A webhook with this name exists").With("reason", "already_exists").
			With("field", "name")
	}
	return w, err
}

// CreateWebhook creates a webhook with a new secret. It returns the webhook as stored, and its secret.
func (db *Store) CreateWebhook(ctx context.Context, w *Webhook) (created Webhook, secret string, err error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Webhook{}, "", fmt.Errorf("creating an id: %w", err)
	}
	secret = newSecret()
	err = db.root.InTx(ctx, func(tx pgx.Tx) error {
		exists, err := access.LockWorkspace(ctx, tx, w.Workspace)
		if err != nil {
			return err
		}
		if !exists {
			return errNoWebhook()
		}
		var count int
		if err := tx.QueryRow(ctx, `SELECT count(*) FROM webhooks WHERE workspace_id = $1`, w.Workspace).
			Scan(&count); err != nil {
			return fmt.Errorf("counting webhooks: %w", err)
		}
		if count >= MaxWebhooks {
			return fault.Newf(fault.Invalid, "A workspace may have at most %d webhooks", MaxWebhooks).With("limit", MaxWebhooks)
		}
		created, err = collectWebhook(tx.Query(ctx, `INSERT INTO webhooks
			(id, workspace_id, name, url, events, labels, entity_types, relation_types, node_ids, enabled, secret, sequence)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, `+head("$2")+`) RETURNING `+webhookColumns,
			id, w.Workspace, w.Name, w.URL, w.Events, notNil(w.Labels), list(w.EntityTypes), list(w.RelationTypes),
			list(w.NodeIDs), w.Enabled, secret))
		if err != nil {
			return fmt.Errorf("storing a webhook: %w", err)
		}
		return nil
	})
	return created, secret, err
}

func notNil(labels map[string]string) map[string]string {
	if labels == nil {
		return map[string]string{}
	}
	return labels
}

// list returns a list that is stored as an array, also if it is empty.
func list[T any](values []T) []T { return append([]T{}, values...) }

// Webhooks returns the webhooks of a workspace in the order of their names.
func (db *Store) Webhooks(ctx context.Context, workspace uuid.UUID) ([]Webhook, error) {
	rows, err := db.pool.Query(ctx, `SELECT `+webhookColumns+` FROM webhooks WHERE workspace_id = $1 ORDER BY name, id`,
		workspace)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading webhooks: %w", err))
	}
	list, err := pgx.CollectRows(rows, scanWebhook)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading webhooks: %w", err))
	}
	return list, nil
}

// Webhook returns a webhook of a workspace. It returns a NotFound error if there is none with the id.
func (db *Store) Webhook(ctx context.Context, workspace, id uuid.UUID) (Webhook, error) {
	w, err := collectWebhook(db.pool.Query(ctx, `SELECT `+webhookColumns+` FROM webhooks
		WHERE workspace_id = $1 AND id = $2`, workspace, id))
	if err != nil {
		return w, postgres.Classify(fmt.Errorf("reading a webhook: %w", err))
	}
	return w, nil
}

// head returns the expression of the sequence of a workspace's newest change.
func head(workspace string) string {
	return `COALESCE((SELECT sequence FROM graph_heads WHERE workspace_id = ` + workspace + `), 0)`
}

// UpdateWebhook changes a webhook: it reads it, calls change, and stores what change set. The reason why the service
// disabled it is removed when it is enabled. A webhook that is enabled, or subscribed to changes of the graph, gets
// those that happen afterwards.
func (db *Store) UpdateWebhook(
	ctx context.Context, workspace, id uuid.UUID, change func(*Webhook) error,
) (updated Webhook, err error) {
	err = db.root.InTx(ctx, func(tx pgx.Tx) error {
		w, err := lockWebhook(ctx, tx, workspace, id)
		if err != nil {
			return err
		}
		followed := w.Enabled && w.followsGraph()
		if err := change(&w); err != nil {
			return err
		}
		restart := w.Enabled && w.followsGraph() && !followed
		updated, err = collectWebhook(tx.Query(ctx, `UPDATE webhooks SET name = $3, url = $4, events = $5, labels = $6,
			entity_types = $7, relation_types = $8, node_ids = $11, enabled = $9,
			disabled_reason = CASE WHEN $9 THEN NULL ELSE disabled_reason END, updated_at = now(),
			sequence = CASE WHEN $10 THEN `+head("$1")+` ELSE sequence END,
			further_events = CASE WHEN $10 THEN 0 ELSE further_events END
			WHERE workspace_id = $1 AND id = $2 RETURNING `+webhookColumns, workspace, id, w.Name, w.URL, w.Events,
			notNil(w.Labels), list(w.EntityTypes), list(w.RelationTypes), w.Enabled, restart, list(w.NodeIDs)))
		if err != nil {
			return fmt.Errorf("storing a webhook: %w", err)
		}
		return nil
	})
	return updated, err
}

// RollSecret replaces the secret of a webhook and returns the new one. Deliveries are signed with both for
// PreviousSecretFor.
func (db *Store) RollSecret(ctx context.Context, workspace, id uuid.UUID) (w Webhook, secret string, err error) {
	secret = newSecret()
	w, err = collectWebhook(db.pool.Query(ctx, `UPDATE webhooks SET secret = $3, previous_secret = secret,
		previous_until = now() + $4, updated_at = now()
		WHERE workspace_id = $1 AND id = $2 RETURNING `+webhookColumns, workspace, id, secret, PreviousSecretFor))
	if err != nil {
		return w, "", postgres.Classify(fmt.Errorf("storing a webhook's secret: %w", err))
	}
	return w, secret, nil
}

// DeleteWebhook deletes a webhook. Its deliveries are no longer sent. It returns a NotFound error if there is none.
func (db *Store) DeleteWebhook(ctx context.Context, workspace, id uuid.UUID) error {
	tag, err := db.pool.Exec(ctx, `DELETE FROM webhooks WHERE workspace_id = $1 AND id = $2`, workspace, id)
	if err != nil {
		return postgres.Classify(fmt.Errorf("deleting a webhook: %w", err))
	}
	if tag.RowsAffected() == 0 {
		return errNoWebhook()
	}
	return nil
}
