package contract_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/test/contract"
)

type workspaceResponse struct {
	ID, Name, Plan, Mode string
	PerMinute, PerDay    *int64
	Limits               struct {
		RequestsPerMinute, RequestsPerDay *int64
		Sources, Series                   int64
	}
	RetentionDays *int
}

func TestAnOperatorManagesWorkspaces(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t, contract.GraphReads)
	o := s.Login(t)
	var w workspaceResponse
	o.Send(t, "POST", "/admin/api/workspaces", `{"name":"plant 7"}`, 201, &w)
	require.Equal(t, []string{"starter", "live"}, []string{w.Plan, w.Mode})
	require.EqualValues(t, 60, *w.Limits.RequestsPerMinute)
	require.EqualValues(t, 10_000, w.Limits.Sources)

	path := "/admin/api/workspaces/" + w.ID
	w = workspaceResponse{}
	o.Send(
		t, "PATCH", path, `{"plan":"enterprise","perMinute":10,"maxSeries":5,"retentionDays":30,"name":"plant 8"}`, 200, &w,
	)
	require.Equal(t, "plant 8", w.Name)
	require.EqualValues(t, 10, *w.PerMinute)
	require.EqualValues(t, 10, *w.Limits.RequestsPerMinute)
	require.Nil(t, w.Limits.RequestsPerDay)
	require.EqualValues(t, 5, w.Limits.Series)
	require.Equal(t, 30, *w.RetentionDays)

	id := uuid.MustParse(w.ID)
	reader := s.NewKey(t, []uuid.UUID{id}, "read:nodes")
	require.Equal(t, 200, s.Do(t, contract.Request{Path: "/api/queries/nodes", Key: reader, Workspace: w.ID}).Status)
	var detail struct {
		workspaceResponse
		Nodes, Edges, Keys int64
		Standing           struct {
			Minute, Day struct{ Limit, Used, Remaining *int64 }
		}
	}
	o.Get(t, path, &detail)
	require.EqualValues(t, 1, detail.Keys)
	require.EqualValues(t, 10, *detail.Standing.Minute.Limit)
	require.Nil(t, detail.Standing.Day.Limit)

	w = workspaceResponse{}
	o.Send(t, "PATCH", path, `{"plan":"pro","retentionDays":null}`, 200, &w)
	require.Nil(t, w.PerMinute, "the plan has limits of its own")
	require.EqualValues(t, 300, *w.Limits.RequestsPerMinute)
	require.Nil(t, w.RetentionDays)

	for _, name := range hostile {
		body, err := json.Marshal(map[string]string{"name": name})
		require.NoError(t, err)
		var named workspaceResponse
		o.Send(t, "POST", "/admin/api/workspaces", string(body), 201, &named)
		require.Equal(t, name, named.Name)
	}
	require.Subset(t, namesOf(t, o), hostile)
	var page []workspaceResponse
	o.Get(t, "/admin/api/workspaces?name=PLANT&limit=1&offset=0", &page)
	require.Len(t, page, 1)

	var deletion struct {
		ID      string
		Deleted bool
		Stores  []any
	}
	o.Send(t, "DELETE", path, "", 202, &deletion)
	require.Equal(t, w.ID, deletion.ID)
	require.False(t, deletion.Deleted)
	o.Get(t, path+"/deletion", &deletion)
	require.Equal(t, 404, o.Do(t, contract.Request{Path: path}).Status)
	require.NotContains(t, namesOf(t, o), "plant 8")
	eventually(t, "the key opens it no more", func() bool {
		return s.Do(t, contract.Request{
			Path: "/api/queries/nodes", Key: reader, Workspace: w.ID,
		}).Status == http.StatusForbidden
	})
}

func TestWorkspacesBeyondAPageAreFound(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t)
	o := s.Login(t)
	execute(t, s, `INSERT INTO workspaces (id, name, plan, mode, created_at)
		SELECT gen_random_uuid(), 'Plant ' || i, CASE WHEN i % 2 = 0 THEN 'pro'
		ELSE 'starter' END, 'live', now() - i * interval '1 hour'
		FROM generate_series(1, 1100) i`)
	list := func(query string) (list []workspaceResponse, total int64) {
		t.Helper()
		a := o.Do(t, contract.Request{Path: "/admin/api/workspaces?" + query})
		require.Equal(t, 200, a.Status, string(a.Body))
		var answer struct {
			Data []workspaceResponse
			Meta struct{ Total int64 }
		}
		require.NoError(t, json.Unmarshal(a.Body, &answer))
		return answer.Data, answer.Meta.Total
	}
	names := func(query string) (names []string) {
		t.Helper()
		found, _ := list(query)
		for _, w := range found {
			names = append(names, w.Name)
		}
		return names
	}
	require.Equal(t, []string{"Plant 1100", "Plant 1099"}, names("name=plant&limit=2"))
	require.Equal(t, []string{"Plant 1", "Plant 2"}, names("name=plant&limit=2&sort=-createdAt"))
	require.Equal(t, []string{"Plant 1", "Plant 10", "Plant 100"}, names("name=plant&limit=3&sort=name"))
	require.Equal(t, []string{"Plant 999", "Plant 998"}, names("name=plant&limit=2&sort=-name"))
	require.Equal(
		t, []string{"Plant 1099", "Plant 1097"}, names("name=plant&limit=2&sort=-plan"), "among equals the oldest first",
	)
	require.Equal(t, []string{"Plant 2", "Plant 1"}, names("name=plant&offset=1098"))
	last, total := list("name=PLANT+700")
	require.Len(t, last, 1)
	require.EqualValues(t, 1, total)
	for _, query := range []string{
		"name=" + last[0].ID, "name=" + strings.ToUpper(last[0].ID), "id=" + last[0].ID,
		"id=" + uuid.NewString() + "," + last[0].ID,
	} {
		require.Equal(t, []string{"Plant 700"}, names(query), query)
	}
	require.Empty(t, names("id="+uuid.NewString()))
	require.Empty(t, names("name=plant+701&id="+last[0].ID))
	for _, query := range []string{"id=none", "sort=mode", "sort=+name", "limit=1001"} {
		require.Equal(t, 400, o.Do(t, contract.Request{Path: "/admin/api/workspaces?" + query}).Status, query)
	}
}

func TestWrongWorkspacesAreRefusedByField(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t)
	o := s.Login(t)
	starter := "/admin/api/workspaces/" + s.NewWorkspace(t, apikey.Live).String()
	o.Send(t, "PATCH", starter, `{"plan":"starter"}`, 200, nil)
	for _, c := range []struct {
		method, path, body string
		status             int
		field              string
	}{
		{"POST", "", `{}`, 400, "name"}, {"POST", "", `{"name":""}`, 422, "name"},
		{"POST", "", `{"name":"a\nb"}`, 422, "name"},
		{"POST", "", `{"name":"` + strings.Repeat("a", 257) + `"}`, 422, "name"},
		{"POST", "", `{"name":"a","plan":"gold"}`, 422, "plan"},
		{"POST", "", `{"name":"a","mode":"prod"}`, 422, "mode"}, {"POST", "", `{"name":"a","perMinute":5}`, 422, "perMinute"},
		{"POST", "", `{"name":"a","plan":"enterprise","perMinute":0}`, 422, "perMinute"},
		{"POST", "", `{"name":"a","plan":"enterprise","perDay":2147483647}`, 422, "perDay"},
		{"POST", "", `{"name":"a","plan":"enterprise","perDay":1.5}`, 400, "perDay"},
		{"POST", "", `{"name":"a","maxSources":0}`, 422, "maxSources"},
		{"POST", "", `{"name":"a","retentionDays":0}`, 422, "retentionDays"},
		{"POST", "", `{"name":"a","id":"x"}`, 400, "id"},
		{"PATCH", starter, `{"mode":"test"}`, 400, "mode"}, {"PATCH", starter, `{"perDay":5}`, 422, "perDay"},
		{"PATCH", starter, `{"name":null}`, 400, "name"},
		{"PATCH", starter, `{"maxSeries":-1}`, 422, "maxSeries"},
		{"PATCH", starter, `{"plan":"enterprise","perMinute":99999999999}`, 422, "perMinute"},
	} {
		if c.path == "" {
			c.path = "/admin/api/workspaces"
		}
		o.Do(t, contract.Request{
			Method: c.method, Path: c.path, Body: c.body,
		}).RequireFailure(t, c.status, validation, "", map[string]any{"field": c.field})
	}
	for _, id := range []string{uuid.NewString(), "x", "%00", "{}", strings.ToUpper("none")} {
		for _, method := range []string{"GET", "DELETE"} {
			require.Equal(t, 404, o.Do(t, contract.Request{Method: method, Path: "/admin/api/workspaces/" + id}).Status, id)
		}
		require.Equal(
			t, 404, o.Do(t, contract.Request{Method: "PATCH", Path: "/admin/api/workspaces/" + id, Body: `{}`}).Status, id,
		)
		require.Equal(t, 404, o.Do(t, contract.Request{Path: "/admin/api/workspaces/" + id + "/deletion"}).Status, id)
	}
	for _, query := range []string{"limit=0", "limit=1001", "offset=-1", "x=1", "name=a&name=b"} {
		require.Equal(t, 400, o.Do(t, contract.Request{Path: "/admin/api/workspaces?" + query}).Status, query)
	}
}

type keyResponse struct {
	ID, Display, Name, Mode, ActorID, CreatedBy, State string
	Scopes                                             []string
	Workspaces                                         []struct{ ID, Name string }
	ExpiresAt, RevokedAt                               *time.Time
	RolledFrom                                         *string
	RollDue                                            bool
	Key                                                string
}

func TestTheOverviewHasWhatTheProcessMeasures(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	requests := prometheus.NewCounterVec(
		prometheus.CounterOpts{Name: "livegraph_http_requests_total"}, []string{"route", "method", "status"},
	)
	up := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "livegraph_engine_up"}, []string{"engine"})
	lag := prometheus.NewGaugeVec(
		prometheus.GaugeOpts{Name: "livegraph_kafka_reader_lag_records"}, []string{"group", "topic"},
	)
	seconds := prometheus.NewGaugeVec(
		prometheus.GaugeOpts{Name: "livegraph_kafka_reader_lag_seconds"}, []string{"group", "topic"},
	)
	dead := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "livegraph_dead_letters"}, []string{"state", "topic"})
	registry.MustRegister(requests, up, lag, seconds, dead)
	requests.WithLabelValues("/api/me", "GET", "200").Add(10)
	up.WithLabelValues("postgres").Set(1)
	up.WithLabelValues("kafka").Set(0)
	for i, reader := range [][2]string{
		{"livegraph-points", "points"}, {"livegraph-lexical", "graph.events"}, {"livegraph-embeddings", "graph.events"},
	} {
		lag.WithLabelValues(reader[0], reader[1]).Set(float64(7 + i))
		seconds.WithLabelValues(reader[0], reader[1]).Set(float64(2 + i))
	}
	dead.WithLabelValues("open", "points").Set(2)
	dead.WithLabelValues("discarded", "points").Set(7)
	page := &contract.Administration{Metrics: registry}
	s := contract.Start(t, page.Group)
	o := operatorTest{s.Login(t)}
	var seen struct {
		Version string
		Engines []struct {
			Name string
			Up   bool
		}
		Consumers []struct {
			Topic      string
			Group      string
			LagRecords int64
			LagSeconds float64
		}
		DeadLetters []struct {
			Topic string
			Open  int64
		}
		Rates struct {
			Requests      float64
			PointsVisible *float64
		}
		History []any
	}
	o.Get(t, "/admin/api/overview", &seen)
	require.Equal(t, contract.Version, seen.Version)
	require.Len(t, seen.Engines, 2)
	require.Equal(t, "kafka", seen.Engines[0].Name)
	require.False(t, seen.Engines[0].Up)
	require.True(t, seen.Engines[1].Up)
	require.Len(t, seen.Consumers, 3, "each reader of a topic by itself")
	for i, want := range []struct {
		topic, group     string
		records, seconds float64
	}{
		{"graph.events", "livegraph-embeddings", 9, 4}, {"graph.events", "livegraph-lexical", 8, 3},
		{"points", "livegraph-points", 7, 2},
	} {
		require.Equal(t, want.topic, seen.Consumers[i].Topic)
		require.Equal(t, want.group, seen.Consumers[i].Group)
		require.InDelta(t, want.records, float64(seen.Consumers[i].LagRecords), 0)
		require.InDelta(t, want.seconds, seen.Consumers[i].LagSeconds, 0)
	}
	require.Len(t, seen.DeadLetters, 1)
	require.EqualValues(t, 2, seen.DeadLetters[0].Open)
	require.Nil(t, seen.Rates.PointsVisible, "this process does not do that")

	_, body := o.stream(t, "/admin/api/overview/stream")
	requests.WithLabelValues("/api/me", "GET", "200").Add(1000)
	for events := 0; ; {
		line, err := body.ReadString('\n')
		require.NoError(t, err)
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		require.NoError(t, json.Unmarshal([]byte(data), &seen))
		s.CheckAdminSchema(t, "OverviewEvent", data)
		if events++; seen.Rates.Requests > 0 && events > 1 {
			break
		}
		require.Less(t, events, 30, "the rate rises")
	}
}
