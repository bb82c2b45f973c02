package webhooks_test

import (
	"context"
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/webhooks"
	"github.com/livegraph/livegraph/storage/postgres/alerting"
	"github.com/livegraph/livegraph/storage/postgres/hooks"
	"github.com/livegraph/livegraph/test/pgtest"
)

// alertBody is the body of an event of an alert.
type alertBody struct {
	ID, Type string
	Data     struct {
		Alertname, Value, File, Group string
		Labels, Annotations           map[string]string
		FiredAt                       time.Time
		ResolvedAt                    *time.Time
	}
}

func TestEachChangeOfAnAlertIsOneEvent(t *testing.T) {
	f := newFixture(t)
	queue := webhooks.NewQueue(f.db, nil)
	webhook, _, err := f.db.CreateWebhook(t.Context(), &hooks.Webhook{
		Workspace: f.workspace, Name: "w", URL: "https://hooks.example.com", Enabled: true,
		Events:  []string{hooks.AlertFiring, hooks.AlertResolved},
		Filters: hooks.Filters{Labels: map[string]string{"severity": "page"}},
	})
	require.NoError(t, err)
	record := func(workspace uuid.UUID, fired, resolved []alerting.Alert) {
		t.Helper()
		require.NoError(t, f.db.RecordAlerts(t.Context(), workspace, fired, resolved,
			func(ctx context.Context, tx pgx.Tx, fired, resolved []alerting.Alert) error {
				return queue.NotifyAlerts(ctx, tx, workspace, fired, resolved)
			}))
	}
	alert := func(fingerprint uint64, severity string) alerting.Alert {
		return alerting.Alert{
			File: "f.yml", Group: "g", Fingerprint: fingerprint, Value: math.NaN(),
			Labels:      map[string]string{"alertname": "Hot", "severity": severity},
			Annotations: map[string]string{"summary": "it is hot"}, ActiveAt: time.Now(), FiredAt: time.Now(),
		}
	}
	page, info := alert(1, "page"), alert(2, "info")
	both := []alerting.Alert{page, info}
	record(f.workspace, both, nil)
	record(f.workspace, both, nil) // as another process would
	record(pgtest.Workspace(t, f.db, "live").ID, both, nil)
	record(f.workspace, nil, both)
	again := page
	again.FiredAt = again.FiredAt.Add(time.Minute)
	record(f.workspace, []alerting.Alert{again}, nil)

	rows, err := f.db.Pool().Query(t.Context(), `SELECT payload FROM webhook_deliveries WHERE webhook_id = $1 ORDER BY id`,
		webhook.ID)
	require.NoError(t, err)
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Len(t, texts, 3)
	ids := map[string]bool{}
	for i, kind := range []string{hooks.AlertFiring, hooks.AlertResolved, hooks.AlertFiring} {
		var body alertBody
		require.NoError(t, json.Unmarshal([]byte(texts[i]), &body))
		require.Equal(t, kind, body.Type)
		require.Equal(t, "Hot", body.Data.Alertname)
		require.Equal(t, "NaN", body.Data.Value)
		require.Equal(t, "f.yml", body.Data.File)
		require.Equal(t, "g", body.Data.Group)
		require.Equal(t, page.Labels, body.Data.Labels)
		require.Equal(t, page.Annotations, body.Data.Annotations)
		require.Equal(t, kind == hooks.AlertResolved, body.Data.ResolvedAt != nil)
		ids[body.ID] = true
	}
	require.Len(t, ids, 3)
}
