package contract_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/test/contract"
	"github.com/livegraph/livegraph/test/kafkatest"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// hostile are texts that break statements that are built without escaping.
var hostile = []string{
	`'; DROP TABLE sources; --`, `" OR ""="`, `%_\`, `{{.}} ${x} <script>alert(1)</script>`, `=HYPERLINK("x")`,
	`../../etc/passwd`,
	"🚀👩‍👩‍👧", "\u202eright to left", "zero\u200bwidth", "e\u0301", "é", `__proto__`, `$where`, `{series:UInt64}`,
	strings.Repeat("é", 256),
}

func TestASourceIsCreatedReadChangedAndDeleted(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	id := "0194A5B0-0000-7000-8000-00000000000A"
	a := l.post(t, "/api/live-data/sources", `{"id":"`+
		id+`","name":"boiler","description":"in the\ncellar","nodeId":"`+uuid.NewString()+`",
		"unit":"°C","metrics":[{"name":"temp","unit":"K"},{"name":"door","description":"open?"}],
		"tags":{"room":"A","floor":"1"},"retentionDays":30,"intervalSeconds":0.5}`)
	made := decode[source](t, a, http.StatusCreated)
	require.Equal(t, strings.ToLower(id), made.ID)
	require.Equal(t, "/api/live-data/sources/"+made.ID, a.Header.Get("Location"))
	require.Equal(t, 1, made.Version)
	require.Equal(t, "never", *made.Status)
	require.Nil(t, made.LastSeenAt)
	require.Equal(t, made.CreatedAt, made.UpdatedAt)

	path := "/api/live-data/sources/" + made.ID
	var read source
	tag := l.Get(t, path, &read).Header.Get("ETag")
	require.Equal(t, made, read)
	l.Get(t, "/api/live-data/sources/"+id, &read) // upper case is the same id
	again := l.Do(t, contract.Request{Path: path, Header: map[string]string{"If-None-Match": tag}})
	require.Equal(t, http.StatusNotModified, again.Status)

	patch := func(body string) source {
		return decode[source](t, l.Do(t, contract.Request{Method: http.MethodPatch, Path: path, Body: body}), http.StatusOK)
	}
	same := patch(`{"expectedVersion":1,"name":"boiler","tags":{"none":null}}`)
	require.Equal(t, made, same, "a change of nothing")
	require.Equal(t, made, patch(`{}`))
	changed := patch(
		`{"expectedVersion":1,"name":"kettle","description":null,"nodeId":null,"unit":null,"metrics":null,
			"tags":{"room":null,"site":"x"},"retentionDays":null,"intervalSeconds":2}`,
	)
	require.Equal(t, 2, changed.Version)
	require.True(t, changed.UpdatedAt.After(made.UpdatedAt))
	require.Equal(t, map[string]string{"floor": "1", "site": "x"}, changed.Tags)
	require.Equal(
		t, source{ID: made.ID, Name: "kettle", Metrics: []map[string]string{}, Tags: changed.Tags, IntervalSeconds: ptr(2.0),
			CreatedAt: made.CreatedAt, UpdatedAt: changed.UpdatedAt, Version: 2, Status: ptr("never")}, changed,
	)
	require.Empty(t, patch(`{"tags":null}`).Tags)

	stale := l.Do(t, contract.Request{Method: http.MethodPatch, Path: path, Body: `{"expectedVersion":2,"name":"x"}`})
	stale.RequireFailure(
		t, http.StatusConflict, "CONFLICT", "Version mismatch", map[string]any{"expectedVersion": 2.0, "actualVersion": 3.0},
	)

	gone := l.Do(t, contract.Request{Method: http.MethodDelete, Path: path})
	require.Equal(t, http.StatusNoContent, gone.Status)
	for _, method := range []string{http.MethodGet, http.MethodPatch, http.MethodDelete} {
		body := ""
		if method == http.MethodPatch {
			body = `{"name":"x"}`
		}
		l.Do(t, contract.Request{
			Method: method, Path: path, Body: body,
		}).RequireFailure(t, http.StatusNotFound, "NOT_FOUND", "No such source", nil)
	}
	l.post(t, "/api/live-data/sources", `{"id":"`+made.ID+`","name":"new"}`).
		RequireFailure(t, http.StatusConflict, "CONFLICT", "", map[string]any{"reason": "already_exists", "field": "id"})
}

func TestNamesAndIdsOfSourcesAreTakenOnce(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	first := l.createSource(t, `{"name":"boiler"}`)
	l.createSource(t, `{"name":"Boiler"}`) // another name
	l.createSource(t, `{"name":"cafe\u0301"}`)
	l.createSource(t, `{"name":"café"}`) // differs by normalisation: another name
	l.post(t, "/api/live-data/sources", `{"name":"boiler"}`).
		RequireFailure(
			t, http.StatusConflict, "CONFLICT", "A source has this name",
			map[string]any{"reason": "already_exists", "field": "name"},
		)
	l.post(t, "/api/live-data/sources", `{"name":"x","id":"`+first.ID+`"}`).
		RequireFailure(
			t, http.StatusConflict, "CONFLICT", "A source has or had this id",
			map[string]any{"reason": "already_exists", "field": "id"},
		)
	l.Do(t, contract.Request{
		Method: http.MethodPatch, Path: "/api/live-data/sources/" + first.ID, Body: `{"name":"Boiler"}`,
	}).
		RequireFailure(
			t, http.StatusConflict, "CONFLICT", "A source has this name",
			map[string]any{"reason": "already_exists", "field": "name"},
		)
}

// badSources returns bad bodies of both methods that write sources, and of one of them. The
// source made exists.
func badSources(made source) (both, onlyPost, onlyPatch []refusal) {
	long := strings.Repeat("x", 257)
	manyTags, manyMetrics := &strings.Builder{}, &strings.Builder{}
	for i := range 65 {
		fmt.Fprintf(manyTags, `,"k%d":"v"`, i)
	}
	for i := range 1001 {
		fmt.Fprintf(manyMetrics, `,{"name":"m%d"}`, i)
	}
	both = []refusal{
		{`{"name":1}`, 400, "name"}, {`{"name":null}`, 400, "name"}, {`{"name":"a","name":"b"}`, 400, "name"},
		{`{"Name":"a"}`, 400, "Name"},
		{`{"name":"a"} x`, 400, "body"}, {`[]`, 400, "body"}, {`"x"`, 400, "body"}, {`null`, 400, "body"},
		{`{"name":"a`, 400, "name"}, {"\ufeff{}", 400, "body"},
		{`{"name":"` + "\xff" + `"}`, 400, "name"}, {`{"name":"\ud800"}`, 400, "name"},
		{`{"name":"a","version":2}`, 400, "version"},
		{`{"name":"a","createdAt":"2026-01-01T00:00:00Z"}`, 400, "createdAt"}, {`{"name":"a","tags":[]}`, 400, "tags"},
		{`{"name":"a","tags":{"a":1}}`, 400, "tags.a"},
		{`{"name":"a","tags":{"a":{"b":"c"}}}`, 400, "tags.a"}, {`{"name":"a","tags":{"a":"1","a":"2"}}`, 400, "tags.a"},
		{`{"name":"a","metrics":[{"unit":"K"}]}`, 400, "metrics[0].name"},
		{`{"name":"a","metrics":[{"name":"m","kind":"x"}]}`, 400, "metrics[0].kind"},
		{`{"name":"a","metrics":[{"name":"m"},{"name":"m"}]}`, 422, "metrics[1].name"},
		{`{"name":"a","metrics":{}}`, 400, "metrics"},
		{`{"name":"a","retentionDays":1.5}`, 400, "retentionDays"},
		{`{"name":"a","retentionDays":"1"}`, 400, "retentionDays"}, {`{"name":"a","retentionDays":0}`, 422, "retentionDays"},
		{`{"name":"a","retentionDays":-1}`, 422, "retentionDays"},
		{`{"name":"a","retentionDays":36501}`, 422, "retentionDays"},
		{`{"name":"a","retentionDays":9223372036854775808}`, 422, "retentionDays"},
		{`{"name":"a","intervalSeconds":0}`, 422, "intervalSeconds"},
		{`{"name":"a","intervalSeconds":-0}`, 422, "intervalSeconds"},
		{`{"name":"a","intervalSeconds":1e400}`, 422, "intervalSeconds"},
		{`{"name":"a","intervalSeconds":1e-400}`, 422, "intervalSeconds"},
		{`{"name":"a","intervalSeconds":NaN}`, 400, "intervalSeconds"},
		{`{"name":"a","intervalSeconds":true}`, 400, "intervalSeconds"},
		{`{"name":""}`, 422, "name"}, {`{"name":"  "}`, 422, "name"}, {`{"name":"` + long + `"}`, 422, "name"},
		{`{"name":"a\u0000"}`, 422, "name"}, {`{"name":"a\nb"}`, 422, "name"}, {`{"name":"a\u2028"}`, 422, "name"},
		{`{"name":"a","unit":"` + long + `"}`, 422, "unit"}, {`{"name":"a","description":"\u0007"}`, 422, "description"},
		{`{"name":"a","tags":{"":"x"}}`, 422, `tags[""]`},
		{`{"name":"a","tags":{"a":"\u0000"}}`, 422, "tags.a"}, {`{"name":"a","tags":{"` + long + `":"x"}}`, 422, "tags"},
		{`{"name":"a","tags":{"z":"1"` + manyTags.String() + `}}`, 422, "tags"},
		{`{"name":"a","metrics":[{"name":"m"}` + manyMetrics.String() + `]}`, 422, "metrics"},
		{`{"name":"a","nodeId":"x"}`, 422, "nodeId"}, {`{"name":"a","nodeId":""}`, 422, "nodeId"},
		{`{"name":"a","nodeId":"{` + made.ID + `}"}`, 422, "nodeId"}, {`{"name":"a","nodeId":7}`, 400, "nodeId"},
		{strings.Repeat("[", 10_000), 400, "body"}, {" ", 400, "body"}, {`{"name":"a",}`, 400, "body"},
		{`{/**/"name":"a"}`, 400, "body"},
	}
	onlyPost = []refusal{
		{`{}`, 400, "name"}, {`{"unit":"x"}`, 400, "name"}, {`{"name":"a","id":"x"}`, 422, "id"},
		{`{"name":"a","id":"{` + made.ID + `}"}`, 422, "id"}, {`{"name":"a","id":null}`, 400, "id"},
		{`{"name":"a","id":"` + strings.ReplaceAll(made.ID, "-", "") + `"}`, 422, "id"},
		{`{"name":"a","description":null}`, 400, "description"}, {`{"name":"a","expectedVersion":1}`, 400, "expectedVersion"},
	}
	onlyPatch = []refusal{
		{`{"expectedVersion":0,"name":"a"}`, 422, "expectedVersion"}, {`{"expectedVersion":-1}`, 422, "expectedVersion"},
		{`{"expectedVersion":"1"}`, 400, "expectedVersion"},
		{`{"expectedVersion":9223372036854775808}`, 422, "expectedVersion"},
		{`{"expectedVersion":1.5}`, 400, "expectedVersion"}, {`{"expectedVersion":null}`, 400, "expectedVersion"},
		{`{"id":"` + made.ID + `"}`, 400, "id"},
	}
	return both, onlyPost, onlyPatch
}

func TestSourceBodiesAreReadStrictly(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	made := l.createSource(t, `{"name":"boiler"}`)
	path := "/api/live-data/sources/" + made.ID
	both, onlyPost, onlyPatch := badSources(made)
	try := func(method, path string, failures []refusal) {
		for _, f := range failures {
			a := l.Do(t, contract.Request{Method: method, Path: path, Body: f.body})
			require.Equal(t, f.status, a.Status, "%s %.100s: %s", method, f.body, a.Body)
			require.Equal(t, validation, a.Error.Code)
			require.Contains(t, a.Error.Details, "reason")
			if f.field != "body" { // the position of a syntax error depends on the parser
				require.Equal(t, f.field, a.Error.Details["field"], "%.100s", f.body)
			}
		}
	}
	try(http.MethodPost, "/api/live-data/sources", append(onlyPost, both...))
	try(http.MethodPatch, path, append(onlyPatch, both...))
	var after source
	l.Get(t, path, &after)
	require.Equal(t, made, after, "nothing has changed")

	var all []source
	require.EqualValues(t, 1, l.Get(t, "/api/live-data/sources", &all).Meta.Total)
	l.Do(t, contract.Request{
		Method: "POST", Path: "/api/live-data/sources?name=x", Body: `{"name":"a"}`,
	}).RequireFailure(t, 400, validation, "", map[string]any{"field": "name"})
	l.Do(t, contract.Request{
		Method: "POST", Path: "/api/live-data/sources", Body: `{"name":"a"}`,
		Header: map[string]string{"Content-Type": "text/plain"},
	}).
		RequireFailure(t, 415, validation, "", map[string]any{"field": "Content-Type", "allowed": []any{"application/json"}})
	l.Do(t, contract.Request{
		Method: "PATCH", Path: path, Body: `{"name":"boiler"}`,
		Header: map[string]string{"Content-Type": "application/merge-patch+json"},
	})
	large := l.post(t, "/api/live-data/sources", `{"name":"a","description":"`+strings.Repeat("x", 1<<20)+`"}`)
	large.RequireFailure(t, 413, validation, "", map[string]any{"limit": float64(1 << 20)})
}

func TestIdsInPathsThatAreNoUUIDAreNotFound(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	made := l.createSource(t, `{"name":"boiler"}`)
	for _, id := range []string{
		"x", uuid.NewString(), "{" + made.ID + "}", "urn:uuid:" + made.ID, strings.ReplaceAll(made.ID, "-", ""),
		made.ID + "0", "%20" + made.ID, made.ID + "%00",
		strings.Repeat("a", 10_000), "%F0%9F%9A%80", "'%20OR%201=1", "..%2f" + made.ID,
		"00000000-0000-0000-0000-000000000000",
	} {
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			a := l.Do(t, contract.Request{Method: method, Path: "/api/live-data/sources/" + id})
			a.RequireFailure(t, http.StatusNotFound, "NOT_FOUND", "", nil)
		}
	}
	l.Get(t, "/api/live-data/sources/"+made.ID, &source{})
}

func TestStatusFollowsWhenASourceWasLastHeardFrom(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	quick, slow, silent := l.createSource(t, `{"name":"quick","intervalSeconds":10}`),
		l.createSource(t, `{"name":"slow"}`), l.createSource(t, `{"name":"silent"}`)
	now := time.Now().UTC().Truncate(time.Microsecond)
	seen := func(s source, ago time.Duration) {
		require.NoError(t, l.Points.InsertActivity(t.Context(), []clickhouse.ActivityRow{
			{Workspace: l.Workspace, Source: uuid.MustParse(s.ID), ReceivedAtUS: now.Add(-ago).UnixMicro()}}))
	}
	status := func(s source) (string, *time.Time) {
		var read source
		l.Get(t, "/api/live-data/sources/"+s.ID, &read)
		return *read.Status, read.LastSeenAt
	}
	seen(quick, time.Minute)
	seen(slow, 6*time.Minute)
	text, when := status(quick)
	require.Equal(t, "stale", text)
	require.Equal(t, now.Add(-time.Minute), *when)
	text, _ = status(slow)
	require.Equal(t, "stale", text)
	seen(quick, 20*time.Second)
	seen(slow, 4*time.Minute)
	text, _ = status(quick)
	require.Equal(t, "active", text)
	text, _ = status(slow)
	require.Equal(t, "active", text)
	text, when = status(silent)
	require.Equal(t, "never", text)
	require.Nil(t, when)
}

func TestTheWorkspacesLimitOfSourcesIsNamed(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	_, err := l.DB.UpdateWorkspace(t.Context(), l.Workspace, access.WorkspaceChange{MaxSources: ptr(int64(1))})
	require.NoError(t, err)
	first := l.createSource(t, `{"name":"a"}`)
	l.post(t, "/api/live-data/sources", `{"name":"b"}`).
		RequireFailure(
			t, http.StatusUnprocessableEntity, validation, "The workspace has its 1 sources",
			map[string]any{"field": "sources", "limit": 1.0},
		)
	require.Equal(
		t, http.StatusNoContent,
		l.Do(t, contract.Request{Method: http.MethodDelete, Path: "/api/live-data/sources/" + first.ID}).Status,
	)
	l.createSource(t, `{"name":"b"}`)
}

func TestEachLiveDataRouteRequiresItsScope(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	made := l.createSource(t, `{"name":"a"}`)
	path := "/api/live-data/sources/" + made.ID
	ingest := `{"points":[{"sourceId":"` + made.ID + `","metric":"m","value":1}]}`
	for _, c := range []struct {
		method, path, body string
		scope              request.Scope
		status             int
	}{
		{"GET", "/api/live-data/sources", "", request.ReadLiveData, 200}, {"GET", path, "", request.ReadLiveData, 200},
		{"GET", "/api/live-data/query", "", request.ReadLiveData, 200},
		{"GET", "/api/live-data/series", "", request.ReadLiveData, 200},
		{"POST", "/api/live-data/sources", `{"name":"b"}`, request.WriteLiveData, 201},
		{"PATCH", path, `{"name":"c"}`, request.WriteLiveData, 200},
		{"POST", "/api/live-data/ingest", ingest, request.WriteLiveData, 201}, {"DELETE", path, "", request.Admin, 204},
	} {
		for _, scope := range append([]request.Scope{""}, request.Scopes...) {
			if scope == c.scope || scope == request.Admin {
				continue
			}
			scopes := []request.Scope{scope}
			if scope == "" {
				scopes = nil
			}
			a := l.Do(t, contract.Request{
				Method: c.method, Path: c.path, Body: c.body, Key: l.NewKey(t, []uuid.UUID{l.Workspace}, scopes...),
			})
			a.RequireFailure(
				t, http.StatusForbidden, "AUTHORIZATION_ERROR", "Forbidden", map[string]any{"required": []any{string(c.scope)}},
			)
		}
		a := l.Do(t, contract.Request{
			Method: c.method, Path: c.path, Body: c.body, Key: l.NewKey(t, []uuid.UUID{l.Workspace}, c.scope),
		})
		require.Equal(t, c.status, a.Status, "%s %s: %s", c.method, c.path, a.Body)
	}
}

func TestAnotherWorkspacesSourcesDoNotExist(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	mine := l.createSource(t, `{"name":"canary","tags":{"k":"v"}}`)
	l.store(t, l.Workspace, seriesKey{source: mine.ID, metric: "canarymetric"}, sample{
		time.Now().Add(-time.Minute).UnixMicro(), 424242.0, 1,
	})
	other := l.NewWorkspace(t, "live")
	key := l.NewKey(t, []uuid.UUID{other}, request.Admin)
	ask := func(method, path, body string) *contract.Answer {
		a := l.Do(t, contract.Request{Method: method, Path: path, Body: body, Key: key, Workspace: other.String()})
		require.NotContains(t, string(a.Body), "canary")
		require.NotContains(t, string(a.Body), "424242")
		return a
	}
	path := "/api/live-data/sources/" + mine.ID
	ask("GET", path, "").RequireFailure(t, 404, "NOT_FOUND", "No such source", nil)
	ask("PATCH", path, `{"name":"x"}`).RequireFailure(t, 404, "NOT_FOUND", "No such source", nil)
	ask("DELETE", path, "").RequireFailure(t, 404, "NOT_FOUND", "No such source", nil)
	for _, list := range []string{
		"/api/live-data/sources", "/api/live-data/sources?name=canary", "/api/live-data/series",
		"/api/live-data/series?sourceId=" + mine.ID, "/api/live-data/query",
		"/api/live-data/query?sourceId=" + mine.ID, "/api/live-data/query?source=canary",
		"/api/live-data/query?sourceId=" + mine.ID + "&latest=true",
		"/api/live-data/query?aggregation=count&groupBy=none", "/api/live-data/query?metric=canarymetric",
	} {
		a := ask("GET", list, "")
		require.Equal(t, 200, a.Status)
		require.JSONEq(t, "[]", string(a.Data), list)
		require.Zero(t, a.Meta.Total)
	}
	// Another workspace can use the same id and name.
	made := decode[source](
		t,
		l.Do(t, contract.Request{
			Method: "POST", Path: "/api/live-data/sources", Body: `{"id":"` + mine.ID + `","name":"own"}`, Key: key,
			Workspace: other.String(),
		}),
		201,
	)
	require.Equal(t, mine.ID, made.ID)
	require.Len(t, l.query(t, "sourceId="+mine.ID+"&latest=true"), 1)
}

func TestADeletedSourceIsWrittenToTheLog(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	made := l.createSource(t, `{"name":"boiler"}`)
	l.store(t, l.Workspace, seriesKey{source: made.ID, metric: "m"}, sample{microsAt(0), 1.0, 1})
	require.Len(t, l.query(t, rangeParams(time.Hour)), 1)
	l.Do(t, contract.Request{Method: http.MethodDelete, Path: "/api/live-data/sources/" + made.ID})
	require.Empty(t, l.query(t, rangeParams(time.Hour)), "gone with the answer")
	var list []any
	l.Get(t, "/api/live-data/series", &list)
	require.Empty(t, list)
	pending, err := l.DB.PendingDeletions(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Empty(t, pending, "the log has it")
	workspaces, err := l.DB.WorkspacesByID(t.Context(), []uuid.UUID{l.Workspace})
	require.NoError(t, err)
	require.Zero(t, workspaces[0].Series)
	require.Zero(t, workspaces[0].Sources)
}

func TestADeletionOutlivesAnOutageOfTheLog(t *testing.T) {
	t.Parallel()
	broker := kafkatest.NewKFake(t)
	group := &contract.LiveData{Log: contract.OpenLog(t, broker)}
	l := &live{Server: contract.Start(t, group.Group), LiveData: group}
	made := l.createSource(t, `{"name":"boiler"}`)
	broker.Stop(t)
	gone := l.Do(t, contract.Request{Method: http.MethodDelete, Path: "/api/live-data/sources/" + made.ID})
	require.Equal(t, http.StatusNoContent, gone.Status)
	pending, err := l.DB.PendingDeletions(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Len(t, pending, 1)
	broker.Start(t)
	require.Eventually(t, func() bool {
		pending, err := l.DB.PendingDeletions(t.Context(), 0, 10)
		return err == nil && len(pending) == 0
	}, time.Minute, 50*time.Millisecond)
}
