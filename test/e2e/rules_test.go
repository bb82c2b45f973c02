package e2e

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/testenv"
)

const rulesOfTest = `groups:
- name: machines
  interval: 1s
  rules:
  - record: twice
    expr: temperature * 2
  - record: four_times
    expr: twice * 2
  - record: latency:twice
    expr: latency * 2
  - alert: Hot
    expr: temperature > 80
    labels: {severity: page}
    annotations: {summary: "{{ $labels.source }} is at {{ $value | humanize }} °C"}
  - alert: HotForLong
    expr: temperature > 80
    for: 2s
`

// alertmanager receives alerts as Alertmanager does.
type alertmanager struct {
	*httptest.Server
	mu     sync.Mutex
	alerts []receivedAlert
}

type receivedAlert struct {
	Labels, Annotations map[string]string
	StartsAt, EndsAt    time.Time
}

func newAlertmanager(t *testing.T) *alertmanager {
	t.Helper()
	a := &alertmanager{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var alerts []receivedAlert
		body, err := io.ReadAll(r.Body)
		if r.URL.Path != "/api/v2/alerts" || err != nil || json.Unmarshal(body, &alerts) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.alerts = append(a.alerts, alerts...)
	}))
	t.Cleanup(a.Close)
	return a
}

// received reports whether an alert that satisfies a condition was received.
func (a *alertmanager) received(accept func(receivedAlert) bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, alert := range a.alerts {
		if accept(alert) {
			return true
		}
	}
	return false
}

// sendHistogram sends a native histogram with some observations, as Prometheus does.
func (s *server) sendHistogram(t *testing.T, metric string, observations uint64) {
	t.Helper()
	h := prompb.FromIntHistogram(time.Now().UnixMilli(), &histogram.Histogram{
		Count: observations, Sum: 1, PositiveSpans: []histogram.Span{{Length: 1}},
		PositiveBuckets: []int64{int64(observations)},
	})
	body, err := (&prompb.WriteRequest{Timeseries: []prompb.TimeSeries{{
		Labels: []prompb.Label{
			{Name: "__name__", Value: metric}, {Name: "instance", Value: "a:1"}, {Name: "job", Value: "node"},
		},
		Histograms: []prompb.Histogram{h},
	}}}).Marshal()
	require.NoError(t, err)
	answer, err := s.TryWith(
		http.Header{"Content-Type": {"application/x-protobuf"}, "Content-Encoding": {"snappy"}}, http.MethodPost,
		"/api/v1/write", snappy.Encode(nil, body),
	)
	require.NoError(t, err)
	require.Equal(t, http.StatusNoContent, answer.Status, "%+v", answer.Error)
}

// TestAlertsOutliveKills evaluates rules in a process that is killed while alerts fire. They are recorded as firing
// once, go on after the restart, and are resolved when the condition ends. Recorded series reach queries,
// Alertmanager gets the alerts, and a webhook gets an event for each change.
func TestAlertsOutliveKills(t *testing.T) {
	testenv.RequireFull(t)
	t.Parallel()
	s := newServer(t, "--rules-min-interval", "1s", "--outbound-allowed-networks", "127.0.0.0/8")
	s.Start()
	manager := newAlertmanager(t)
	s.Do(http.MethodPut, "/api/alertmanagers", map[string]any{"urls": []string{manager.URL}}, http.StatusOK, nil)
	receiver := newReceiver(t)
	s.Do(http.MethodPost, "/api/webhooks", map[string]any{
		"name": "on call", "url": receiver.URL, "events": []string{"alert.firing", "alert.resolved"},
	}, http.StatusCreated, nil)
	s.Do(http.MethodPost, "/api/live-data/sources", map[string]any{"name": "lathe"}, http.StatusCreated, nil)
	s.measure(90)
	s.sendHistogram(t, "latency", 3)
	answer, err := s.TryWith(http.Header{"Content-Type": {"application/yaml"}}, http.MethodPut, "/api/rules/machines",
		[]byte(rulesOfTest))
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, answer.Status, "%+v", answer.Error)

	require.Eventually(t, func() bool { return s.alertsInState("firing") == 2 }, time.Minute, 200*time.Millisecond)
	require.Eventually(t, func() bool {
		return strings.Contains(s.promQuery("four_times"), `"360"`) &&
			strings.Contains(s.promQuery("ALERTS"), "HotForLong") &&
			strings.Contains(s.promQuery("histogram_count(latency:twice)"), `"6"`)
	}, time.Minute, 200*time.Millisecond)
	require.Eventually(t, func() bool {
		return manager.received(func(a receivedAlert) bool {
			return a.Labels["severity"] == "page" && a.Annotations["summary"] == "lathe is at 90 °C" &&
				a.EndsAt.After(time.Now())
		})
	}, time.Minute, 100*time.Millisecond)
	before := s.recordedAlerts()
	require.Len(t, before, 2)

	s.Crash()
	restarted := time.Now()
	require.Eventually(t, func() bool { return s.lastEvaluation().After(restarted) },
		time.Minute, 200*time.Millisecond) // when the lease of the killed process has expired
	require.Eventually(t, func() bool { return s.alertsInState("firing") == 2 }, time.Minute, 200*time.Millisecond)
	require.Equal(t, before, s.recordedAlerts(), "the alerts go on")

	s.measure(20)
	require.Eventually(t, func() bool { return len(s.recordedAlerts()) == 0 }, time.Minute, 200*time.Millisecond)
	require.Eventually(t, func() bool {
		return manager.received(func(a receivedAlert) bool {
			return a.Labels["severity"] == "page" && !a.EndsAt.After(time.Now())
		})
	}, time.Minute, 100*time.Millisecond)
	want := []string{"alert.firing Hot", "alert.firing HotForLong", "alert.resolved Hot", "alert.resolved HotForLong"}
	require.Eventually(t, func() bool { return len(receiver.received()) >= len(want) }, time.Minute,
		100*time.Millisecond)
	s.Do(http.MethodDelete, "/api/rules/machines", nil, http.StatusNoContent, nil)
	require.Eventually(t, func() bool { return s.lastEvaluation().IsZero() }, time.Minute, 200*time.Millisecond)
	require.Equal(t, want, receiver.received(), "each change is one event")
}

// receiver receives webhooks.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	events map[string]string // by id
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{events: map[string]string{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		var event struct {
			Type string
			Data struct{ Alertname string }
		}
		body, err := io.ReadAll(request.Body)
		if err != nil || json.Unmarshal(body, &event) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events[request.Header.Get("Webhook-Id")] = event.Type + " " + event.Data.Alertname
	}))
	t.Cleanup(r.Close)
	return r
}

// received returns the events, sorted.
func (r *receiver) received() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Values(r.events))
}

// testRulesPage runs the commands of docs/rules.md, and lists by command line what they made.
func testRulesPage(t *testing.T, server *server) {
	commands := testedCommands(t, "rules.md")
	runCommands(t, server, commands[0])
	require.Contains(t, runCommands(t, server, commands[1]), "furnace is at 95 °C")
	workspace := []string{"--workspace", server.First.WorkspaceID}
	list := func(args ...string) string { return server.CLI(append(args, workspace...)...) }
	require.Regexp(t, `(?m)^machines +1 +2 +\d+ +\S+Z\n1 file$`, list("rules", "list"))
	require.Contains(t, list("rules", "get", "machines"), "record: source:temperature:avg5m")
	require.Regexp(t, `(?m)^firing +Hot +\S+Z +9.5e\+01 +severity=page,? ?source=furnace +furnace is at 95 °C$`,
		list("rules", "alerts"))
	require.Contains(t, list("rules", "delete", "machines"), "machines is deleted")
	require.Contains(t, list("rules", "list"), "0 files")
}

// measure sends a temperature.
func (s *server) measure(value float64) {
	s.t.Helper()
	s.Do(http.MethodPost, "/api/live-data/ingest", map[string]any{"points": []any{
		map[string]any{"source": "lathe", "metric": "temperature", "value": value},
	}}, http.StatusCreated, nil)
}

// promQuery returns the answer to a query in PromQL.
func (s *server) promQuery(query string) string {
	s.t.Helper()
	answer, err := s.Try(http.MethodGet, "/prometheus/api/v1/query?query="+url.QueryEscape(query), nil)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusOK, answer.Status, "%+v", answer.Error)
	return string(answer.Data)
}

// alertsInState returns the number of active alerts in a state.
func (s *server) alertsInState(state string) int {
	s.t.Helper()
	answer, err := s.Try(http.MethodGet, "/prometheus/api/v1/alerts", nil)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusOK, answer.Status, "%+v", answer.Error)
	return strings.Count(string(answer.Data), `"state":"`+state+`"`)
}

// lastEvaluation returns when the rules were evaluated last, the zero time if there are none.
func (s *server) lastEvaluation() time.Time {
	s.t.Helper()
	answer, err := s.Try(http.MethodGet, "/prometheus/api/v1/rules", nil)
	require.NoError(s.t, err)
	var rules struct {
		Groups []struct{ LastEvaluation time.Time }
	}
	require.NoError(s.t, json.Unmarshal(answer.Data, &rules))
	if len(rules.Groups) == 0 {
		return time.Time{}
	}
	return rules.Groups[0].LastEvaluation
}

// recordedAlerts returns when each alert that is recorded as firing began to fire, by name.
func (s *server) recordedAlerts() map[string]time.Time {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.PostgresSuperuser("livegraph"))
	require.NoError(s.t, err)
	defer func() { _ = conn.Close(s.t.Context()) }()
	rows, err := conn.Query(s.t.Context(), `SELECT labels ->> 'alertname', fired_at FROM firing_alerts`)
	require.NoError(s.t, err)
	alerts := map[string]time.Time{}
	var name string
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&name, &at}, func() error {
		alerts[name] = at
		return nil
	})
	require.NoError(s.t, err)
	return alerts
}
