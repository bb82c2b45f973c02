package hooks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Types of events.
const (
	AlertFiring   = "alert.firing"
	AlertResolved = "alert.resolved"
	NodeCreated   = "node.created"
	NodeUpdated   = "node.updated"
	NodeDeleted   = "node.deleted"
	EdgeCreated   = "edge.created"
	EdgeUpdated   = "edge.updated"
	EdgeDeleted   = "edge.deleted"
	KeyCreated    = "key.created"
	KeyRevoked    = "key.revoked"
	PointsDead    = "points.dead"   // records of points that cannot be stored
	CommandsDead  = "commands.dead" // commands that cannot be decided
	Test          = "webhook.test"  // sent on request; nothing subscribes to it
)

// graphEvents are the types of events of graphs.
var graphEvents = []string{NodeCreated, NodeUpdated, NodeDeleted, EdgeCreated, EdgeUpdated, EdgeDeleted}

// EventTypes returns the types of events to which a webhook can be subscribed.
func EventTypes() []string {
	return append([]string{AlertFiring, AlertResolved, KeyCreated, KeyRevoked, PointsDead, CommandsDead}, graphEvents...)
}

// Limits of the queue.
const (
	MaxPayload = 256 << 10 // bytes
	MaxPending = 10_000    // deliveries of a webhook
	// MaxPendingChanges is the number of pending deliveries up to which events of graphs are queued. Further ones wait in
	// the journal until fewer than resumePending are pending. The rest of the queue is for alerts.
	MaxPendingChanges = 8_000
	resumePending     = 4_000
)

// insertRows is the number of deliveries of one statement. Their payloads are in memory at the same time.
const insertRows = 500

// Event is an event of a workspace. Its id is the same whenever the same event is queued.
type Event struct {
	ID   uuid.UUID
	Type string
	Time time.Time
	Data any // encoded as JSON
	// What filters apply to: the labels of an alert, the type of a node, the type of an edge, the nodes of a change.
	Labels       map[string]string
	EntityType   string
	RelationType string
	Nodes        []uuid.UUID // the node; the ends of an edge
}

// body is the JSON form of an event.
type body struct {
	ID          uuid.UUID `json:"id"`
	Type        string    `json:"type"`
	Timestamp   time.Time `json:"timestamp"`
	WorkspaceID uuid.UUID `json:"workspaceId"`
	Data        any       `json:"data"`
}

// Queued counts what Enqueue did.
type Queued struct {
	Deliveries int // that are queued now; not those that were queued before
	Dropped    int // not queued: too many were pending, or the payload was too large
}

func (q *Queued) add(other Queued) {
	q.Deliveries, q.Dropped = q.Deliveries+other.Deliveries, q.Dropped+other.Dropped
}

// encoded is an event with its payload.
type encoded struct {
	*Event
	payload string
}

// Enqueue queues a delivery of each event for each enabled webhook of the workspace that selects it. An event that a
// webhook has already is not queued again. The webhooks are locked until the transaction ends.
func (db *Store) Enqueue(ctx context.Context, tx pgx.Tx, workspace uuid.UUID, events []Event) (Queued, error) {
	types := map[string]struct{}{}
	var distinct []string
	for i := range events {
		if _, seen := types[events[i].Type]; !seen {
			types[events[i].Type] = struct{}{}
			distinct = append(distinct, events[i].Type)
		}
	}
	rows, err := tx.Query(ctx, `SELECT `+webhookColumns+` FROM webhooks
		WHERE workspace_id = $1 AND enabled AND events && $2
			AND EXISTS (SELECT FROM workspaces w WHERE w.id = $1 AND w.deleted_at IS NULL)
		ORDER BY id FOR NO KEY UPDATE`, workspace, distinct)
	if err != nil {
		return Queued{}, fmt.Errorf("reading webhooks: %w", err)
	}
	webhooks, err := pgx.CollectRows(rows, scanWebhook)
	if err != nil {
		return Queued{}, fmt.Errorf("reading webhooks: %w", err)
	}
	var total Queued
	payloads := newPayloads(workspace)
	for i := range webhooks {
		selected := webhooks[i].selection(events)
		if len(selected) == 0 {
			continue
		}
		pending, err := countPending(ctx, tx, webhooks[i].ID)
		if err != nil {
			return Queued{}, err
		}
		queued, err := enqueue(ctx, tx, &webhooks[i], pending, selected, payloads)
		if err != nil {
			return Queued{}, err
		}
		total.add(queued)
	}
	return total, nil
}

// EnqueueTest queues an event for one webhook, whatever it selects. It returns the delivery.
func (db *Store) EnqueueTest(ctx context.Context, workspace, webhook uuid.UUID, event *Event) (d Delivery, err error) {
	err = db.root.InTx(ctx, func(tx pgx.Tx) error {
		w, err := lockEnabled(ctx, tx, workspace, webhook)
		if err != nil {
			return err
		}
		pending, err := countPending(ctx, tx, w.ID)
		if err != nil {
			return err
		}
		queued, err := enqueue(ctx, tx, &w, pending, []*Event{event}, newPayloads(workspace))
		if err == nil && queued.Deliveries == 0 {
			err = fault.Newf(fault.Conflict, "The webhook has %d pending deliveries, more are not queued", MaxPending)
		}
		if err != nil {
			return err
		}
		d, err = collectDelivery(tx.Query(ctx, `SELECT `+deliveryColumns+` FROM webhook_deliveries
			WHERE webhook_id = $1 AND event_id = $2`, webhook, event.ID))
		if err != nil {
			return fmt.Errorf("reading a delivery: %w", err)
		}
		return nil
	})
	return d, err
}

// lockEnabled reads a webhook and locks it until the transaction ends. It returns a Conflict error if the webhook is
// disabled.
func lockEnabled(ctx context.Context, tx pgx.Tx, workspace, id uuid.UUID) (Webhook, error) {
	w, err := lockWebhook(ctx, tx, workspace, id)
	if err == nil && !w.Enabled {
		err = fault.New(fault.Conflict, "The webhook is disabled")
	}
	return w, err
}

func lockWebhook(ctx context.Context, tx pgx.Tx, workspace, id uuid.UUID) (Webhook, error) {
	w, err := collectWebhook(tx.Query(ctx, `SELECT `+webhookColumns+` FROM webhooks
		WHERE workspace_id = $1 AND id = $2 FOR NO KEY UPDATE`, workspace, id))
	if err != nil {
		return w, fmt.Errorf("reading a webhook: %w", err)
	}
	return w, nil
}

// followsGraph reports whether the webhook is subscribed to changes of the graph.
func (w *Webhook) followsGraph() bool {
	return slices.ContainsFunc(w.Events, func(event string) bool { return slices.Contains(graphEvents, event) })
}

// selection returns the events that the webhook gets.
func (w *Webhook) selection(events []Event) (selected []*Event) {
	for i := range events {
		if w.selects(&events[i]) {
			selected = append(selected, &events[i])
		}
	}
	return selected
}

// selects reports whether the webhook gets an event.
func (w *Webhook) selects(e *Event) bool {
	if !slices.Contains(w.Events, e.Type) {
		return false
	}
	switch e.Type {
	case AlertFiring, AlertResolved:
		for name, value := range w.Labels {
			if e.Labels[name] != value {
				return false
			}
		}
		return true
	case NodeCreated, NodeUpdated, NodeDeleted:
		return (len(w.EntityTypes) == 0 || slices.Contains(w.EntityTypes, e.EntityType)) && w.selectsNodes(e)
	case EdgeCreated, EdgeUpdated, EdgeDeleted:
		return (len(w.RelationTypes) == 0 || slices.Contains(w.RelationTypes, e.RelationType)) && w.selectsNodes(e)
	}
	return true
}

func (w *Webhook) selectsNodes(e *Event) bool {
	return len(w.NodeIDs) == 0 ||
		slices.ContainsFunc(e.Nodes, func(id uuid.UUID) bool { return slices.Contains(w.NodeIDs, id) })
}

// enqueue queues deliveries of events for a webhook, which is locked and has a number of pending deliveries.
func enqueue(
	ctx context.Context, tx pgx.Tx, w *Webhook, pending int, events []*Event, payloads *payloads,
) (Queued, error) {
	ids := make([]uuid.UUID, len(events))
	for i, e := range events {
		ids[i] = e.ID
	}
	rows, err := tx.Query(ctx, `SELECT event_id FROM webhook_deliveries WHERE webhook_id = $1 AND event_id = ANY ($2)`,
		w.ID, ids)
	if err != nil {
		return Queued{}, fmt.Errorf("reading queued events: %w", err)
	}
	known, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return Queued{}, fmt.Errorf("reading queued events: %w", err)
	}
	seen := make(map[uuid.UUID]struct{}, len(known)+len(events))
	for _, id := range known {
		seen[id] = struct{}{}
	}
	var queued Queued
	var chosen []encoded
	for _, e := range events {
		if _, exists := seen[e.ID]; exists {
			continue
		}
		seen[e.ID] = struct{}{}
		payload, err := payloads.of(e)
		if err != nil {
			return Queued{}, err
		}
		if len(payload) > MaxPayload || pending+len(chosen) >= MaxPending {
			queued.Dropped++
			continue
		}
		chosen = append(chosen, encoded{e, payload})
	}
	queued.Deliveries = len(chosen)
	for part := range slices.Chunk(chosen, insertRows) {
		if err := insert(ctx, tx, w, part); err != nil {
			return Queued{}, err
		}
	}
	if queued.Dropped > 0 {
		_, err := tx.Exec(ctx, `UPDATE webhooks SET dropped = dropped + $2 WHERE id = $1`, w.ID, queued.Dropped)
		if err != nil {
			return Queued{}, fmt.Errorf("counting events that are not queued: %w", err)
		}
	}
	return queued, nil
}

// countPending counts the pending deliveries of a webhook, up to MaxPending.
func countPending(ctx context.Context, tx pgx.Tx, webhook uuid.UUID) (pending int, err error) {
	err = tx.QueryRow(ctx, `SELECT count(*) FROM (SELECT FROM webhook_deliveries
		WHERE webhook_id = $1 AND state = 'pending' LIMIT $2) p`, webhook, MaxPending).Scan(&pending)
	if err != nil {
		return 0, fmt.Errorf("counting pending deliveries: %w", err)
	}
	return pending, nil
}

// insert inserts deliveries of a webhook.
func insert(ctx context.Context, tx pgx.Tx, w *Webhook, events []encoded) error {
	ids, eventIDs := make([]uuid.UUID, len(events)), make([]uuid.UUID, len(events))
	types, bodies := make([]string, len(events)), make([]string, len(events))
	for i, e := range events {
		id, err := uuid.NewV7()
		if err != nil {
			return fmt.Errorf("creating an id: %w", err)
		}
		ids[i], eventIDs[i], types[i], bodies[i] = id, e.ID, e.Type, e.payload
	}
	_, err := tx.Exec(ctx, `INSERT INTO webhook_deliveries (webhook_id, workspace_id, id, event_id, event_type, payload)
		SELECT $1, $2, u.* FROM unnest($3::uuid[], $4::uuid[], $5::text[], $6::text[]) u
		ON CONFLICT (webhook_id, event_id) DO NOTHING`, w.ID, w.Workspace, ids, eventIDs, types, bodies)
	if err != nil {
		return fmt.Errorf("queueing deliveries: %w", err)
	}
	return nil
}

// payloads encodes events, each once for all webhooks.
type payloads struct {
	workspace uuid.UUID
	done      map[uuid.UUID]string
}

func newPayloads(workspace uuid.UUID) *payloads { return &payloads{workspace, map[uuid.UUID]string{}} }

func (p *payloads) of(e *Event) (string, error) {
	if text, ok := p.done[e.ID]; ok {
		return text, nil
	}
	text, err := json.Marshal(body{
		ID: e.ID, Type: e.Type, Timestamp: e.Time.UTC(), WorkspaceID: p.workspace, Data: e.Data,
	})
	if err != nil {
		return "", fmt.Errorf("encoding event %s: %w", e.ID, err)
	}
	p.done[e.ID] = string(text)
	return p.done[e.ID], nil
}
