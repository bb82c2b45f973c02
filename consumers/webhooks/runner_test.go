package webhooks_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/webhooks"
	"github.com/livegraph/livegraph/internal/platform/outbound"
	"github.com/livegraph/livegraph/storage/postgres/hooks"
)

// signature returns the signature of a message, computed as the specification describes it.
func signature(t *testing.T, secret string, m *message) string {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	require.NoError(t, err)
	require.Len(t, key, 32)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(m.id() + "." + m.header.Get("Webhook-Timestamp") + "." + m.body))
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func TestAnEventIsDeliveredOnceAndSigned(t *testing.T) {
	f := newFixture(t)
	r := f.receive(nil)
	webhook, secret := f.create("w", r.URL+"/hook?a=b")
	id := f.enqueue()
	for range 2 { // two processes
		f.run(nil)
	}
	d := f.awaitState(webhook, hooks.Delivered)
	require.Equal(t, 1, d.Attempts)
	require.Equal(t, http.StatusOK, *d.LastStatus)
	require.Nil(t, d.LastError)
	m := r.all()[0]
	require.Equal(t, id.String(), m.id())
	require.Equal(t, "application/json", m.header.Get("Content-Type"))
	sent, err := strconv.ParseInt(m.header.Get("Webhook-Timestamp"), 10, 64)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), time.Unix(sent, 0), time.Minute)
	require.Equal(t, signature(t, secret, &m), m.header.Get("Webhook-Signature"))
	var body map[string]any
	require.NoError(t, json.Unmarshal([]byte(m.body), &body))
	require.Equal(t, id.String(), body["id"])
	require.Len(t, body, 5)

	_, next, err := f.db.RollSecret(t.Context(), f.workspace, webhook)
	require.NoError(t, err)
	f.enqueue()
	f.eventually(func() bool { return len(r.all()) > 1 }, "the second event is delivered")
	m = r.all()[1]
	require.Equal(t, signature(t, next, &m)+" "+signature(t, secret, &m), m.header.Get("Webhook-Signature"))
	f.awaitState(webhook, hooks.Delivered)
	require.Len(t, r.all(), 2)
}

func TestADeliveryIsRepeatedAfterAFailure(t *testing.T) {
	f := newFixture(t)
	release := make(chan struct{})
	r := f.receive(func(w http.ResponseWriter, r *http.Request, n int) {
		switch n {
		case 1:
			w.WriteHeader(http.StatusInternalServerError)
		case 2: // no answer
			select {
			case <-release:
			case <-r.Context().Done():
			}
		case 3:
			http.Redirect(w, r, "/other", http.StatusFound)
		case 4:
			panic(http.ErrAbortHandler)
		}
	})
	t.Cleanup(func() { close(release) })
	webhook, secret := f.create("w", r.URL)
	f.enqueue()
	var backoffs atomic.Int32
	f.run(func(d *webhooks.Deps) {
		d.Timeout = 100 * time.Millisecond
		d.Backoff = func(attempt int) time.Duration {
			backoffs.Add(int32(attempt))
			return time.Millisecond
		}
	})
	d := f.awaitState(webhook, hooks.Delivered)
	require.Equal(t, 5, d.Attempts)
	require.EqualValues(t, 1+2+3+4, backoffs.Load())
	messages := r.all()
	require.Len(t, messages, 5)
	for i := range messages {
		require.Equal(t, messages[0].id(), messages[i].id())
		require.Equal(t, messages[0].body, messages[i].body)
		require.Equal(t, signature(t, secret, &messages[i]), messages[i].header.Get("Webhook-Signature"))
	}
}

func TestADeliveryFailsAtLastAndCanBeRepeated(t *testing.T) {
	f := newFixture(t)
	var accept atomic.Bool
	r := f.receive(func(w http.ResponseWriter, _ *http.Request, _ int) {
		if !accept.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	webhook, _ := f.create("w", r.URL)
	f.enqueue()
	f.run(nil)
	d := f.awaitState(webhook, hooks.Failed)
	require.Equal(t, webhooks.MaxAttempts, d.Attempts)
	require.Equal(t, "the receiver answered 503", *d.LastError)
	require.Equal(t, http.StatusServiceUnavailable, *d.LastStatus)
	require.NotNil(t, d.FinishedAt)
	require.Len(t, r.all(), webhooks.MaxAttempts)

	accept.Store(true)
	_, err := f.db.Redeliver(t.Context(), f.workspace, webhook, d.ID)
	require.NoError(t, err)
	d = f.awaitState(webhook, hooks.Delivered)
	require.Equal(t, 1, d.Attempts)
	messages := r.all()
	require.Equal(t, messages[0].id(), messages[len(messages)-1].id())
}

func TestTheReceiverSaysHowLongToWait(t *testing.T) {
	f := newFixture(t)
	for header, wait := range map[string]time.Duration{"120": 2 * time.Minute, "86400": time.Hour} {
		r := f.receive(func(w http.ResponseWriter, _ *http.Request, _ int) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		webhook, _ := f.create(header, r.URL)
		f.enqueue()
		stop := f.run(nil)
		var d hooks.Delivery
		f.eventually(func() bool {
			d = f.deliveries(webhook)[0]
			return d.Attempts == 1
		}, "the first attempt failed")
		require.WithinDuration(t, time.Now().Add(wait), d.NextAttemptAt, 30*time.Second)
		stop()
		require.NoError(t, f.db.DeleteWebhook(t.Context(), f.workspace, webhook))
	}
}

func TestAReceiverThatIsGoneDisablesTheWebhook(t *testing.T) {
	f := newFixture(t)
	r := f.receive(func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusGone) })
	webhook, _ := f.create("w", r.URL)
	f.enqueue()
	f.run(nil)
	d := f.awaitState(webhook, hooks.Failed)
	require.Equal(t, 1, d.Attempts)
	w, err := f.db.Webhook(t.Context(), f.workspace, webhook)
	require.NoError(t, err)
	require.False(t, w.Enabled)
	require.Contains(t, *w.DisabledReason, "410")
	f.enqueue()
	require.Len(t, f.deliveries(webhook), 1, "a disabled webhook gets no events")
}

func TestPrivateAddressesAreRefused(t *testing.T) {
	f := newFixture(t)
	r := f.receive(nil)
	webhook, _ := f.create("w", r.URL)
	f.enqueue()
	f.run(func(d *webhooks.Deps) { d.Client = outbound.New(nil).Client })
	d := f.awaitState(webhook, hooks.Failed)
	require.Equal(t, "requests to private addresses are not allowed", *d.LastError)
	require.Nil(t, d.LastStatus)
	require.Empty(t, r.all())
}

func TestASlowReceiverDoesNotBlockOthers(t *testing.T) {
	f := newFixture(t)
	release := make(chan struct{})
	slow := f.receive(func(http.ResponseWriter, *http.Request, int) { <-release })
	free := sync.OnceFunc(func() { close(release) })
	t.Cleanup(free)
	fast := f.receive(nil)
	slowID, _ := f.create("slow", slow.URL)
	fastID, _ := f.create("fast", fast.URL)
	for range 20 {
		f.enqueue()
	}
	f.run(func(d *webhooks.Deps) { d.Concurrency = 8 })
	f.eventually(func() bool { return len(fast.all()) == 20 }, "the fast receiver gets all events")
	f.enqueue()
	f.eventually(func() bool { return len(fast.all()) == 21 }, "the fast receiver gets one more event")
	require.Len(t, slow.all(), 4, "at most 4 are sent to a webhook at the same time")
	require.Len(t, f.deliveries(fastID), 21)
	free()
	f.eventually(func() bool {
		for _, d := range f.deliveries(slowID) {
			if d.State != hooks.Delivered {
				return false
			}
		}
		return true
	}, "the slow receiver gets all events")
	require.Len(t, slow.all(), 21)
}

// crashing is a store of a process that dies before it stores an outcome.
type crashing struct {
	webhooks.Store
	crash context.CancelFunc
}

var errCrashed = errors.New("crashed")

func (s *crashing) FinishAttempt(context.Context, *hooks.Claim, hooks.Attempt) error {
	s.crash()
	return errCrashed
}

func (s *crashing) ReleaseClaim(context.Context, *hooks.Claim) error { return errCrashed }

func TestADeliveryThatWasSentBeforeACrashIsRepeatedWithItsID(t *testing.T) {
	f := newFixture(t)
	r := f.receive(nil)
	webhook, _ := f.create("w", r.URL)
	id := f.enqueue()
	ctx, crash := context.WithCancel(t.Context())
	const claimFor = time.Second
	f.run(func(d *webhooks.Deps) {
		d.Store, d.ClaimFor, d.Grace = &crashing{f.db, crash}, claimFor, time.Millisecond
	})
	<-ctx.Done()
	require.Equal(t, hooks.Pending, f.deliveries(webhook)[0].State)
	f.run(nil)
	f.awaitState(webhook, hooks.Delivered)
	messages := r.all()
	require.GreaterOrEqual(t, len(messages), 2)
	for i := range messages {
		require.Equal(t, id.String(), messages[i].id())
	}
}

func TestRequestsEndWhenTheProcessStops(t *testing.T) {
	f := newFixture(t)
	arrived := make(chan struct{}, 1)
	r := f.receive(func(_ http.ResponseWriter, r *http.Request, _ int) {
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	webhook, _ := f.create("w", r.URL)
	f.enqueue()
	stop := f.run(func(d *webhooks.Deps) { d.Grace = 10 * time.Millisecond })
	<-arrived
	stop()
	d := f.deliveries(webhook)[0]
	require.Equal(t, hooks.Pending, d.State)
	require.Zero(t, d.Attempts, "an attempt that the stop ended does not count")
	claims, err := f.db.ClaimDeliveries(t.Context(), hooks.Claims{Max: 1, PerWebhook: 1, For: time.Minute})
	require.NoError(t, err)
	require.Len(t, claims, 1, "another process can send it at once")
}

func TestBackoffsAddUpToAboutADay(t *testing.T) {
	var total time.Duration
	for attempt := 1; attempt < webhooks.MaxAttempts; attempt++ {
		delay := webhooks.Backoff(attempt)
		require.Positive(t, delay)
		total += delay
	}
	require.Greater(t, total, 12*time.Hour)
	require.Less(t, total, 42*time.Hour)
	require.LessOrEqual(t, webhooks.Backoff(1), 15*time.Second)
}

func TestEventsOfOtherWorkspacesAreNotDelivered(t *testing.T) {
	f := newFixture(t)
	r := f.receive(nil)
	f.create("w", r.URL)
	own := f.workspace
	f.workspace = uuid.New()
	f.enqueue()
	f.workspace = own
	id := f.enqueue()
	f.run(nil)
	f.eventually(func() bool { return len(r.all()) > 0 }, "the event of the workspace is delivered")
	require.Equal(t, id.String(), r.all()[0].id())
	require.Len(t, r.all(), 1)
}
