package webhooks

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/livegraph/livegraph/storage/postgres/alerting"
	"github.com/livegraph/livegraph/storage/postgres/hooks"
)

// alertData is the data of an event of an alert.
type alertData struct {
	Alertname   string            `json:"alertname"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Value       string            `json:"value"` // a text as in the API of Prometheus: it may be NaN or infinite
	ActiveAt    time.Time         `json:"activeAt"`
	FiredAt     time.Time         `json:"firedAt"`
	ResolvedAt  *time.Time        `json:"resolvedAt,omitempty"`
	File        string            `json:"file"`
	Group       string            `json:"group"`
}

// NotifyAlerts queues the events of alerts that fire and of alerts that are resolved, in the transaction that records
// them.
func (q *Queue) NotifyAlerts(
	ctx context.Context, tx pgx.Tx, workspace uuid.UUID, fired, resolved []alerting.Alert,
) error {
	events := make([]hooks.Event, 0, len(fired)+len(resolved))
	for i := range fired {
		events = append(events, alertEvent(workspace, &fired[i], nil))
	}
	now := time.Now().UTC()
	for i := range resolved {
		events = append(events, alertEvent(workspace, &resolved[i], &now))
	}
	return q.enqueue(ctx, tx, workspace, events)
}

func alertEvent(workspace uuid.UUID, a *alerting.Alert, resolvedAt *time.Time) hooks.Event {
	kind, at := hooks.AlertFiring, a.FiredAt
	if resolvedAt != nil {
		kind, at = hooks.AlertResolved, *resolvedAt
	}
	return hooks.Event{
		ID:   hooks.EventID(workspace, a.File, a.Group, a.Fingerprint, a.FiredAt.UnixMicro(), kind),
		Type: kind, Time: at, Labels: a.Labels, Data: alertData{
			Alertname: a.Labels[labels.AlertName], Labels: a.Labels, Annotations: a.Annotations,
			Value: strconv.FormatFloat(a.Value, 'f', -1, 64), ActiveAt: a.ActiveAt, FiredAt: a.FiredAt,
			ResolvedAt: resolvedAt, File: a.File, Group: a.Group,
		},
	}
}
