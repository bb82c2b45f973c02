package rules

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/platform/outbound"
	"github.com/livegraph/livegraph/storage/postgres/alerting"
)

// managers are the Alertmanagers of each workspace.
type managers struct {
	Store
	list []alerting.Alertmanager

	mu      sync.Mutex
	results map[string]string // failures by URL
}

func (m *managers) Alertmanagers(context.Context, uuid.UUID) ([]alerting.Alertmanager, error) {
	return m.list, nil
}

func (m *managers) RecordResult(_ context.Context, _ uuid.UUID, to *alerting.Alertmanager, failure string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.results[to.URL] = failure
	return nil
}

func newTestSender(list ...alerting.Alertmanager) *sender {
	guard := outbound.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	r := New(Deps{Store: &managers{list: list, results: map[string]string{}}, Client: guard.Client})
	return newSender(r, uuid.New(), slog.New(slog.DiscardHandler))
}

// results returns the recorded failures by URL.
func (s *sender) results() map[string]string { return s.Store.(*managers).results }

// protected is an Alertmanager behind a login.
func protected(t *testing.T, allowed func(*http.Request) bool) (url string, accepted *atomic.Int64) {
	t.Helper()
	accepted = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var alerts []sentAlert
		switch {
		case !allowed(r):
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path != "/am/api/v2/alerts" || r.Header.Get("Content-Type") != "application/json" ||
			json.NewDecoder(r.Body).Decode(&alerts) != nil || len(alerts) != 1:
			w.WriteHeader(http.StatusBadRequest)
		default:
			accepted.Add(1)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/am/", accepted
}

func TestAlertsAreSentWithTheCredentialsOfEachAlertmanager(t *testing.T) {
	t.Parallel()
	basic, byPassword := protected(t, func(r *http.Request) bool {
		user, password, ok := r.BasicAuth()
		return ok && user == "ops" && password == "pä:ss" && r.Header.Get("X-Scope-Orgid") == ""
	})
	bearer, byToken := protected(t, func(r *http.Request) bool {
		return r.Header.Get("Authorization") == "Bearer t0ken" && r.Header.Get("X-Scope-Orgid") == "a|b"
	})
	open, byNothing := protected(t, func(r *http.Request) bool {
		return r.Header.Get("Authorization") == "" && r.Header.Get("X-Key") == "k"
	})
	list := []alerting.Alertmanager{
		{URL: basic, Auth: alerting.Basic, Username: "ops", Secret: "pä:ss"},
		{URL: bearer, Auth: alerting.Bearer, Secret: "t0ken", Headers: map[string]config.Secret{"X-Scope-OrgID": "a|b"}},
		{URL: open, Headers: map[string]config.Secret{"X-Key": "k"}},
	}
	s := newTestSender(list...)
	require.NoError(t, s.send(t.Context(), make([]sentAlert, 1)))
	for _, accepted := range []*atomic.Int64{byPassword, byToken, byNothing} {
		require.EqualValues(t, 1, accepted.Load())
	}
	require.InDelta(t, 3, testutil.ToFloat64(s.metrics.sent.WithLabelValues("sent")), 0)
	require.Equal(t, map[string]string{basic: "", bearer: "", open: ""}, s.results())

	const refused = "an Alertmanager answers 401"
	list[0].Secret, list[1].Secret = "wr0ng", "wr0ng"
	s = newTestSender(list...)
	require.EqualError(t, s.send(t.Context(), make([]sentAlert, 1)), refused+"\n"+refused)
	require.Equal(t, map[string]string{basic: refused, bearer: refused, open: ""}, s.results())
	ended, end := context.WithCancel(t.Context())
	end()
	s = newTestSender(list...)
	require.Error(t, s.send(ended, make([]sentAlert, 1)))
	require.Empty(t, s.results(), "the process ends, so nothing is known")
}

// TestCredentialsFollowNoRedirect answers with a redirect to another server, and to another path of the same one.
func TestCredentialsFollowNoRedirect(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(other.Close)
	var requests atomic.Int64
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{other.URL, "/elsewhere"} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				http.Redirect(w, r, to, status)
			}))
			t.Cleanup(server.Close)
			err := newTestSender(alerting.Alertmanager{
				URL: server.URL, Auth: alerting.Bearer, Secret: "t0ken", Headers: map[string]config.Secret{"X-Key": "k"},
			}).send(t.Context(), make([]sentAlert, 1))
			require.ErrorContains(t, err, "an Alertmanager answers 3")
		}
	}
	require.EqualValues(t, 10, requests.Load(), "one request to each")
	require.Zero(t, reached.Load())
}

// TestErrorsContainNoCredentials fails in each way in which a request can fail.
func TestErrorsContainNoCredentials(t *testing.T) {
	t.Parallel()
	dropping := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = connection.Close()
		}
	}))
	t.Cleanup(dropping.Close)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for _, address := range []string{dropping.URL, closed.URL, "http://10.0.0.1", "http://x.invalid", ":", "http://[::1"} {
		for _, secret := range []config.Secret{"s3cret", "s3cret\r\n"} { // the latter cannot be sent
			err := newTestSender(alerting.Alertmanager{
				URL: address, Auth: alerting.Basic, Username: "s3cret", Secret: secret,
				Headers: map[string]config.Secret{"X-Key": secret},
			}).send(t.Context(), make([]sentAlert, 1))
			require.Error(t, err, address)
			for e := err; e != nil; e = errors.Unwrap(e) {
				require.NotContains(t, e.Error(), "s3cret")
				require.NotContains(t, e.Error(), base64.StdEncoding.EncodeToString([]byte("s3cret"))[:6])
			}
		}
	}
}
