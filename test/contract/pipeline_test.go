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
	deadLettersPath  = "/admin/api/dead-letters"
	replaysPath      = "/admin/api/replays"
	adminReindexPath = "/admin/api/indexes/reindex"
)

// pipelineTest is an operator of a server with a running pipeline.
type pipelineTest struct {
	*contract.Operator
	pipeline *contract.Pipeline
	live     *contract.LiveData
}

// startPipeline starts a pipelineTest. With smallPortions, each request about dead letters
// processes one portion.
func startPipeline(t *testing.T, smallPortions bool) *pipelineTest {
	t.Helper()
	d := &pipelineTest{pipeline: &contract.Pipeline{}, live: &contract.LiveData{}}
	if smallPortions {
		d.pipeline.Change = func(deps *pipeline.Deps) { deps.BulkTime = time.Nanosecond }
	}
	live := func(t testing.TB, s *contract.Server) []route.Route {
		t.Helper()
		d.live.Log, d.live.Points = d.pipeline.Log, d.pipeline.Points
		return d.live.Group(t, s)
	}
	page := func(t testing.TB, s *contract.Server) []route.Route {
		t.Helper()
		return (&contract.Administration{Records: d.pipeline.Points}).Group(t, s)
	}
	s := contract.Start(t, d.pipeline.Group, live, page)
	d.Operator = s.Login(t)
	return d
}

func TestBadPipelineRequestsAreRefused(t *testing.T) {
	t.Parallel()
	d := startPipeline(t, false)
	for query, field := range map[string]string{
		deadLettersPath + "?topic=nothing": "topic", deadLettersPath + "?topic=points,": "topic",
		deadLettersPath + "?state=lost": "state", deadLettersPath + "?workspaceId=x": "workspaceId",
		deadLettersPath + "?workspaceId=" + uuid.NewString(): "workspaceId", deadLettersPath + "?from=yesterday": "from",
		deadLettersPath + "?limit=0": "limit",
		deadLettersPath + "?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z": "to",
		deadLettersPath + "?offset=951":                                        "offset",
		deadLettersPath + "?x=1":                                               "x",
		deadLettersPath + "?reason=a&reason=b":                                 "reason",
		"/admin/api/topics?x=1":                                                "x", replaysPath + "?limit=-1": "limit",
		replaysPath + "/x?y=1":         "y",
		"/admin/api/indexes?offset=-1": "offset", adminReindexPath + "?x=1": "x",
	} {
		a := d.Do(t, contract.Request{Path: query})
		a.RequireFailure(t, 400, validation, "", map[string]any{"field": field})
	}
	for _, path := range []string{
		"/points.dlq/0/1", "/points.dlq/99/0", "/points/x/0", "/points/0/x", "/nothing/0/0", "/points/-1/0",
		"/points.dlq/0/9223372036854775808",
	} {
		d.Do(t, contract.Request{Path: deadLettersPath + path}).RequireFailure(t, 404, "NOT_FOUND", "", nil)
	}
	place := `{"topic":"points.dlq","partition":0,"offset":0}`
	for _, c := range []struct {
		path, body, field string
		status            int
	}{
		{deadLettersPath + "/redrive", `{}`, "filter", 400},
		{deadLettersPath + "/redrive", `{"places":[]}`, "places", 422},
		{deadLettersPath + "/redrive", `{"places":[` + strings.Repeat(place+",", 100) + place + `]}`, "places", 422},
		{deadLettersPath + "/redrive", `{"places":[` + place + `],"filter":{}}`, "filter", 422},
		{deadLettersPath + "/redrive", `{"places":[` + place + `],"cursor":"x"}`, "cursor", 422},
		{deadLettersPath + "/redrive", `{"places":[{"partition":0,"offset":0}]}`, "places[0].topic", 400},
		{deadLettersPath + "/redrive", `{"places":[{"topic":"x","partition":0,"offset":0}]}`, "places[0].topic", 422},
		{
			deadLettersPath + "/redrive", `{"places":[{"topic":"points","partition":"0","offset":0}]}`,
			"places[0].partition", 400,
		},
		{deadLettersPath + "/redrive", `{"filter":{"topics":["x"]}}`, "filter.topics[0]", 422},
		{deadLettersPath + "/redrive", `{"filter":{"states":["x"]}}`, "filter.states[0]", 422},
		{deadLettersPath + "/redrive", `{"filter":{"from":"now"}}`, "filter.from", 422},
		{deadLettersPath + "/redrive", `{"filter":{"workspaceId":"x"}}`, "filter.workspaceId", 422},
		{deadLettersPath + "/redrive", `{"filter":{"workspaceId":"` + uuid.NewString() + `"}}`, "filter.workspaceId", 422},
		{deadLettersPath + "/redrive", `{"filter":{"topic":"points"}}`, "filter.topic", 400},
		{deadLettersPath + "/redrive", `{"filter":{},"reason":"` + strings.Repeat("a", 1001) + `"}`, "reason", 422},
		{deadLettersPath + "/redrive", `{"filter":null}`, "filter", 400},
		{deadLettersPath + "/discard", `{"filter":{}}`, "reason", 400},
		{deadLettersPath + "/discard", `{"filter":{},"reason":""}`, "reason", 422},
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
		{adminReindexPath, `{"model":"x"}`, "model", 400},
	} {
		a := d.Do(t, contract.Request{Method: http.MethodPost, Path: c.path, Body: c.body})
		require.Equal(t, c.status, a.Status, "%s %s: %s", c.path, c.body, a.Body)
		require.Equal(t, c.field, a.Error.Details["field"], "%s %s: %s", c.path, c.body, a.Body)
	}
	a := d.Do(t, contract.Request{Method: http.MethodPost, Path: replaysPath, Body: `{"topic":"points","fromStart":true}`})
	a.RequireFailure(t, 422, validation, "", nil)
	require.Contains(t, a.Error.Message, "no record", "an empty log has nothing to replay")
}

// Without a session, no key gives access to these routes.
func TestPipelineRoutesAreForOperators(t *testing.T) {
	t.Parallel()
	d := startPipeline(t, false)
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
	d.Send(t, http.MethodPost, adminReindexPath, "", http.StatusAccepted, nil)
	d.Get(t, "/admin/api/trail", &acts)
	require.Contains(t, string(acts[0]), adminReindexPath, "what operators do is noted")
}
