package livegraph

import (
	"context"
	"iter"
)

// Webhooks are addresses to which events of the workspace are sent. All methods require the scope admin.
type Webhooks struct{ t *transport }

// Create creates a webhook for the events that occur from now on, and returns it with its secret. The error is
// [ErrConflict] if the name exists. The request is not repeated if the server may have executed it.
func (w *Webhooks) Create(ctx context.Context, webhook NewWebhook) (*WebhookWithSecret, error) {
	r, err := createWebhook.withBody(webhook)
	if err != nil {
		return nil, err
	}
	r.Once = true
	return fetch[*WebhookWithSecret](ctx, w.t, r)
}

// Get returns a webhook, without its secret.
func (w *Webhooks) Get(ctx context.Context, id string) (*Webhook, error) {
	return fetch[*Webhook](ctx, w.t, getWebhook.request(id))
}

// List returns a page of the webhooks by name.
func (w *Webhooks) List(ctx context.Context, paging Paging) (*Page[Webhook], error) {
	return fetchPage[Webhook](ctx, w.t, listWebhooks.withQuery(paging.values(nil)))
}

// All iterates over all webhooks by name.
func (w *Webhooks) All(ctx context.Context) iter.Seq2[Webhook, error] {
	return pages[Webhook](ctx, w.t, listWebhooks.request())
}

// Update changes a webhook and returns it.
func (w *Webhooks) Update(ctx context.Context, id string, changes WebhookPatch) (*Webhook, error) {
	r, err := patchWebhook.withBody(changes, id)
	if err != nil {
		return nil, err
	}
	return fetch[*Webhook](ctx, w.t, r)
}

// Delete deletes a webhook with its deliveries. The error is [ErrNotFound] if it does not exist; after a connection
// that broke, this may be the result of the repeated request.
func (w *Webhooks) Delete(ctx context.Context, id string) error {
	return execute(ctx, w.t, deleteWebhook.request(id))
}

// RollSecret returns the webhook with a new secret. For 24 hours requests have the signatures of both secrets. The
// request is not repeated if the server may have executed it.
func (w *Webhooks) RollSecret(ctx context.Context, id string) (*WebhookWithSecret, error) {
	r := rollWebhookSecret.request(id)
	r.Once = true
	return fetch[*WebhookWithSecret](ctx, w.t, r)
}

// Test sends an event webhook.test, and returns its delivery. The error is [ErrConflict] if the webhook is disabled,
// or its queue is full. The request is not repeated if the server may have executed it.
func (w *Webhooks) Test(ctx context.Context, id string) (*WebhookDelivery, error) {
	r := testWebhook.request(id)
	r.Once = true
	return fetch[*WebhookDelivery](ctx, w.t, r)
}

// Deliveries returns a page of the deliveries of a webhook in a state, or of all if it is "", newest first.
func (w *Webhooks) Deliveries(
	ctx context.Context, id string, state WebhookDeliveryState, paging Paging,
) (*Page[WebhookDelivery], error) {
	query := paging.values(textQuery("state", state))
	return fetchPage[WebhookDelivery](ctx, w.t, listWebhookDeliveries.withQuery(query, id))
}

// AllDeliveries iterates over the deliveries of a webhook in a state, or all if it is "", newest first.
func (w *Webhooks) AllDeliveries(
	ctx context.Context, id string, state WebhookDeliveryState,
) iter.Seq2[WebhookDelivery, error] {
	return pages[WebhookDelivery](ctx, w.t, listWebhookDeliveries.withQuery(textQuery("state", state), id))
}

// Redeliver sends a delivery again, in whatever state it is. The receiver gets the same webhook-id. The error is
// [ErrConflict] if the webhook is disabled. The request is not repeated if the server may have executed it.
func (w *Webhooks) Redeliver(ctx context.Context, id, deliveryID string) (*WebhookDelivery, error) {
	r := redeliverWebhook.request(id, deliveryID)
	r.Once = true
	return fetch[*WebhookDelivery](ctx, w.t, r)
}
