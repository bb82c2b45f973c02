package hooks

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// maxGroups is the maximum number of groups that Behind returns.
const maxGroups = 1_000

// Position is a place in the journal of a workspace. The events of the changes up to Sequence are queued, and the first
// Events events of the next change.
type Position struct{ Sequence, Events int64 }

// Behind is a group of webhooks of a workspace for which events of the same changes are not queued yet.
type Behind struct {
	Workspace uuid.UUID
	Position
	Head     int64       // sequence of the workspace's newest change
	Webhooks []uuid.UUID // that have room for events
	Types    []string    // of events, to which at least one of them is subscribed
}

// Behind returns groups of enabled webhooks for which changes of graphs are not queued yet, and whose queues have room.
func (db *Store) Behind(ctx context.Context) ([]Behind, error) {
	rows, err := db.pool.Query(ctx, `SELECT h.workspace_id, h.sequence, h.further_events, g.sequence,
			array_agg(DISTINCT h.id), array_agg(DISTINCT event)
		FROM webhooks h JOIN graph_heads g ON g.workspace_id = h.workspace_id AND g.sequence > h.sequence
		JOIN workspaces w ON w.id = h.workspace_id AND w.deleted_at IS NULL, unnest(h.events) event
		WHERE h.enabled AND h.events && $1 AND (SELECT count(*) FROM (SELECT FROM webhook_deliveries d
			WHERE d.webhook_id = h.id AND d.state = 'pending' LIMIT $2) p) < $2
		GROUP BY 1, 2, 3, 4 LIMIT $3`, graphEvents, resumePending, maxGroups)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("finding changes that are not queued: %w", err))
	}
	groups, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (b Behind, err error) {
		err = row.Scan(&b.Workspace, &b.Sequence, &b.Events, &b.Head, &b.Webhooks, &b.Types)
		return b, err
	})
	return groups, postgres.Classify(err)
}

// Advance queues events for the webhooks of a group that are still at its position, and moves these to next. A webhook
// whose queue has no room for all of its events stays. It returns the number of webhooks that moved.
func (db *Store) Advance(
	ctx context.Context, b *Behind, events []Event, next Position,
) (queued Queued, moved int, err error) {
	err = db.root.InTx(ctx, func(tx pgx.Tx) error {
		queued, moved = Queued{}, 0
		rows, err := tx.Query(ctx, `SELECT `+webhookColumns+` FROM webhooks
			WHERE workspace_id = $1 AND id = ANY ($2) AND enabled AND sequence = $3 AND further_events = $4
				AND EXISTS (SELECT FROM workspaces w WHERE w.id = $1 AND w.deleted_at IS NULL)
			ORDER BY id FOR NO KEY UPDATE`, b.Workspace, b.Webhooks, b.Sequence, b.Events)
		if err != nil {
			return fmt.Errorf("reading webhooks: %w", err)
		}
		webhooks, err := pgx.CollectRows(rows, scanWebhook)
		if err != nil {
			return fmt.Errorf("reading webhooks: %w", err)
		}
		var ids []uuid.UUID
		payloads := newPayloads(b.Workspace)
		for i := range webhooks {
			if selected := webhooks[i].selection(events); len(selected) > 0 {
				pending, err := countPending(ctx, tx, webhooks[i].ID)
				if err != nil {
					return err
				}
				if pending+len(selected) > MaxPendingChanges {
					continue
				}
				added, err := enqueue(ctx, tx, &webhooks[i], pending, selected, payloads)
				if err != nil {
					return err
				}
				queued.add(added)
			}
			ids = append(ids, webhooks[i].ID)
		}
		moved = len(ids)
		_, err = tx.Exec(ctx, `UPDATE webhooks SET sequence = $2, further_events = $3 WHERE id = ANY ($1)`, ids,
			next.Sequence, next.Events)
		if err != nil {
			return fmt.Errorf("storing the position of webhooks: %w", err)
		}
		return nil
	})
	return queued, moved, err
}
