package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/test/contract"
)

const webhooksPath = "/api/webhooks"

// webhookItem is a webhook in an answer.
type webhookItem struct {
	ID, Name, URL, Secret              string
	Events, EntityTypes, RelationTypes []string
	NodeIDs                            []string
	Labels                             map[string]string
	Enabled                            bool
	DisabledReason                     *string
	Dropped                            int
}

// deliveryItem is a delivery in an answer.
type deliveryItem struct {
	ID, EventID, EventType, State string
	Attempts                      int
	NextAttemptAt                 *string
	LastStatus                    *int
}

func createWebhook(t *testing.T, s *contract.Server, body string) webhookItem {
	t.Helper()
	a := s.Do(t, contract.Request{Method: http.MethodPost, Path: webhooksPath, Body: body})
	w := decode[webhookItem](t, a, http.StatusCreated)
	require.Equal(t, webhooksPath+"/"+w.ID, a.Header.Get("Location"))
	require.True(t, strings.HasPrefix(w.Secret, "whsec_"))
	return w
}

func TestAWebhookIsCreatedChangedAndDeleted(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, contract.Webhooks)
	w := createWebhook(t, s, `{"name":"b","url":"https://hooks.example.com/x?y=1","events":["node.created","alert.firing",
		"alert.firing"],"labels":{"severity":"page","team":"a"},"entityTypes":["actor"],"relationTypes":["feeds"],
		"nodeIds":["9c5b94b1-35ad-49bb-b118-8e8fc24abf80"]}`)
	require.Equal(t, []string{"alert.firing", "node.created"}, w.Events)
	require.True(t, w.Enabled)
	createWebhook(t, s, `{"name":"a","url":"http://8.8.8.8:99","events":["edge.deleted"],"enabled":false}`)

	path := webhooksPath + "/" + w.ID
	read := s.Do(t, contract.Request{Path: path})
	require.NotContains(t, string(read.Body), "whsec_")
	got := decode[webhookItem](t, read, http.StatusOK)
	secret := w.Secret
	w.Secret = ""
	require.Equal(t, w, got)
	list := s.Do(t, contract.Request{Path: webhooksPath})
	require.NotContains(t, string(list.Body), "whsec_")
	items := decode[[]webhookItem](t, list, http.StatusOK)
	require.Equal(t, []string{"a", "b"}, []string{items[0].Name, items[1].Name})
	require.False(t, items[0].Enabled)
	require.EqualValues(t, 2, list.Meta.Total)
	require.Len(t, decode[[]webhookItem](t, s.Do(t, contract.Request{Path: webhooksPath + "?limit=1&offset=1"}), 200), 1)

	patch := func(body string) *contract.Answer {
		return s.Do(t, contract.Request{Method: http.MethodPatch, Path: path, Body: body})
	}
	a := patch(`{"labels":{"team":null,"site":"b"},"entityTypes":null,"relationTypes":["owns"],"nodeIds":null}`)
	got = decode[webhookItem](t, a, http.StatusOK)
	require.Equal(t, map[string]string{"severity": "page", "site": "b"}, got.Labels)
	require.Empty(t, got.EntityTypes)
	require.Equal(t, []string{"9c5b94b1-35ad-49bb-b118-8e8fc24abf80"}, w.NodeIDs)
	require.Empty(t, got.NodeIDs)
	require.Equal(t, []string{"owns"}, got.RelationTypes)
	require.Equal(t, w.Events, got.Events)
	a = patch(`{"labels":null,"enabled":false,"events":["edge.updated"],"url":"https://b.example"}`)
	got = decode[webhookItem](t, a, http.StatusOK)
	require.Empty(t, got.Labels)
	require.False(t, got.Enabled)
	require.Equal(t, "https://b.example", got.URL)
	exists := map[string]any{"reason": "already_exists"}
	patch(`{"name":"a"}`).RequireFailure(t, http.StatusConflict, "CONFLICT", "", exists)
	patch(`{"url":"http://10.0.0.1"}`).RequireFailure(t, 422, "VALIDATION_ERROR", "", map[string]any{"field": "url"})

	rolled := s.Do(t, contract.Request{Method: http.MethodPost, Path: path + "/roll-secret"})
	next := decode[webhookItem](t, rolled, http.StatusOK).Secret
	require.True(t, strings.HasPrefix(next, "whsec_"))
	require.NotEqual(t, secret, next)

	require.Equal(t, http.StatusNoContent, s.Do(t, contract.Request{Method: http.MethodDelete, Path: path}).Status)
	require.Equal(t, http.StatusNotFound, s.Do(t, contract.Request{Path: path}).Status)
}

func TestWrongWebhooksAreRefused(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, contract.Webhooks)
	good := map[string]any{"name": "w", "url": "https://example.com", "events": []string{"node.created"}}
	many := map[string]string{}
	for i := range 65 {
		many[fmt.Sprint(i)] = ""
	}
	for _, c := range []struct {
		field  string
		value  any
		status int
		named  string
	}{
		{"name", nil, 400, "name"},
		{"url", nil, 400, "url"},
		{"events", nil, 400, "events"},
		{"name", "", 422, "name"},
		{"name", strings.Repeat("x", 257), 422, "name"},
		{"url", "ftp://example.com", 422, "url"},
		{"url", "http://127.0.0.1:80", 201, ""}, // the guard of the tests allows it
		{"url", "http://192.168.0.1/", 422, "url"},
		{"url", "http://169.254.169.254/", 422, "url"},
		{"url", "https://user:secret@example.com", 422, "url"},
		{"url", "https://example.com/" + strings.Repeat("x", 2000), 422, "url"},
		{"events", []string{}, 422, "events"},
		{"events", []string{"node.created", "webhook.test"}, 422, "events[1]"},
		{"entityTypes", []string{"thing"}, 422, "entityTypes[0]"},
		{"relationTypes", []string{"a", ""}, 422, "relationTypes[1]"},
		{"relationTypes", strings.Split(strings.Repeat("a,", 101), ","), 422, "relationTypes"},
		{"nodeIds", []string{"9c5b94b1-35ad-49bb-b118-8e8fc24abf80", "x"}, 422, "nodeIds[1]"},
		{"nodeIds", []int{7}, 400, "nodeIds[0]"},
		{"nodeIds", slices.Repeat([]string{"9c5b94b1-35ad-49bb-b118-8e8fc24abf80"}, 101), 422, "nodeIds"},
		{"labels", map[string]string{"a": "b\n"}, 422, "labels.a"},
		{"labels", map[string]string{"": "b"}, 422, `labels[""]`},
		{"labels", many, 422, "labels"},
		{"secret", "whsec_x", 400, "secret"},
	} {
		body := map[string]any{}
		for field, value := range good {
			body[field] = value
		}
		if body[c.field] = c.value; c.value == nil {
			delete(body, c.field)
		}
		text, err := json.Marshal(body)
		require.NoError(t, err)
		a := s.Do(t, contract.Request{Method: http.MethodPost, Path: webhooksPath, Body: string(text)})
		require.Equal(t, c.status, a.Status, "%s %v: %s", c.field, c.value, a.Body)
		if c.named != "" {
			require.Equal(t, c.named, a.Error.Details["field"], "%s", a.Body)
		}
	}
	for i := range 20 {
		body := fmt.Sprintf(`{"name":"many %d","url":"https://example.com","events":["node.created"]}`, i)
		last := s.Do(t, contract.Request{Method: http.MethodPost, Path: webhooksPath, Body: body})
		if i == 19 {
			require.Equal(t, http.StatusUnprocessableEntity, last.Status, "%s", last.Body)
		}
	}
}

func TestWebhooksBelongToTheirWorkspace(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, contract.Webhooks)
	w := createWebhook(t, s, `{"name":"w","url":"https://example.com","events":["node.created"]}`)
	path := webhooksPath + "/" + w.ID
	d := decode[deliveryItem](t, s.Do(t, contract.Request{Method: http.MethodPost, Path: path + "/test"}), 202)
	other := s.NewWorkspace(t, apikey.Live)
	stranger := s.NewKey(t, []uuid.UUID{other}, request.Admin)
	weak := s.NewKey(t, []uuid.UUID{s.Workspace}, request.ReadNodes, request.WriteLiveData)
	for _, q := range []contract.Request{
		{Path: path}, {Method: http.MethodPatch, Path: path, Body: `{"enabled":false}`},
		{Method: http.MethodDelete, Path: path}, {Method: http.MethodPost, Path: path + "/roll-secret"},
		{Method: http.MethodPost, Path: path + "/test"}, {Path: path + "/deliveries"},
		{Method: http.MethodPost, Path: path + "/deliveries/" + d.ID + "/redeliver"},
	} {
		q.Key, q.Workspace = stranger, other.String()
		require.Equal(t, http.StatusNotFound, s.Do(t, q).Status, "%s %s", q.Method, q.Path)
		q.Path = strings.Replace(q.Path, w.ID, "x", 1)
		require.Equal(t, http.StatusNotFound, s.Do(t, q).Status, "%s %s", q.Method, q.Path)
		q.Key, q.Workspace = weak, s.Workspace.String()
		require.Equal(t, http.StatusForbidden, s.Do(t, q).Status, "%s %s", q.Method, q.Path)
	}
	list := s.Do(t, contract.Request{Path: webhooksPath, Key: stranger, Workspace: other.String()})
	require.Empty(t, decode[[]webhookItem](t, list, http.StatusOK))
	require.True(t, decode[webhookItem](t, s.Do(t, contract.Request{Path: path}), http.StatusOK).Enabled)
	redeliver := path + "/deliveries/" + uuid.NewString() + "/redeliver"
	require.Equal(t, 404, s.Do(t, contract.Request{Method: http.MethodPost, Path: redeliver}).Status)
}

func TestADeliveryIsShownAndRepeatedOnRequest(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, contract.Webhooks)
	ids := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		ids <- r.Header.Get("Webhook-Id")
	}))
	t.Cleanup(receiver.Close)
	w := createWebhook(t, s, fmt.Sprintf(`{"name":"w","url":%q,"events":["node.created"]}`, receiver.URL))
	path := webhooksPath + "/" + w.ID
	d := decode[deliveryItem](t, s.Do(t, contract.Request{Method: http.MethodPost, Path: path + "/test"}), 202)
	require.Equal(t, "webhook.test", d.EventType)
	require.Equal(t, "pending", d.State)
	require.NotNil(t, d.NextAttemptAt)
	list := func(state string) []deliveryItem {
		a := s.Do(t, contract.Request{Path: path + "/deliveries?limit=10&state=" + state})
		return decode[[]deliveryItem](t, a, http.StatusOK)
	}
	require.Len(t, list("pending"), 1)
	require.Empty(t, list("failed"))
	a := s.Do(t, contract.Request{Path: path + "/deliveries?state=other"})
	a.RequireFailure(t, http.StatusBadRequest, "VALIDATION_ERROR", "", map[string]any{"field": "state"})

	contract.DeliverWebhooks(t, s, receiver.Client())
	delivered := func() bool { return len(list("delivered")) == 1 }
	require.Eventually(t, delivered, time.Minute, 10*time.Millisecond)
	require.Equal(t, d.EventID, <-ids)
	redeliver := path + "/deliveries/" + d.ID + "/redeliver"
	decode[deliveryItem](t, s.Do(t, contract.Request{Method: http.MethodPost, Path: redeliver}), http.StatusAccepted)
	require.Eventually(t, delivered, time.Minute, 10*time.Millisecond)
	require.Equal(t, d.EventID, <-ids)
	got := list("delivered")[0]
	require.Equal(t, 1, got.Attempts)
	require.Equal(t, http.StatusOK, *got.LastStatus)
	require.Nil(t, got.NextAttemptAt)

	s.Do(t, contract.Request{Method: http.MethodPatch, Path: path, Body: `{"enabled":false}`})
	for _, p := range []string{redeliver, path + "/test"} {
		require.Equal(t, http.StatusConflict, s.Do(t, contract.Request{Method: http.MethodPost, Path: p}).Status)
	}
}
