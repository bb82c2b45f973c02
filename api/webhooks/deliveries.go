package webhooks

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/storage/postgres/hooks"
)

// delivery is the JSON form of a delivery.
type delivery struct {
	ID            uuid.UUID   `json:"id"`
	EventID       uuid.UUID   `json:"eventId"`
	EventType     string      `json:"eventType"`
	State         hooks.State `json:"state"`
	Attempts      int         `json:"attempts"`
	NextAttemptAt *time.Time  `json:"nextAttemptAt"` // null: none follows
	LastStatus    *int        `json:"lastStatus"`
	LastError     *string     `json:"lastError"`
	CreatedAt     time.Time   `json:"createdAt"`
	FinishedAt    *time.Time  `json:"finishedAt"`
}

func deliveryOf(d *hooks.Delivery) delivery {
	answer := delivery{
		ID: d.ID, EventID: d.EventID, EventType: d.EventType, State: d.State, Attempts: d.Attempts,
		LastStatus: d.LastStatus, LastError: d.LastError, CreatedAt: d.CreatedAt, FinishedAt: d.FinishedAt,
	}
	if d.State == hooks.Pending {
		answer.NextAttemptAt = &d.NextAttemptAt
	}
	return answer
}

func (a *api) deliveries(w http.ResponseWriter, r *http.Request) error {
	p := request.Query(r)
	state := p.OneOf("state", "", string(hooks.Pending), string(hooks.Delivered), string(hooks.Failed))
	limit, offset := p.Page()
	if err := p.Err(); err != nil {
		return err
	}
	id, err := request.PathID(r, "id", "webhook")
	if err != nil {
		return err
	}
	workspace := request.PrincipalOf(r.Context()).Workspace
	page, total, err := a.Store.Deliveries(r.Context(), workspace, id, hooks.State(state), limit, offset)
	if err != nil {
		return err
	}
	items := make([]delivery, len(page))
	for i := range page {
		items[i] = deliveryOf(&page[i])
	}
	reply.List(w, r, items, reply.PageMeta(total, limit, offset, len(items)))
	return nil
}

func (a *api) redeliver(w http.ResponseWriter, r *http.Request) error {
	workspace, id, err := webhookID(r)
	if err != nil {
		return err
	}
	deliveryID, err := request.PathID(r, "deliveryId", "delivery")
	if err != nil {
		return err
	}
	d, err := a.Store.Redeliver(r.Context(), workspace, id, deliveryID)
	if err != nil {
		return err
	}
	reply.Data(w, r, http.StatusAccepted, deliveryOf(&d))
	return nil
}
