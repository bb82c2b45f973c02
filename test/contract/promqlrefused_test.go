package contract_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/test/contract"
)

func TestInvalidRequestsOfPromQL(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	times := func(more ...string) []string {
		return append([]string{"start", "0", "end", "60", "step", "1"}, more...)
	}
	for _, c := range []struct {
		path       string
		parameters []string
		status     int
		kind, text string
	}{
		{"/query", nil, 400, badData, `invalid parameter "query"`},
		{"/query", []string{"query", "sum("}, 400, badData, "parse error"},
		{"/query", []string{"query", "nosuch(a)"}, 400, badData, "unknown function"},
		{"/query", []string{"query", "a", "time", "yesterday"}, 400, badData, `invalid parameter "time"`},
		{"/query", []string{"query", "a", "time", "1e300"}, 400, badData, `invalid parameter "time"`},
		{"/query", []string{"query", "a", "time", "NaN"}, 400, badData, `invalid parameter "time"`},
		{"/query", []string{"query", "a", "timeout", "x"}, 400, badData, `invalid parameter "timeout"`},
		{"/query", []string{"query", "a", "limit", "-1"}, 400, badData, `invalid parameter "limit"`},
		{"/query", []string{"query", "a", "lookback_delta", "1e300"}, 400, badData, "overflows"},
		{"/query", []string{"query", strings.Repeat("-", 15<<10) + "a"}, 400, badData, "nested"},
		{"/query", []string{"query", strings.Repeat("(", 7e3) + "1" + strings.Repeat(")", 7e3)}, 400, badData, "nested"},
		{"/query", []string{"query", "1" + strings.Repeat("+1", 7<<10)}, 400, badData, "nested"},
		{"/query", []string{"query", `{a="` + strings.Repeat("x", 17<<10) + `"}`}, 400, badData, "at most 16384 bytes"},
		{"/query", []string{"query", `a{b=~"` + strings.Repeat("(a{1000}){1000}", 3) + `"}`}, 400, badData, ""},
		{"/query", []string{"query", "temp * on() temp", "time", promTime(0)}, 422, execution, "duplicate series"},
		{"/query", []string{"query", "temp", "timeout", "0"}, 503, "timeout", "took longer"},
		{"/query_range", []string{"query", "a"}, 400, badData, `invalid parameter "start"`},
		{"/query_range", times(), 400, badData, `invalid parameter "query"`},
		{"/query_range", []string{"query", "a", "start", "1", "end", "0", "step", "1"}, 400, badData, "end timestamp"},
		{"/query_range", []string{"query", "a", "start", "0", "end", "1"}, 400, badData, `"step": is required`},
		{"/query_range", []string{"query", "a", "start", "0", "end", "1", "step", "0"}, 400, badData, "zero or negative"},
		{"/query_range", []string{"query", "a", "start", "0", "end", "1", "step", "-5"}, 400, badData, "zero or negative"},
		{"/query_range", []string{"query", "a", "start", "0", "end", "11001", "step", "1"}, 400, badData, "11000 points"},
		{"/query_range", times("query", "a[5m]"), 400, badData, "invalid expression type"},
		{"/series", nil, 400, badData, "no match[]"},
		{"/series", []string{"match[]", "sum(a)"}, 400, badData, "match[]"},
		{"/series", []string{"match[]", `{a=~".*"}`}, 400, badData, "non-empty matcher"},
		{"/series", []string{"match[]", "a", "start", "x"}, 400, badData, `"start"`},
		{"/labels", []string{"limit", "x"}, 400, badData, `"limit"`},
		{"/label/%FF/values", nil, 400, badData, "invalid label name"},
		{"/metadata", []string{"limit", "x"}, 400, badData, `"limit"`},
		{"/query_exemplars", nil, 400, badData, "no expression found"},
		{"/query_exemplars", []string{"query", "a b"}, 400, badData, "parse error"},
		{"/query_exemplars", []string{"query", "a", "start", "x"}, 400, badData, `"start"`},
		{"/query_exemplars", []string{"query", "a", "end", "x"}, 400, badData, `"end"`},
		{"/query_exemplars", []string{"query", "a", "start", "1", "end", "0"}, 400, badData, "end timestamp must not be"},
		{"/query_exemplars", []string{"query", strings.Repeat("a+", 100) + "a"}, 400, badData, "at most 100 selectors"},
		{"/format_query", []string{"query", "a b"}, 400, badData, "parse error"},
	} {
		a := f.prom(t, c.path, c.parameters...)
		a.RequireFailure(t, c.status, c.kind, "", nil)
		require.Contains(t, a.Error.Message, c.text, "%s %.80q", c.path, c.parameters)
	}
	many := []string{}
	for range 101 {
		many = append(many, "match[]", "a")
	}
	f.prom(t, "/series", many...).RequireFailure(t, 400, badData, "", nil)
	f.Do(t, contract.Request{Path: "/prometheus/api/v1/query?query=%zz"}).RequireFailure(t, 400, badData, "", nil)
	f.Do(t, contract.Request{Path: "/prometheus/api/v1/none"}).RequireFailure(t, 404, "not_found", "No such path", nil)
	a := f.Do(t, contract.Request{Method: http.MethodPut, Path: "/prometheus/api/v1/query"})
	a.RequireFailure(t, 405, badData, "", nil)
	require.Contains(t, a.Header.Get("Allow"), "POST")
}

func TestParametersOfPromQLInABody(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	send := func(body, contentType string) *contract.Answer {
		return f.Do(t, contract.Request{
			Method: http.MethodPost, Path: "/prometheus/api/v1/query?time=" + promTime(0) + "&query=none", Body: body,
			Header: map[string]string{"Content-Type": contentType},
		})
	}
	const form = "application/x-www-form-urlencoded"
	require.Equal(t, []string{"{__name__=pressure source=boiler} 7@5"},
		promLines(t, send("query=pressure&time="+promTime(5*time.Second), form)))
	require.Empty(t, promLines(t, send("", "")), "the query of the URL")
	send("{}", "application/json").RequireFailure(t, 415, badData, "", nil)
	send("query=%zz", form).RequireFailure(t, 400, badData, "", nil)
	send("query="+strings.Repeat("a", 1<<20), form).RequireFailure(t, 413, badData, "", nil)
	require.Equal(t, http.StatusOK, send("query=1", form+"; charset=utf-8").Status)
}

func TestPromQLRequiresAKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := f.NewWorkspace(t, apikey.Live)
	reader := f.NewKey(t, []uuid.UUID{f.Workspace}, request.ReadLiveData)
	both := f.NewKey(t, []uuid.UUID{f.Workspace, other}, request.ReadLiveData)
	elsewhere := f.NewKey(t, []uuid.UUID{other}, request.ReadLiveData)
	basic := func(key string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte("any:"+key)) }
	ask := func(authorization string, workspace string) *contract.Answer {
		return f.Do(t, contract.Request{
			Path: "/prometheus/api/v1/query?query=pressure&time=" + promTime(time.Second), Key: contract.None,
			Workspace: workspace, Header: map[string]string{"Authorization": authorization},
		})
	}
	for _, authorization := range []string{"Bearer " + reader, basic(reader), "bearer " + reader} {
		require.Len(t, promLines(t, ask(authorization, contract.None)), 1, "the key's only workspace")
		require.Len(t, promLines(t, ask(authorization, f.Workspace.String())), 1)
	}
	require.Empty(t, promLines(t, ask(basic(elsewhere), contract.None)), "nothing of another workspace")
	require.Empty(t, promLines(t, ask(basic(both), other.String())))
	ask("Bearer "+both, contract.None).RequireFailure(t, 400, badData, "", nil)
	ask("Bearer "+elsewhere, f.Workspace.String()).RequireFailure(t, 403, "forbidden", "Workspace access denied", nil)
	ask("Bearer "+reader, "x").RequireFailure(t, 400, badData, "", nil)
	ask("", contract.None).RequireFailure(t, 401, "unauthorized", "Missing Authorization", nil)
	for _, authorization := range []string{"Token " + reader, "Basic " + reader, "Basic !", basic("x"), "Bearer x"} {
		a := ask(authorization, contract.None)
		a.RequireFailure(t, 401, "unauthorized", "Unauthorized", nil)
		require.NotEmpty(t, a.Header.Get("WWW-Authenticate"))
	}
	for _, path := range []string{
		"/prometheus", "/prometheus/", "/prometheus/api/v1/none", "/prometheus/../prometheus/x",
	} {
		f.Do(t, contract.Request{Path: path, Key: contract.None}).RequireFailure(t, 401, "unauthorized", "", nil)
	}
}

func TestPromQLIsBounded(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	made := l.createSource(t, `{"name":"s"}`)
	for i := range 3 {
		samples := make([]sample, 80_000)
		for j := range samples {
			samples[j] = sample{microsAt(time.Duration(j) * 10 * time.Millisecond), float64(j), 1}
		}
		key := seriesKey{source: made.ID, metric: "m", tags: map[string]string{"i": fmt.Sprint(i)}}
		l.store(t, l.Workspace, key, samples...)
	}
	end := []string{"time", promTime(20 * time.Minute)}
	a := l.prom(t, "/query", append(end, "query", "quantile_over_time(0.5, m[1h])")...)
	a.RequireFailure(t, 422, execution, "", nil)
	require.Contains(t, a.Error.Message, "more than 200000 samples: ask for a shorter range")
	require.Equal(t, []string{"{} 160000@1200"}, l.evaluate(t, `sum(count_over_time(m{i!="1"}[1h]))`, end...),
		"more than one read of 100,000")
	a = l.prom(t, "/query", append(
		end, "query", `quantile_over_time(0, m{i!="1"}[1h]) + quantile_over_time(0, m{i="1"}[1h])`,
	)...)
	a.RequireFailure(t, 422, execution, "", nil)
	require.Equal(t, []string{"{} 240000@1200"}, l.evaluate(t, `sum(count_over_time(m[1h]))`, end...),
		"the samples of windows are not in memory")
	require.Equal(t, []string{`{i=1} 0@1200`}, l.evaluate(
		t, `count_over_time(m{i="1"}[1h]) - on(i) count_over_time(m[1h])`, end...,
	))
	for _, query := range []string{
		`count_over_time(m{_=""}[1h])`, `max_over_time(count_over_time(m[1h])[1m:1m])`, `count_over_time(m[1h] @ end())`,
		`absent(count_over_time(m[1h]))`, `count_over_time(m[1h]) + quantile_over_time(0, m[1h])`,
	} {
		l.prom(t, "/query", append(end, "query", query)...).RequireFailure(t, 422, execution, "", nil)
	}
	l.prom(t, "/query_range", "query", "sum_over_time(m[100y])", "start", promTime(20*time.Minute), "end",
		promTime(20*time.Minute+10*time.Second), "step", "0.001").RequireFailure(t, 422, execution, "", nil)
	a = l.prom(t, "/query", append(end, "query", `sum_over_time(vector(1)[100d:1s])`)...)
	a.RequireFailure(t, 422, execution, "", nil)
	require.Contains(t, a.Error.Message, "in memory")

	for from := 0; from < 1001; from += 143 {
		for i := range 143 {
			tags := map[string]string{"i": fmt.Sprint(from + i)}
			l.register(t, l.Workspace, seriesKey{source: made.ID, metric: "many", tags: tags})
		}
	}
	a = l.prom(t, "/query", "query", "many")
	a.RequireFailure(t, 422, execution, "", nil)
	require.Contains(t, a.Error.Message, "more than 1000 series: add label matchers")
	l.prom(t, "/series", "match[]", "many").RequireFailure(t, 422, execution, "", nil)
	l.prom(t, "/label/i/values").RequireFailure(t, 422, execution, "", nil)
	require.Empty(t, l.evaluate(t, `many{i=~"1.*"}`, end...))
}
