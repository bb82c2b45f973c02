package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/promql"
	"github.com/livegraph/livegraph/test/contract"
	"github.com/livegraph/livegraph/test/promwrite"
)

// Types of the errors of Prometheus.
const (
	badData   = "bad_data"
	execution = "execution"
)

// prom requests a path of the API of Prometheus with parameters as name and value.
func (l *live) prom(t testing.TB, path string, parameters ...string) *contract.Answer {
	t.Helper()
	q := contract.Request{Path: "/prometheus/api/v1" + path + "?" + promForm(parameters...).Encode()}
	if len(q.Path) > 10_000 { // too long for a URL
		q.Path, q.Body, _ = strings.Cut(q.Path, "?")
		q.Method, q.Header = http.MethodPost, map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
	}
	return l.Do(t, q)
}

func promForm(parameters ...string) url.Values {
	form := url.Values{}
	for i := 0; i+1 < len(parameters); i += 2 {
		form.Add(parameters[i], parameters[i+1])
	}
	return form
}

// evaluate returns the series of a query's answer as text, sorted.
func (l *live) evaluate(t testing.TB, query string, parameters ...string) []string {
	t.Helper()
	path := "/query"
	if len(parameters) > 2 {
		path = "/query_range"
	}
	a := l.prom(t, path, append([]string{"query", query}, parameters...)...)
	require.Equal(t, http.StatusOK, a.Status, "%s: %s", query, a.Body)
	return promLines(t, a)
}

func promLines(t testing.TB, a *contract.Answer) (lines []string) {
	t.Helper()
	var data struct {
		ResultType string
		Result     json.RawMessage
	}
	require.NoError(t, json.Unmarshal(a.Data, &data))
	if data.ResultType == "scalar" || data.ResultType == "string" {
		return []string{string(data.Result)}
	}
	var list []struct {
		Metric map[string]string
		Value  []any
		Values [][]any
	}
	require.NoError(t, json.Unmarshal(data.Result, &list))
	for _, s := range list {
		line := labelText(s.Metric)
		if s.Value != nil {
			s.Values = [][]any{s.Value}
		}
		for _, point := range s.Values {
			line += fmt.Sprintf(" %v@%v", point[1], point[0].(float64)-float64(t0.Unix()))
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

func labelText(labels map[string]string) string {
	parts := []string{}
	for _, name := range sortedKeys(labels) {
		parts = append(parts, name+"="+labels[name])
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// labelSets returns the series that match a selector.
func (l *live) labelSets(t testing.TB, selector string) (sets []string) {
	t.Helper()
	var list []map[string]string
	a := l.prom(t, "/series", "match[]", selector)
	require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
	require.NoError(t, json.Unmarshal(a.Data, &list))
	for _, labels := range list {
		sets = append(sets, labelText(labels))
	}
	slices.Sort(sets)
	return sets
}

func promTime(d time.Duration) string { return fmt.Sprint(t0.Add(d).Unix()) }

func TestPromQLIsEvaluated(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	at := func(query string, d time.Duration) []string { return f.evaluate(t, query, "time", promTime(d)) }
	require.Equal(t, []string{
		"{__name__=temp room=A source=boiler} 2@150", "{__name__=temp room=B source=fan} 100@150",
	}, at("temp", 150*time.Second), "the newest version of the newest point")
	require.Equal(t, []string{"{} 102@150"}, at("sum(temp)", 150*time.Second))
	require.Empty(t, at("state", 150*time.Second), "strings are left out")
	require.Empty(t, at("temp", time.Hour), "the last point is too old")
	require.Equal(t, []string{"[1772323350,\"42\"]"}, at("42", 150*time.Second))
	require.Equal(t, []string{"[1772323350,\"a \\\"b\\\"\"]"}, at(`"a \"b\""`, 150*time.Second))
	require.Equal(t, []string{"{} +Inf@0"}, at("vector(1) / 0", 0))
	require.Equal(t, []string{"{} NaN@0"}, at("vector(0) / 0", 0))
	require.Equal(t, []string{
		"{__name__=temp room=A source=boiler} 1@0 2@60 2@120 4.5@180",
	}, f.evaluate(t, `temp{room="A"}`, "start", promTime(0), "end", promTime(3*time.Minute), "step", "1m"))
	a := f.prom(t, "/query_range", "query", "temp", "start", promTime(0), "end", promTime(time.Minute), "step", "60",
		"limit", "1", "stats", "all")
	require.Contains(t, string(a.Body), `"warnings":["results truncated due to limit"]`)
	require.Contains(t, string(a.Data), `"stats":{`)
	a = f.prom(t, "/format_query", "query", "sum(rate(  a[5m]))by(x)")
	require.Equal(t, `"sum by (x) (rate(a[5m]))"`, string(a.Data))
}

func TestTimesOfPromQLAreInMilliseconds(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	made := l.createSource(t, `{"name":"s"}`)
	l.store(t, l.Workspace, seriesKey{source: made.ID, metric: "m"},
		sample{microsAt(0), 1.0, 1}, sample{microsAt(0) + 999, 2.0, 1}, sample{microsAt(0) + 1000, 3.0, 1},
		sample{microsAt(time.Second) + 500, 4.0, 1})
	require.Equal(t, []string{"{source=s} 2@1"}, l.evaluate(t, "count_over_time(m[1s])", "time", promTime(time.Second)),
		"of the points of one millisecond the last one counts; the range excludes its begin")
	require.Equal(t, []string{"{__name__=m source=s} 2@0"}, l.evaluate(t, "m", "time", promTime(0)))
	require.Equal(t, []string{"{__name__=m source=s} 4@1"}, l.evaluate(t, "m", "time", promTime(time.Second)))
}

func TestLabelsAreThoseThatWereWritten(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	written := [][]string{
		{"__name__", "up", "instance", "a:1", "job", "node"},
		{"__name__", "up", "job", "node"},
		{"__name__", "up", "instance", "a:1"},
		{"__name__", "up", "instance", "c", "job", "a/b"},
		{"__name__", "up", "instance", "b/c", "job", "a"},
		{"__name__", "up", "job", "a/b/c"},
		{"__name__", "up", "instance", "/", "job", "/"},
		{"__name__", "up", "job", "prometheus"},
		{"__name__", "ALERTS", "alertname", "x", "source", "y", "exported_source", "z"},
		{"__name__", "a metric with \"spaces\" é", "instance", "a:1", "job", "node", "label.with.dots", "v"},
	}
	var series []promwrite.Message
	want := []string{}
	for _, labels := range written {
		series = append(series, promwrite.Labels(labels...).Sample(marchFirst, 1))
		set := map[string]string{}
		for i := 0; i < len(labels); i += 2 {
			set[labels[i]] = labels[i+1]
		}
		want = append(want, labelText(set))
	}
	slices.Sort(want)
	require.Equal(t, http.StatusNoContent, l.remoteWrite(t, remoteWritePath, encodeWrite(series...), nil).Status)
	require.Equal(t, want, l.labelSets(t, `{__name__=~".+"}`))
	require.Len(t, l.labelSets(t, `{job="a/b"}`), 1)
	require.Len(t, l.labelSets(t, `{job=~"a|node",instance!~"b.*"}`), 3)
	require.Len(t, l.labelSets(t, `{"a metric with \"spaces\" é","label.with.dots"="v"}`), 1)
	require.Len(t, l.labelSets(t, `{exported_source="z",source="y"}`), 1)
}

func TestLabelsOfOtherSources(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	pump := l.createSource(t, `{"name":"pump","tags":{"room":"cellar","floor":"-1"}}`)
	target := l.createSource(t, `{"name":"any","tags":{"job":"node","instance":"a"}}`)
	one := sample{microsAt(0), 1.0, 1}
	l.store(t, l.Workspace, seriesKey{source: pump.ID, metric: "flow", tags: map[string]string{"room": "attic"}}, one)
	l.store(t, l.Workspace, seriesKey{source: pump.ID, metric: "flow", tags: map[string]string{
		"source": "x", "exported_source": "y", "__name__": "z",
	}}, one)
	l.store(t, l.Workspace, seriesKey{source: target.ID, metric: "flow"}, one)
	l.store(t, l.Workspace, seriesKey{source: target.ID, metric: "flow", tags: map[string]string{"job": "other"}}, one)
	l.store(t, l.Workspace, seriesKey{source: pump.ID, metric: "text", text: true}, sample{microsAt(0), "on", 1})
	require.Equal(t, []string{
		"{__name__=flow exported___name__=z exported_exported_source=x exported_source=y floor=-1 room=cellar source=pump}",
		"{__name__=flow floor=-1 room=attic source=pump}",
		"{__name__=flow instance=a job=node}",
		"{__name__=flow job=other}",
	}, l.labelSets(t, "flow"))
	for selector, n := range map[string]int{
		`{source="pump"}`: 2, `{floor="-1"}`: 2, `{room=~"att.*|none"}`: 1, `{exported_exported_source="x"}`: 1,
		`{exported_source="y"}`: 1, `{__name__=~"fl.*",job=""}`: 2, `{__name__=~"flow|text"}`: 4,
		`{job=~"node|other"}`: 2, `{instance="a"}`: 1, `flow{job!="node"}`: 3, `{source="\x00"}`: 0, `{__name__="\xff"}`: 0,
		`{__name__=~"\x00.*"}`: 0, `{room="x",room="cellar"}`: 0, `{__name__=~"f.+",__name__!="flow"}`: 0,
	} {
		require.Len(t, l.labelSets(t, selector), n, selector)
	}
	var names []string
	require.NoError(t, json.Unmarshal(l.prom(t, "/labels", "match[]", `{source="pump",room="attic"}`).Data, &names))
	require.Equal(t, []string{"__name__", "floor", "room", "source"}, names)
	for query, want := range map[string]string{
		"/label/__name__/values": `["flow"]`, "/label/room/values": `["attic","cellar"]`, "/label/none/values": `[]`,
		"/label/U__room/values": `["attic","cellar"]`,
	} {
		require.JSONEq(t, want, string(l.prom(t, query).Data), query)
	}
	a := l.prom(t, "/label/room/values", "limit", "1", "start", "0", "end", promTime(0))
	require.Contains(t, string(a.Body), `"data":["attic"],"warnings":["results truncated due to limit"]`)
	a = l.prom(t, "/label/room/values", "match[]", `{room="cellar"}`, "match[]", "none")
	require.JSONEq(t, `["cellar"]`, string(a.Data))
}

func TestSeriesWithTheSameLabelsAreOne(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	for i, name := range []string{"one", "two"} {
		made := l.createSource(t, `{"name":"`+name+`","tags":{"job":"j"}}`)
		l.store(t, l.Workspace, seriesKey{source: made.ID, metric: "m"},
			sample{microsAt(time.Duration(i) * time.Second), 1.0, 1}, sample{microsAt(5 * time.Second), 1.0, 1})
	}
	require.Equal(t, []string{"{job=j} 3@9"}, l.evaluate(t, "count_over_time(m[10s])", "time", promTime(9*time.Second)))
	require.Len(t, l.labelSets(t, "m"), 1)
}

func TestMetadataAndBuildInformation(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	l.createSource(t, `{"name":"a","unit":"bar",
		"metrics":[{"name":"temp","unit":"°C","description":"outlet"},{"name":"p"}]}`)
	l.createSource(t, `{"name":"b","unit":"bar","metrics":[{"name":"p"},{"name":"temp"}]}`)
	require.JSONEq(t, `{"temp":[{"type":"unknown","help":"outlet","unit":"°C"},{"type":"unknown","help":"","unit":"bar"}],
		"p":[{"type":"unknown","help":"","unit":"bar"}]}`, string(l.prom(t, "/metadata").Data))
	require.JSONEq(t, `{"temp":[{"type":"unknown","help":"outlet","unit":"°C"}]}`,
		string(l.prom(t, "/metadata", "metric", "temp", "limit_per_metric", "1", "limit", "1").Data))
	a := l.prom(t, "/status/buildinfo")
	require.Contains(t, string(a.Data), `"version":"`+promql.EngineVersion+`"`)
	module, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	version := regexp.MustCompile(`prometheus/prometheus v0\.(\d)(\d+)\.(\d+)`).FindSubmatch(module)
	require.NotNil(t, version)
	require.Equal(t, fmt.Sprintf("%s.%s.%s", version[1], version[2], version[3]), promql.EngineVersion)
}

func TestPromQLLeavesOutWhatIsDeletedOrExpired(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	made := l.createSource(t, `{"name":"s"}`)
	now := time.Now()
	l.store(t, l.Workspace, seriesKey{source: made.ID, metric: "m"},
		sample{now.Add(-50 * time.Hour).UnixMicro(), 1.0, 1}, sample{now.Add(-time.Minute).UnixMicro(), 2.0, 1})
	count := func() []string {
		return promLines(t, l.prom(t, "/query", "query", "count_over_time(m[100h]) > bool 1"))
	}
	require.Contains(t, count()[0], "{source=s} 1@")
	require.Equal(t, http.StatusOK, l.Do(t, contract.Request{
		Method: http.MethodPatch, Path: "/api/live-data/sources/" + made.ID, Body: `{"retentionDays":1}`,
	}).Status)
	require.Contains(t, count()[0], "{source=s} 0@")
	require.Equal(t, http.StatusNoContent, l.Do(t, contract.Request{
		Method: http.MethodDelete, Path: "/api/live-data/sources/" + made.ID,
	}).Status)
	require.Empty(t, count())
	require.Empty(t, l.labelSets(t, "m"))
	require.JSONEq(t, `[]`, string(l.prom(t, "/label/__name__/values").Data))
}
