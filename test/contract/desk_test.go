package contract_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/admin/pipeline"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/test/contract"
)

const (
	lettersPath = "/admin/api/dead-letters"
	replaysPath = "/admin/api/replays"
	deskReindex = "/admin/api/indexes/reindex"
)

// deskTest is an operator before a pipeline at work.
type deskTest struct {
	*contract.Operator
	desk *contract.Desk
	live *contract.LiveData
}

// startDesk starts one. Each request about letters does one portion, if brief says so.
func startDesk(t *testing.T, brief bool) *deskTest {
	t.Helper()
	d := &deskTest{desk: &contract.Desk{}, live: &contract.LiveData{}}
	if brief {
		d.desk.Change = func(deps *pipeline.Deps) { deps.BulkTime = time.Nanosecond }
	}
	live := func(t testing.TB, s *contract.Server) []route.Route {
		t.Helper()
		d.live.Log, d.live.Points = d.desk.Log, d.desk.Points
		return d.live.Group(t, s)
	}
	page := func(t testing.TB, s *contract.Server) []route.Route {
		t.Helper()
		return (&contract.Administration{Records: d.desk.Points}).Group(t, s)
	}
	s := contract.Start(t, d.desk.Group, live, page)
	d.Operator = s.Login(t)
	return d
}

func TestBadQuestionsToTheDeskAreRefused(t *testing.T) {
	t.Parallel()
	d := startDesk(t, false)
	for query, field := range map[string]string{
		lettersPath + "?topic=nothing": "topic", lettersPath + "?topic=points,": "topic",
		lettersPath + "?state=lost": "state", lettersPath + "?workspaceId=x": "workspaceId",
		lettersPath + "?workspaceId=" + uuid.NewString(): "workspaceId", lettersPath + "?from=yesterday": "from",
		lettersPath + "?limit=0": "limit",
		lettersPath + "?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z": "to", lettersPath + "?offset=951": "offset",
		lettersPath + "?x=1":               "x",
		lettersPath + "?reason=a&reason=b": "reason", "/admin/api/topics?x=1": "x", replaysPath + "?limit=-1": "limit",
		replaysPath + "/x?y=1":         "y",
		"/admin/api/indexes?offset=-1": "offset", deskReindex + "?x=1": "x",
	} {
		a := d.Do(t, contract.Request{Path: query})
		a.RequireFailure(t, 400, validation, "", map[string]any{"field": field})
	}
	for _, path := range []string{
		"/points.dlq/0/1", "/points.dlq/99/0", "/points/x/0", "/points/0/x", "/nothing/0/0", "/points/-1/0",
		"/points.dlq/0/9223372036854775808",
	} {
		d.Do(t, contract.Request{Path: lettersPath + path}).RequireFailure(t, 404, "NOT_FOUND", "", nil)
	}
	place := `{"topic":"points.dlq","partition":0,"offset":0}`
	for _, c := range []struct {
		path, body, field string
		status            int
	}{
		{lettersPath + "/redrive", `{}`, "filter", 400},
		{lettersPath + "/redrive", `{"places":[]}`, "places", 422},
		{lettersPath + "/redrive", `{"places":[` + strings.Repeat(place+",", 100) + place + `]}`, "places", 422},
		{lettersPath + "/redrive", `{"places":[` + place + `],"filter":{}}`, "filter", 422},
		{lettersPath + "/redrive", `{"places":[` + place + `],"cursor":"x"}`, "cursor", 422},
		{lettersPath + "/redrive", `{"places":[{"partition":0,"offset":0}]}`, "places[0].topic", 400},
		{lettersPath + "/redrive", `{"places":[{"topic":"x","partition":0,"offset":0}]}`, "places[0].topic", 422},
		{lettersPath + "/redrive", `{"places":[{"topic":"points","partition":"0","offset":0}]}`, "places[0].partition", 400},
		{lettersPath + "/redrive", `{"filter":{"topics":["x"]}}`, "filter.topics[0]", 422},
		{lettersPath + "/redrive", `{"filter":{"states":["x"]}}`, "filter.states[0]", 422},
		{lettersPath + "/redrive", `{"filter":{"from":"now"}}`, "filter.from", 422},
		{lettersPath + "/redrive", `{"filter":{"workspaceId":"x"}}`, "filter.workspaceId", 422},
		{lettersPath + "/redrive", `{"filter":{"workspaceId":"` + uuid.NewString() + `"}}`, "filter.workspaceId", 422},
		{lettersPath + "/redrive", `{"filter":{"topic":"points"}}`, "filter.topic", 400},
		{lettersPath + "/redrive", `{"filter":{},"reason":"` + strings.Repeat("a", 1001) + `"}`, "reason", 422},
		{lettersPath + "/redrive", `{"filter":null}`, "filter", 400},
		{lettersPath + "/discard", `{"filter":{}}`, "reason", 400},
		{lettersPath + "/discard", `{"filter":{},"reason":""}`, "reason", 422},
		{replaysPath, `{}`, "topic", 400},
		{replaysPath, `{"topic":"audit","fromStart":true}`, "topic", 422},
		{replaysPath, `{"topic":"points"}`, "fromStart", 422},
		{replaysPath, `{"topic":"points","fromStart":true,"fromTime":"2026-01-01T00:00:00Z"}`, "fromStart", 422},
		{replaysPath, `{"topic":"points","fromTime":"yesterday"}`, "fromTime", 422},
		{replaysPath, `{"topic":"points","fromTime":"9000-01-01T00:00:00Z"}`, "fromTime", 422},
		{replaysPath, `{"topic":"points","fromOffsets":{"a":1}}`, "fromOffsets", 422},
		{replaysPath, `{"topic":"points","fromOffsets":{"01":1}}`, "fromOffsets", 422},
		{replaysPath, `{"topic":"points","fromOffsets":{"9":1}}`, "fromOffsets", 422},
		{replaysPath, `{"topic":"points","fromOffsets":{"0":7}}`, "fromOffsets", 422},
		{replaysPath, `{"topic":"points","fromStart":true,"maxRowsPerSecond":0}`, "maxRowsPerSecond", 422},
		{replaysPath, `{"topic":"points","fromStart":true,"workspaceId":"` + uuid.NewString() + `"}`, "workspaceId", 422},
		{replaysPath, `{"topic":"points","fromStart":1}`, "fromStart", 400},
		{deskReindex, `{"model":"x"}`, "model", 400},
	} {
		a := d.Do(t, contract.Request{Method: http.MethodPost, Path: c.path, Body: c.body})
		require.Equal(t, c.status, a.Status, "%s %s: %s", c.path, c.body, a.Body)
		require.Equal(t, c.field, a.Error.Details["field"], "%s %s: %s", c.path, c.body, a.Body)
	}
	a := d.Do(t, contract.Request{Method: http.MethodPost, Path: replaysPath, Body: `{"topic":"points","fromStart":true}`})
	a.RequireFailure(t, 422, validation, "", nil)
	require.Contains(t, a.Error.Message, "no record", "an empty log has nothing to replay")
}

// Nobody without a session sees or changes anything, whatever key they have.
func TestTheDeskIsForOperators(t *testing.T) {
	t.Parallel()
	d := startDesk(t, false)
	tried := 0
	for _, rt := range d.Server.API.Routes() {
		if rt.Access != route.Operator || !strings.HasPrefix(rt.Pattern, "/admin/api/") {
			continue
		}
		path := strings.NewReplacer(
			"{id}", uuid.NewString(), "{topic}", "points", "{partition}", "0", "{offset}", "0",
		).Replace(rt.Pattern)
		a := d.Server.Do(t, contract.Request{Method: rt.Method, Path: path})
		a.RequireFailure(t, 401, authentication, "Unauthorized", nil)
		tried++
		if rt.Method != http.MethodGet {
			q := d.Request(contract.Request{Method: rt.Method, Path: path})
			q.Header["X-CSRF-Token"] = ""
			d.Server.Do(t, q).RequireFailure(t, 403, authorization, "", nil)
		}
	}
	require.GreaterOrEqual(t, tried, 12)
	var acts []json.RawMessage
	d.Send(t, http.MethodPost, deskReindex, "", http.StatusAccepted, nil)
	d.Get(t, "/admin/api/trail", &acts)
	require.Contains(t, string(acts[0]), deskReindex, "what operators do is noted")
}
