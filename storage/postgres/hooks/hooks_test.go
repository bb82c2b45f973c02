package hooks_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/hooks"
	"github.com/livegraph/livegraph/test/pgtest"
)

type fixture struct {
	*testing.T
	db        *pgtest.DB
	workspace uuid.UUID
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	db := pgtest.Open(t)
	return &fixture{t, db, pgtest.Workspace(t, db, "live").ID}
}

func (f *fixture) create(name string, events []string, filters hooks.Filters) hooks.Webhook {
	f.Helper()
	w, secret, err := f.db.CreateWebhook(f.Context(), &hooks.Webhook{
		Workspace: f.workspace, Name: name, URL: "https://hooks.example.com/" + name, Events: events, Filters: filters,
		Enabled: true,
	})
	require.NoError(f, err)
	require.True(f, strings.HasPrefix(secret, hooks.SecretPrefix))
	return w
}

func (f *fixture) enqueue(workspace uuid.UUID, events ...hooks.Event) (queued hooks.Queued) {
	f.Helper()
	require.NoError(f, f.db.InTx(f.Context(), func(tx pgx.Tx) (err error) {
		queued, err = f.db.Enqueue(f.Context(), tx, workspace, events)
		return err
	}))
	return queued
}

func (f *fixture) claim(c hooks.Claims) []hooks.Claim {
	f.Helper()
	c.For = time.Minute
	claims, err := f.db.ClaimDeliveries(f.Context(), c)
	require.NoError(f, err)
	return claims
}

func (f *fixture) exec(sql string, args ...any) {
	f.Helper()
	_, err := f.db.Pool().Exec(f.Context(), sql, args...)
	require.NoError(f, err)
}

// eventTypes returns the types of the deliveries of a webhook, in order.
func (f *fixture) eventTypes(webhook uuid.UUID) (types []string) {
	f.Helper()
	page, total, err := f.db.Deliveries(f.Context(), f.workspace, webhook, "", 100, 0)
	require.NoError(f, err)
	require.Len(f, page, int(total))
	for i := range page {
		types = append(types, page[i].EventType)
	}
	slices.Sort(types)
	return types
}

func event(kind string) hooks.Event {
	return hooks.Event{ID: uuid.New(), Type: kind, Time: time.Now(), Data: map[string]string{"a": "b"}}
}

func TestEventsAreQueuedOnceForWebhooksThatSelectThem(t *testing.T) {
	f := newFixture(t)
	all := f.create("all", hooks.EventTypes(), hooks.Filters{})
	filtered := f.create("filtered", hooks.EventTypes(), hooks.Filters{
		Labels: map[string]string{"severity": "page"}, EntityTypes: []string{"actor"}, RelationTypes: []string{"feeds"},
	})
	nodes := f.create("nodes", []string{hooks.NodeCreated}, hooks.Filters{Labels: map[string]string{"x": "y"}})
	one := uuid.New()
	single := f.create("single", hooks.EventTypes(), hooks.Filters{NodeIDs: []uuid.UUID{one, uuid.New()}})
	require.Equal(t, one, single.NodeIDs[0])
	disabled := f.create("disabled", hooks.EventTypes(), hooks.Filters{})
	_, err := f.db.UpdateWebhook(t.Context(), f.workspace, disabled.ID, func(w *hooks.Webhook) error {
		w.Enabled = false
		return nil
	})
	require.NoError(t, err)

	firing, other, resolved := event(hooks.AlertFiring), event(hooks.AlertFiring), event(hooks.AlertResolved)
	firing.Labels = map[string]string{"severity": "page", "alertname": "Hot"}
	other.Labels = map[string]string{"severity": "info"}
	actor, object := event(hooks.NodeCreated), event(hooks.NodeCreated)
	actor.EntityType, object.EntityType = "actor", "object"
	feeds, owns := event(hooks.EdgeDeleted), event(hooks.EdgeDeleted)
	feeds.RelationType, owns.RelationType = "feeds", "owns"
	actor.Nodes, object.Nodes = []uuid.UUID{uuid.New()}, []uuid.UUID{one}
	feeds.Nodes, owns.Nodes = []uuid.UUID{uuid.New(), one}, []uuid.UUID{uuid.New(), uuid.New()}
	events := []hooks.Event{firing, other, resolved, actor, object, feeds, owns}
	require.Equal(t, hooks.Queued{Deliveries: 7 + 3 + 2 + 5}, f.enqueue(f.workspace, events...))
	require.Equal(t, hooks.Queued{}, f.enqueue(f.workspace, append(events, events...)...), "they are queued already")
	require.Equal(t, []string{
		hooks.AlertFiring, hooks.AlertFiring, hooks.AlertResolved, hooks.EdgeDeleted, hooks.EdgeDeleted, hooks.NodeCreated,
		hooks.NodeCreated,
	}, f.eventTypes(all.ID))
	require.Equal(t, []string{hooks.AlertFiring, hooks.EdgeDeleted, hooks.NodeCreated}, f.eventTypes(filtered.ID))
	require.Equal(t, []string{hooks.NodeCreated, hooks.NodeCreated}, f.eventTypes(nodes.ID))
	require.Equal(t, []string{
		hooks.AlertFiring, hooks.AlertFiring, hooks.AlertResolved, hooks.EdgeDeleted, hooks.NodeCreated,
	}, f.eventTypes(single.ID), "the filter does not apply to alerts")
	require.Empty(t, f.eventTypes(disabled.ID))

	stranger := pgtest.Workspace(t, f.db, "live").ID
	require.Equal(t, hooks.Queued{}, f.enqueue(stranger, events...))
	_, _, err = f.db.Deliveries(t.Context(), stranger, all.ID, "", 10, 0)
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)

	claims := f.claim(hooks.Claims{Max: 100, PerWebhook: 100})
	require.Len(t, claims, 17)
	for _, c := range claims {
		if c.EventID == firing.ID {
			var body map[string]any
			require.NoError(t, json.Unmarshal([]byte(c.Payload), &body))
			require.Equal(t, firing.ID.String(), body["id"])
			require.Equal(t, hooks.AlertFiring, body["type"])
			require.Equal(t, f.workspace.String(), body["workspaceId"])
			require.Equal(t, map[string]any{"a": "b"}, body["data"])
		}
	}
}

func TestTheQueueIsBounded(t *testing.T) {
	f := newFixture(t)
	w := f.create("w", []string{hooks.NodeCreated}, hooks.Filters{})
	queuedBefore := event(hooks.NodeCreated)
	require.Equal(t, hooks.Queued{Deliveries: 1}, f.enqueue(f.workspace, queuedBefore))
	large := event(hooks.NodeCreated)
	large.Data = strings.Repeat("x", hooks.MaxPayload)
	require.Equal(t, hooks.Queued{Dropped: 1}, f.enqueue(f.workspace, large))

	// With 2 places left, 2 of 4 events that come at the same time in 2 transactions are queued.
	f.exec(`INSERT INTO webhook_deliveries (id, webhook_id, workspace_id, event_id, event_type, payload)
		SELECT gen_random_uuid(), $1, $2, gen_random_uuid(), 'x', '' FROM generate_series(1, $3)`,
		w.ID, f.workspace, hooks.MaxPending-3)
	var work sync.WaitGroup
	var queued [2]hooks.Queued
	for i := range queued {
		work.Go(func() { queued[i] = f.enqueue(f.workspace, event(hooks.NodeCreated), event(hooks.NodeCreated)) })
	}
	work.Wait()
	require.Equal(t, 2, queued[0].Deliveries+queued[1].Deliveries)
	require.Equal(t, 2, queued[0].Dropped+queued[1].Dropped)
	w, err := f.db.Webhook(t.Context(), f.workspace, w.ID)
	require.NoError(t, err)
	require.EqualValues(t, 3, w.Dropped)
	require.NoError(t, f.db.InTx(t.Context(), func(tx pgx.Tx) error { // other transactions wait for this one
		_, err := f.db.Enqueue(t.Context(), tx, f.workspace, []hooks.Event{queuedBefore})
		require.NoError(t, err)
		_, err = f.db.Pool().Exec(t.Context(), `SELECT FROM webhooks WHERE id = $1 FOR NO KEY UPDATE NOWAIT`, w.ID)
		require.ErrorContains(t, err, "could not obtain lock")
		return nil
	}))
	test := event(hooks.Test)
	_, err = f.db.EnqueueTest(t.Context(), f.workspace, w.ID, &test)
	require.True(t, fault.Is(err, fault.Conflict), "%v", err)
}

func TestAWorkspaceHasFewWebhooks(t *testing.T) {
	f := newFixture(t)
	for i := range hooks.MaxWebhooks {
		f.create(fmt.Sprintf("w%02d", i), hooks.EventTypes(), hooks.Filters{})
	}
	create := func(workspace uuid.UUID, name string) error {
		_, _, err := f.db.CreateWebhook(t.Context(), &hooks.Webhook{
			Workspace: workspace, Name: name, URL: "https://x", Events: hooks.EventTypes(), Enabled: true,
		})
		return err
	}
	require.True(t, fault.Is(create(f.workspace, "more"), fault.Invalid))
	other := pgtest.Workspace(t, f.db, "live").ID
	require.NoError(t, create(other, "w00"), "names are unique in a workspace only")
	require.True(t, fault.Is(create(other, "w00"), fault.Conflict))

	list, err := f.db.Webhooks(t.Context(), f.workspace)
	require.NoError(t, err)
	require.Len(t, list, hooks.MaxWebhooks)
	rename := func(w *hooks.Webhook) error { w.Name = "w01"; return nil }
	_, err = f.db.UpdateWebhook(t.Context(), f.workspace, list[0].ID, rename)
	require.True(t, fault.Is(err, fault.Conflict), "%v", err)
	_, err = f.db.UpdateWebhook(t.Context(), other, list[0].ID, rename)
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	require.True(t, fault.Is(f.db.DeleteWebhook(t.Context(), other, list[0].ID), fault.NotFound))
	_, _, err = f.db.RollSecret(t.Context(), other, list[0].ID)
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	require.NoError(t, f.db.DeleteWebhook(t.Context(), f.workspace, list[0].ID))
	_, err = f.db.Webhook(t.Context(), f.workspace, list[0].ID)
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
}

func TestTwoWorkersClaimEachDeliveryOnce(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"a", "b", "c"} {
		f.create(name, []string{hooks.NodeCreated}, hooks.Filters{})
	}
	events := make([]hooks.Event, 40)
	for i := range events {
		events[i] = event(hooks.NodeCreated)
	}
	require.Equal(t, hooks.Queued{Deliveries: 120}, f.enqueue(f.workspace, events...))
	var mu sync.Mutex
	claimed := map[uuid.UUID]int{}
	var work sync.WaitGroup
	for range 2 {
		work.Go(func() {
			for {
				claims := f.claim(hooks.Claims{Max: 7, PerWebhook: 4})
				mu.Lock()
				for i := range claims {
					claimed[claims[i].ID]++
				}
				done := len(claimed) == 120
				mu.Unlock()
				if done || len(claims) == 0 && !f.unclaimed() {
					return
				}
			}
		})
	}
	work.Wait()
	require.Len(t, claimed, 120)
	for id, n := range claimed {
		require.Equal(t, 1, n, id)
	}
}

// unclaimed reports whether a delivery waits for a worker.
func (f *fixture) unclaimed() (yes bool) {
	require.NoError(f, f.db.Pool().QueryRow(f.Context(),
		`SELECT EXISTS (SELECT FROM webhook_deliveries WHERE claimed_until IS NULL)`).Scan(&yes))
	return yes
}

func TestDeliveriesOfOneWebhookDoNotKeepOthersWaiting(t *testing.T) {
	f := newFixture(t)
	many := f.create("many", []string{hooks.NodeCreated}, hooks.Filters{})
	events := make([]hooks.Event, 30)
	for i := range events {
		events[i] = event(hooks.NodeCreated)
	}
	f.enqueue(f.workspace, events...)
	few := f.create("few", []string{hooks.EdgeCreated}, hooks.Filters{})
	f.enqueue(f.workspace, event(hooks.EdgeCreated), event(hooks.EdgeCreated))

	count := func(claims []hooks.Claim) map[uuid.UUID]int {
		n := map[uuid.UUID]int{}
		for i := range claims {
			n[claims[i].Webhook]++
		}
		return n
	}
	require.Equal(t, map[uuid.UUID]int{many.ID: 2, few.ID: 1},
		count(f.claim(hooks.Claims{Max: 3, PerWebhook: 4, Busy: map[uuid.UUID]int{few.ID: 1}})))
	require.Equal(t, map[uuid.UUID]int{few.ID: 1},
		count(f.claim(hooks.Claims{Max: 10, PerWebhook: 4, Busy: map[uuid.UUID]int{many.ID: 9}})))
	_, err := f.db.UpdateWebhook(t.Context(), f.workspace, many.ID, func(w *hooks.Webhook) error {
		w.Enabled = false
		return nil
	})
	require.NoError(t, err)
	require.Empty(t, f.claim(hooks.Claims{Max: 10, PerWebhook: 4}), "the webhook is disabled")
}

func TestAClaimExpiresAndItsOutcomeIsStoredOnce(t *testing.T) {
	f := newFixture(t)
	w := f.create("w", []string{hooks.NodeCreated}, hooks.Filters{})
	f.enqueue(f.workspace, event(hooks.NodeCreated))
	claims := hooks.Claims{Max: 10, PerWebhook: 4}
	first := f.claim(claims)
	require.Len(t, first, 1)
	require.Len(t, first[0].Secrets, 1)
	require.Empty(t, f.claim(claims))
	require.NoError(t, f.db.ReleaseClaim(t.Context(), &first[0]))
	first = f.claim(claims)
	require.Len(t, first, 1)

	f.exec(`UPDATE webhook_deliveries SET claimed_until = now() - interval '1 second'`)
	_, secret, err := f.db.RollSecret(t.Context(), f.workspace, w.ID)
	require.NoError(t, err)
	second := f.claim(claims)
	require.Len(t, second, 1)
	require.Equal(t, []string{secret, first[0].Secrets[0]}, second[0].Secrets)
	f.exec(`UPDATE webhooks SET previous_until = now()`)
	finish := func(c *hooks.Claim, a hooks.Attempt) hooks.Delivery {
		require.NoError(t, f.db.FinishAttempt(t.Context(), c, a))
		page, _, err := f.db.Deliveries(t.Context(), f.workspace, w.ID, "", 10, 0)
		require.NoError(t, err)
		require.Len(t, page, 1)
		return page[0]
	}
	require.Equal(t, hooks.Pending, finish(&first[0], hooks.Attempt{State: hooks.Delivered}).State, "the claim expired")
	status, text := 500, "it failed"
	d := finish(&second[0], hooks.Attempt{State: hooks.Pending, Retry: time.Hour, Status: &status, Error: &text})
	require.Equal(t, 1, d.Attempts)
	require.Equal(t, &status, d.LastStatus)
	require.Equal(t, &text, d.LastError)
	require.WithinDuration(t, time.Now().Add(time.Hour), d.NextAttemptAt, time.Minute)
	require.Nil(t, d.FinishedAt)
	require.Empty(t, f.claim(claims), "it is not yet due")

	d, err = f.db.Redeliver(t.Context(), f.workspace, w.ID, d.ID)
	require.NoError(t, err)
	require.Zero(t, d.Attempts)
	third := f.claim(claims)
	require.Len(t, third, 1)
	require.Equal(t, []string{secret}, third[0].Secrets, "the previous secret has expired")
	d = finish(&third[0], hooks.Attempt{State: hooks.Failed, Disable: "gone"})
	require.Equal(t, hooks.Failed, d.State)
	require.NotNil(t, d.FinishedAt)
	w, err = f.db.Webhook(t.Context(), f.workspace, w.ID)
	require.NoError(t, err)
	require.False(t, w.Enabled)
	require.Equal(t, "gone", *w.DisabledReason)
	_, err = f.db.Redeliver(t.Context(), f.workspace, w.ID, d.ID)
	require.True(t, fault.Is(err, fault.Conflict), "%v", err)
	w, err = f.db.UpdateWebhook(t.Context(), f.workspace, w.ID, func(w *hooks.Webhook) error {
		w.Enabled = true
		return nil
	})
	require.NoError(t, err)
	require.Nil(t, w.DisabledReason)
}

func TestOldDeliveriesAreRemoved(t *testing.T) {
	f := newFixture(t)
	kept, deleted := f.create("kept", []string{hooks.NodeCreated}, hooks.Filters{}),
		f.create("deleted", []string{hooks.NodeCreated}, hooks.Filters{})
	for range 3 {
		f.enqueue(f.workspace, event(hooks.NodeCreated))
	}
	require.NoError(t, f.db.DeleteWebhook(t.Context(), f.workspace, deleted.ID))
	f.exec(`UPDATE webhook_deliveries SET state = 'delivered', finished_at = now() - CASE place
		WHEN 1 THEN interval '8 days' ELSE interval '6 days' END
		FROM (SELECT id, row_number() OVER (ORDER BY id) place FROM webhook_deliveries WHERE webhook_id = $1) p
		WHERE p.id = webhook_deliveries.id AND place < 3`, kept.ID)
	var removed int64
	for range 3 {
		n, err := f.db.PruneDeliveries(t.Context(), 7*24*time.Hour, 2)
		require.NoError(t, err)
		removed += n
	}
	require.EqualValues(t, 4, removed)
	require.Len(t, f.eventTypes(kept.ID), 2)
	f.exec(`UPDATE webhooks SET enabled = false`)
	f.exec(`UPDATE webhook_deliveries SET created_at = now() - interval '8 days'`)
	_, err := f.db.PruneDeliveries(t.Context(), 7*24*time.Hour, 10)
	require.NoError(t, err)
	require.Len(t, f.eventTypes(kept.ID), 1, "a disabled webhook does not keep what is pending")
}
