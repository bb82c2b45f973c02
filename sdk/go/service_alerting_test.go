package livegraph_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	livegraph "github.com/livegraph/livegraph/sdk/go"
)

func TestServiceRulesAndAlerts(t *testing.T) {
	client, ctx := service(t), t.Context()
	name, alert := "machines-"+rand.Text(), "Hot_"+rand.Text()
	rules := fmt.Sprintf(`
groups:
  - name: machines
    interval: 1s
    rules:
      - alert: %s
        expr: vector(91.5) > 90
        labels: {severity: page}
`, alert)
	_, err := client.Rules.Put(ctx, name, strings.ReplaceAll(rules, "> 90", "> ("))
	var api *livegraph.APIError
	check(t, errors.As(err, &api) && api.Details.Problems[0].Line >= 6, "%v", err)
	checked, err := client.Rules.Check(ctx, name, rules)
	noError(t, err)
	check(t, checked.Rules == 1 && checked.Version == 0 && checked.CreatedAt.IsZero(), "%+v", checked)
	_, err = client.Rules.Get(ctx, name)
	check(t, errors.Is(err, livegraph.ErrNotFound), "%v", err)
	stored, err := client.Rules.Put(ctx, name, rules)
	noError(t, err)
	read, err := client.Rules.Get(ctx, name)
	noError(t, err)
	check(t, read.Content == rules && read.Version == stored.Version, "%+v", read)
	files, err := livegraph.Collect(client.Rules.All(ctx))
	noError(t, err)
	check(t, slices.ContainsFunc(files, func(f livegraph.ListedRuleFile) bool { return f.Name == name }), "%+v", files)
	firing := func() (found []livegraph.Alert) {
		alerts, err := livegraph.Collect(client.Alerts.All(ctx, livegraph.AlertStateFiring))
		noError(t, err)
		return slices.DeleteFunc(alerts, func(a livegraph.Alert) bool { return a.Name != alert })
	}
	eventually(t, func() bool { return len(firing()) == 1 }, "the alert does not fire")
	noError(t, client.Rules.Delete(ctx, name))
	eventually(t, func() bool { return len(firing()) == 0 }, "the alert is not resolved")
}

func TestServiceAlertmanagers(t *testing.T) {
	client, ctx := service(t), t.Context()
	manager := livegraph.NewAlertmanager{
		URL: "https://alerts.example.com",
		Authorization: &livegraph.NewAlertmanagerAuthorization{
			Type: livegraph.AlertmanagerAuthorizationTypeBasic, Username: "ops", Password: "correct horse",
		},
		Headers: []livegraph.NewAlertmanagerHeader{{Name: "X-Tenant", Value: "a"}},
	}
	stored, err := client.Alerts.SetAlertmanagers(ctx, []livegraph.NewAlertmanager{manager})
	noError(t, err)
	check(t, len(stored) == 1 && stored[0].Authorization.Username == "ops" && stored[0].Headers[0].Name == "X-Tenant",
		"%+v", stored)
	manager.Authorization.Password, manager.Headers = "", nil
	kept, err := client.Alerts.SetAlertmanagers(ctx, []livegraph.NewAlertmanager{manager})
	noError(t, err)
	check(t, kept[0].Authorization != nil && len(kept[0].Headers) == 0, "%+v", kept)
	manager.URL += "/other"
	_, err = client.Alerts.SetAlertmanagers(ctx, []livegraph.NewAlertmanager{manager})
	check(t, errors.Is(err, livegraph.ErrInvalid), "%v", err)
	read, err := client.Alerts.Alertmanagers(ctx)
	noError(t, err)
	check(t, len(read) == 1 && read[0].UpdatedAt.Equal(kept[0].UpdatedAt), "%+v", read)
	none, err := client.Alerts.SetAlertmanagers(ctx, nil)
	noError(t, err)
	check(t, len(none) == 0, "%+v", none)
}

func TestServiceAnalyses(t *testing.T) {
	client, ctx := service(t), t.Context()
	node, err := client.Nodes.Create(ctx, livegraph.NewNode{Name: "analyzed", EntityType: livegraph.EntityTypeConcept})
	noError(t, err)
	_, err = client.Analyses.Create(ctx, livegraph.NewAnalysis{Algorithm: "none"})
	check(t, errors.Is(err, livegraph.ErrInvalid), "%v", err)
	queued, err := client.Analyses.Create(ctx, livegraph.NewAnalysis{
		Algorithm: livegraph.AnalysisAlgorithmDegree, EntityTypes: []livegraph.EntityType{livegraph.EntityTypeConcept},
		RelationTypes: []string{"relation of no edge"}, Property: "analyzed",
	})
	noError(t, err)
	done, err := client.Analyses.Wait(ctx, queued.ID)
	noError(t, err)
	check(t, done.State == livegraph.AnalysisStateDone && done.Nodes >= 1 && len(done.Result.Top) > 0, "%+v", done)
	read, err := client.Nodes.Get(ctx, node.ID)
	noError(t, err)
	equal(t, any(0.0), read.Properties["analyzed"])
	_, err = client.Analyses.Cancel(ctx, queued.ID)
	check(t, errors.Is(err, livegraph.ErrConflict), "%v", err)
	all, err := livegraph.Collect(client.Analyses.All(ctx))
	noError(t, err)
	check(t, slices.ContainsFunc(all, func(a livegraph.Analysis) bool { return a.ID == queued.ID }), "%+v", all)
}

func TestServiceWebhooks(t *testing.T) {
	client, ctx := service(t), t.Context()
	type delivery struct {
		header http.Header
		body   []byte
	}
	deliveries := make(chan delivery, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		deliveries <- delivery{r.Header, body}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(receiver.Close)
	receive := func(secret string) *livegraph.WebhookEvent {
		select {
		case d := <-deliveries:
			event, err := livegraph.VerifyWebhook(d.header, d.body, secret)
			noError(t, err)
			return event
		case <-time.After(30 * time.Second):
			t.Fatal("no event arrives")
			return nil
		}
	}
	room, err := client.Nodes.Create(ctx, livegraph.NewNode{Name: "Room", EntityType: livegraph.EntityTypeConcept})
	noError(t, err)
	hook, err := client.Webhooks.Create(ctx, livegraph.NewWebhook{
		Name: unique("on call"), URL: receiver.URL, NodeIDs: []string{room.ID},
		Events: []livegraph.WebhookEventType{livegraph.WebhookEventTypeNodeUpdated},
	})
	noError(t, err)
	_, err = client.Nodes.Update(ctx, room.ID, livegraph.NodePatch{Name: livegraph.Set("Room 7")})
	noError(t, err)
	event := receive(hook.Secret)
	check(t, event.Type == "node.updated" && strings.Contains(string(event.Data), "Room 7"), "%+v", event)
	rolled, err := client.Webhooks.RollSecret(ctx, hook.ID)
	noError(t, err)
	tested, err := client.Webhooks.Test(ctx, hook.ID)
	noError(t, err)
	equal(t, "webhook.test", receive(rolled.Secret).Type)
	eventually(t, func() bool {
		state := livegraph.WebhookDeliveryStateDelivered
		delivered, err := livegraph.Collect(client.Webhooks.AllDeliveries(ctx, hook.ID, state))
		noError(t, err)
		return len(delivered) == 2
	}, "the deliveries are pending")
	_, err = client.Webhooks.Redeliver(ctx, hook.ID, tested.ID)
	noError(t, err)
	equal(t, tested.EventID, receive(rolled.Secret).ID)
	changed, err := client.Webhooks.Update(ctx, hook.ID, livegraph.WebhookPatch{
		Enabled: livegraph.Set(false), NodeIDs: livegraph.Null[[]string](),
	})
	noError(t, err)
	check(t, !changed.Enabled && len(changed.NodeIDs) == 0, "%+v", changed)
	_, err = client.Webhooks.Test(ctx, hook.ID)
	check(t, errors.Is(err, livegraph.ErrConflict), "%v", err)
	page, err := client.Webhooks.Deliveries(ctx, hook.ID, "", livegraph.Paging{Limit: 1})
	noError(t, err)
	check(t, page.Total >= 2, "%+v", page)
	noError(t, client.Webhooks.Delete(ctx, hook.ID))
	_, err = client.Webhooks.Get(ctx, hook.ID)
	check(t, errors.Is(err, livegraph.ErrNotFound), "%v", err)
}
