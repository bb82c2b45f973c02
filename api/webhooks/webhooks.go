// Package webhooks serves the webhooks of a workspace and their deliveries.
package webhooks

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/hooks"
)

// store has the webhooks; see storage/postgres/hooks.
type store interface {
	CreateWebhook(ctx context.Context, w *hooks.Webhook) (created hooks.Webhook, secret string, err error)
	Webhooks(ctx context.Context, workspace uuid.UUID) ([]hooks.Webhook, error)
	Webhook(ctx context.Context, workspace, id uuid.UUID) (hooks.Webhook, error)
	UpdateWebhook(
		ctx context.Context, workspace, id uuid.UUID, change func(*hooks.Webhook) error,
	) (hooks.Webhook, error)
	DeleteWebhook(ctx context.Context, workspace, id uuid.UUID) error
	RollSecret(ctx context.Context, workspace, id uuid.UUID) (w hooks.Webhook, secret string, err error)
	EnqueueTest(ctx context.Context, workspace, webhook uuid.UUID, event *hooks.Event) (hooks.Delivery, error)
	Deliveries(
		ctx context.Context, workspace, webhook uuid.UUID, state hooks.State, limit, offset int,
	) (page []hooks.Delivery, total int64, err error)
	Redeliver(ctx context.Context, workspace, webhook, id uuid.UUID) (hooks.Delivery, error)
}

// Deps are the dependencies of the routes.
type Deps struct {
	Store store
	// CheckURL returns why no request may be sent to a URL, nil if one may.
	CheckURL func(address string) error
}

type api struct{ Deps }

const (
	webhooksPath   = "/api/webhooks"
	webhookPath    = webhooksPath + "/{id}"
	rollPath       = webhookPath + "/roll-secret"
	testPath       = webhookPath + "/test"
	deliveriesPath = webhookPath + "/deliveries"
	redeliverPath  = deliveriesPath + "/{deliveryId}/redeliver"
)

// Routes returns the group's routes.
func Routes(deps Deps) []route.Route {
	a := &api{deps}
	admin := []request.Scope{request.Admin}
	return []route.Route{
		{Method: http.MethodGet, Pattern: webhooksPath, Scopes: admin, Handle: a.list},
		{Method: http.MethodPost, Pattern: webhooksPath, Scopes: admin, Handle: a.create},
		{Method: http.MethodGet, Pattern: webhookPath, Scopes: admin, Handle: a.get},
		{Method: http.MethodPatch, Pattern: webhookPath, Scopes: admin, Handle: a.patch},
		{Method: http.MethodDelete, Pattern: webhookPath, Scopes: admin, Handle: a.delete},
		{Method: http.MethodPost, Pattern: rollPath, Scopes: admin, Handle: a.rollSecret},
		{Method: http.MethodPost, Pattern: testPath, Scopes: admin, Handle: a.test},
		{Method: http.MethodGet, Pattern: deliveriesPath, Scopes: admin, Handle: a.deliveries},
		{Method: http.MethodPost, Pattern: redeliverPath, Scopes: admin, Handle: a.redeliver},
	}
}

// webhook is the JSON form of a webhook.
type webhook struct {
	ID             uuid.UUID         `json:"id"`
	Name           string            `json:"name"`
	URL            string            `json:"url"`
	Events         []string          `json:"events"`
	Labels         map[string]string `json:"labels"`
	EntityTypes    []string          `json:"entityTypes"`
	RelationTypes  []string          `json:"relationTypes"`
	NodeIDs        []uuid.UUID       `json:"nodeIds"`
	Enabled        bool              `json:"enabled"`
	DisabledReason *string           `json:"disabledReason"`
	Dropped        int64             `json:"dropped"`
	CreatedAt      time.Time         `json:"createdAt"`
	UpdatedAt      time.Time         `json:"updatedAt"`
}

// webhookWithSecret is the JSON form of a webhook with its new secret.
type webhookWithSecret struct {
	webhook
	Secret string `json:"secret"`
}

func webhookOf(w *hooks.Webhook) webhook {
	return webhook{
		ID: w.ID, Name: w.Name, URL: w.URL, Events: w.Events, Labels: w.Labels, EntityTypes: w.EntityTypes,
		RelationTypes: w.RelationTypes, NodeIDs: w.NodeIDs, Enabled: w.Enabled, DisabledReason: w.DisabledReason,
		Dropped: w.Dropped, CreatedAt: w.CreatedAt, UpdatedAt: w.UpdatedAt,
	}
}

func (a *api) list(w http.ResponseWriter, r *http.Request) error {
	p := request.Query(r)
	limit, offset := p.Page()
	if err := p.Err(); err != nil {
		return err
	}
	all, err := a.Store.Webhooks(r.Context(), request.PrincipalOf(r.Context()).Workspace)
	if err != nil {
		return err
	}
	page := reply.PageOf(all, limit, offset)
	items := make([]webhook, len(page))
	for i := range page {
		items[i] = webhookOf(&page[i])
	}
	reply.List(w, r, items, reply.PageMeta(int64(len(all)), limit, offset, len(items)))
	return nil
}

func (a *api) create(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	var body newWebhook
	if err := request.JSON(r, &body); err != nil {
		return err
	}
	wanted, err := body.webhook(a.CheckURL)
	if err != nil {
		return err
	}
	wanted.Workspace = request.PrincipalOf(r.Context()).Workspace
	created, secret, err := a.Store.CreateWebhook(r.Context(), &wanted)
	if err != nil {
		return err
	}
	request.NotesOf(r.Context()).AddResult(created.ID.String())
	w.Header().Set("Location", webhooksPath+"/"+created.ID.String())
	reply.Data(w, r, http.StatusCreated, webhookWithSecret{webhookOf(&created), secret})
	return nil
}

func (a *api) get(w http.ResponseWriter, r *http.Request) error {
	workspace, id, err := webhookID(r)
	if err != nil {
		return err
	}
	stored, err := a.Store.Webhook(r.Context(), workspace, id)
	if err != nil {
		return err
	}
	reply.Resource(w, r, webhookOf(&stored))
	return nil
}

func (a *api) patch(w http.ResponseWriter, r *http.Request) error {
	workspace, id, err := pathIDs(r)
	if err != nil {
		return err
	}
	var body webhookPatch
	if err := request.JSON(r, &body); err != nil {
		return err
	}
	updated, err := a.Store.UpdateWebhook(r.Context(), workspace, id, func(stored *hooks.Webhook) error {
		return body.apply(stored, a.CheckURL)
	})
	if err != nil {
		return err
	}
	reply.Data(w, r, http.StatusOK, webhookOf(&updated))
	return nil
}

func (a *api) delete(w http.ResponseWriter, r *http.Request) error {
	workspace, id, err := webhookID(r)
	if err != nil {
		return err
	}
	if err := a.Store.DeleteWebhook(r.Context(), workspace, id); err != nil {
		return err
	}
	reply.NoContent(w)
	return nil
}

func (a *api) rollSecret(w http.ResponseWriter, r *http.Request) error {
	workspace, id, err := webhookID(r)
	if err != nil {
		return err
	}
	rolled, secret, err := a.Store.RollSecret(r.Context(), workspace, id)
	if err != nil {
		return err
	}
	reply.Data(w, r, http.StatusOK, webhookWithSecret{webhookOf(&rolled), secret})
	return nil
}

// webhookID returns the workspace and the webhook of a request without a body.
func webhookID(r *http.Request) (workspace, id uuid.UUID, err error) {
	if err := request.NoInput(r); err != nil {
		return workspace, id, err
	}
	return pathIDs(r)
}

func pathIDs(r *http.Request) (workspace, id uuid.UUID, err error) {
	if err := request.Query(r).Err(); err != nil {
		return workspace, id, err
	}
	id, err = request.PathID(r, "id", "webhook")
	return request.PrincipalOf(r.Context()).Workspace, id, err
}

// testData is the data of an event that a test sends.
type testData struct {
	WebhookID uuid.UUID `json:"webhookId"`
}

func (a *api) test(w http.ResponseWriter, r *http.Request) error {
	workspace, id, err := webhookID(r)
	if err != nil {
		return err
	}
	event, err := uuid.NewV7()
	if err != nil {
		return fault.Wrap(err, fault.Internal, "No id can be created")
	}
	d, err := a.Store.EnqueueTest(r.Context(), workspace, id, &hooks.Event{
		ID: event, Type: hooks.Test, Time: time.Now(), Data: testData{id},
	})
	if err != nil {
		return err
	}
	reply.Data(w, r, http.StatusAccepted, deliveryOf(&d))
	return nil
}
