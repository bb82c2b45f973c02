package webhooks_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/webhooks"
	"github.com/livegraph/livegraph/internal/platform/outbound"
	"github.com/livegraph/livegraph/storage/postgres/hooks"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

// fixture is a workspace in its own database.
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

// create creates a webhook of all events. It returns its id and secret.
func (f *fixture) create(name, url string) (uuid.UUID, string) {
	f.Helper()
	w, secret, err := f.db.CreateWebhook(f.Context(), &hooks.Webhook{
		Workspace: f.workspace, Name: name, URL: url, Events: hooks.EventTypes(), Enabled: true,
	})
	require.NoError(f, err)
	return w.ID, secret
}

// enqueue queues an event for all webhooks. It returns its id.
func (f *fixture) enqueue() uuid.UUID {
	f.Helper()
	event := hooks.Event{ID: uuid.New(), Type: hooks.NodeCreated, Time: time.Now(), Data: map[string]string{"a": "b"}}
	require.NoError(f, f.db.InTx(f.Context(), func(tx pgx.Tx) error {
		_, err := f.db.Enqueue(f.Context(), tx, f.workspace, []hooks.Event{event})
		return err
	}))
	return event.ID
}

// deliveries returns the deliveries of a webhook, newest first.
func (f *fixture) deliveries(webhook uuid.UUID) []hooks.Delivery {
	f.Helper()
	page, _, err := f.db.Deliveries(f.Context(), f.workspace, webhook, "", 100, 0)
	require.NoError(f, err)
	return page
}

// eventually waits until condition is true.
func (f *fixture) eventually(condition func() bool, what string) {
	f.Helper()
	require.Eventually(f, condition, testenv.WaitTimeout, 5*time.Millisecond, what)
}

// awaitState waits until the only delivery of a webhook has a state, and returns it.
func (f *fixture) awaitState(webhook uuid.UUID, state hooks.State) (d hooks.Delivery) {
	f.Helper()
	f.eventually(func() bool {
		d = f.deliveries(webhook)[0]
		return d.State == state
	}, "the delivery is "+string(state))
	return d
}

// run runs a Runner until the returned function is called or the test ends.
func (f *fixture) run(change func(*webhooks.Deps)) (stop func()) {
	f.Helper()
	deps := webhooks.Deps{
		Store: f.db, Client: outbound.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}).Client,
		Poll: 10 * time.Millisecond, Timeout: 5 * time.Second, Logger: testenv.Logger(),
		Backoff: func(int) time.Duration { return time.Millisecond },
	}
	if change != nil {
		change(&deps)
	}
	return testenv.RunInBackground(f, webhooks.New(deps).Run)
}

// message is a request that a receiver got.
type message struct {
	header http.Header
	body   string
}

func (m *message) id() string { return m.header.Get("Webhook-Id") }

// receiver is an address of a webhook.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	messages []message
}

// receive starts a receiver. answer gets the number of the request, from 1; nil: all are accepted.
func (f *fixture) receive(answer func(w http.ResponseWriter, r *http.Request, n int)) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return
		}
		r.mu.Lock()
		r.messages = append(r.messages, message{request.Header, string(body)})
		n := len(r.messages)
		r.mu.Unlock()
		if answer != nil {
			answer(w, request, n)
		}
	}))
	f.Cleanup(r.Close)
	return r
}

func (r *receiver) all() []message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]message(nil), r.messages...)
}
