package promql_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/stretchr/testify/require"
)

// Parts of the random queries.
var (
	rangeFunctions = []string{
		"rate", "irate", "increase", "delta", "idelta", "deriv", "resets", "changes", "avg_over_time", "sum_over_time",
		"min_over_time", "max_over_time", "count_over_time", "last_over_time", "stddev_over_time", "stdvar_over_time",
		"present_over_time", "absent_over_time",
	}
	instantFunctions = []string{
		"abs", "ceil", "floor", "round", "exp", "ln", "log2", "log10", "sqrt", "sgn", "timestamp", "absent", "sort",
		"sort_desc", "day_of_week", "hour", "minute", "-", "sin", "deg",
	}
	aggregations = []string{"sum", "avg", "min", "max", "count", "group", "stddev", "stdvar"}
	groupings    = []string{"", "by (job)", "by (instance, method)", "without (instance)", "by (none)", "without (code, le)"}
	operators    = []string{"+", "-", "*", "/", "^", "==", "!=", ">", "<", ">= bool", "<= bool", "and", "or", "unless", "atan2"}
	selectors    = []string{
		"requests_total", `requests_total{code="200"}`, `requests_total{code!="200"}`, `requests_total{code=~"4..|500"}`,
		`requests_total{method!~"G.*"}`, "temperature", `temperature{room=""}`, `temperature{room!=""}`, "balance", "tiny",
		`{__name__=~"temp.*|balance"}`, `{job="house"}`, `{job=~"h.+|node",instance!~".*1:.*"}`, `{job="a/b"}`, `{job="prometheus"}`,
		"memory_bytes", "many_labels", `many_labels{label_03=~".+"}`, `{"öl temperature"}`, `{"room.number"="7"}`, `{source="x"}`,
		"duration_seconds_bucket", "job:requests:rate5m", "up", "none", `up{instance="host-0:9100"}`, `{instance=~"host-(0|2):9100"}`,
		"latency_seconds", "latency_seconds", `latency_seconds{instance!="host-2:9100"}`,
	}
	windows   = []string{"1m", "5m", "7m30s", "20m", "1h"}
	modifiers = []string{"", "", "", " offset 5m", " offset -10m", " @ 1772326800", " @ start()", " @ end()", " @ 1772326800 offset 1m"}
)

// queries creates random queries.
type queries struct{ *rand.Rand }

func (q queries) of(list []string) string { return list[q.IntN(len(list))] }

func (q queries) selector() string { return q.of(selectors) + q.of(modifiers) }

// window returns a range vector: of samples, or of a subquery.
func (q queries) window() string {
	if q.IntN(5) == 0 {
		return fmt.Sprintf("(%s)[%s:%s]%s", q.vector(2), q.of(windows), q.of([]string{"", "30s", "1m", "100s"}), q.of(modifiers))
	}
	return q.of(selectors) + "[" + q.of(windows) + "]" + q.of(modifiers)
}

// vector returns an instant vector whose syntax tree is at most a few levels deeper.
func (q queries) vector(depth int) string {
	if depth <= 0 {
		return q.selector()
	}
	switch q.IntN(12) {
	case 0, 1, 2:
		return q.of(rangeFunctions) + "(" + q.window() + ")"
	case 3:
		return q.of(instantFunctions) + "(" + q.vector(depth-1) + ")"
	case 4, 5:
		aggregation, vector := q.of(aggregations), q.vector(depth-1)
		if strings.HasPrefix(aggregation, "std") {
			vector = q.ordered() // no times: their variance is in the last digits, which depend on the order of the sum
		}
		return fmt.Sprintf("%s %s (%s)", aggregation, q.of(groupings), vector)
	case 6:
		return fmt.Sprintf("(%s) %s (%s)", q.vector(depth-1), q.of(operators), q.vector(depth-1))
	case 7:
		matching := q.of([]string{"on (instance) group_left ()", "on (instance) group_left ()", "on (job)"}) // the last may fail
		return fmt.Sprintf("(%s) %s %s (%s)", q.vector(depth-1), q.of(operators[:5]), matching,
			"avg by (instance) ("+q.selector()+")")
	case 8:
		return fmt.Sprintf("(%s) %s %d", q.vector(depth-1), q.of(operators[:11]), q.IntN(100)-20)
	case 9:
		return q.parameterized(depth)
	case 10:
		return fmt.Sprintf("histogram_quantile(0.%d, sum by (le, job) (rate(duration_seconds_bucket[%s])))", q.IntN(10), q.of(windows))
	case 11:
		return q.native()
	}
	return q.selector()
}

// native returns a function of native histograms.
func (q queries) native() string {
	histograms := "latency_seconds" + q.of(modifiers)
	switch q.IntN(4) {
	case 0:
		histograms = "rate(latency_seconds[" + q.of(windows) + "])"
	case 1:
		histograms = "sum(increase(latency_seconds[" + q.of(windows) + "]))"
	case 2:
		histograms = "avg_over_time(latency_seconds[" + q.of(windows) + "])"
	}
	return fmt.Sprintf(q.of([]string{
		"histogram_quantile(0.9, %s)", "histogram_count(%s)", "histogram_sum(%s)", "histogram_avg(%s)",
		"histogram_fraction(0, 0.5, %s)", "histogram_stddev(%s)", "%s",
	}), histograms)
}

// ordered returns an instant vector whose series have the order of the storage. It decides which of equal values topk
// selects. The engine orders the results of operators and of most functions by chance.
func (q queries) ordered() string {
	if q.IntN(2) == 0 {
		return q.selector()
	}
	return q.of(rangeFunctions) + "(" + q.of(selectors) + "[" + q.of(windows) + "]" + q.of(modifiers) + ")"
}

// parameterized returns a function or an aggregation with a parameter.
func (q queries) parameterized(depth int) string {
	switch q.IntN(10) {
	case 0:
		return fmt.Sprintf("quantile_over_time(0.%d, %s)", q.IntN(10), q.window())
	case 1:
		return fmt.Sprintf("predict_linear(%s, %d)", q.window(), q.IntN(4000))
	case 2:
		return fmt.Sprintf("topk %s (%d, %s)", q.of(groupings), q.IntN(5), q.ordered())
	case 3:
		return fmt.Sprintf("quantile %s (0.%d, %s)", q.of(groupings), q.IntN(10), q.vector(depth-1))
	case 4:
		return fmt.Sprintf("clamp(%s, -10, 100)", q.vector(depth-1))
	case 5:
		return fmt.Sprintf(`label_replace(%s, "host", "$1", "instance", "host-(.*):.*")`, q.vector(depth-1))
	case 6:
		return fmt.Sprintf(`label_join(%s, "both", "-", "job", "instance")`, q.vector(depth-1))
	case 7:
		return fmt.Sprintf(`count_values("v", round(%s, 10))`, q.vector(depth-1))
	case 8: // not of sums, which the engine adds up in an order by chance: the remainder shows the last digits
		return fmt.Sprintf("(%s) %% (%s)", q.selector(), q.of([]string{q.selector(), "7", "-2.5"}))
	}
	return fmt.Sprintf("round(%s, 0.1)", q.vector(depth-1))
}

// TestQueriesAnswerAsPrometheus writes the same samples to Livegraph and to a database of Prometheus, and compares the
// answers to queries: to random ones, to systematic ones, and to those of Prometheus' own tests. It does so when the
// engine reads all samples, and when functions over range vectors are computed from a stream. The short form compares
// some random queries.
func TestQueriesAnswerAsPrometheus(t *testing.T) {
	ways := []string{"auto"}
	if full() {
		ways = append(ways, "always")
	}
	for _, windows := range ways {
		t.Run(windows, func(t *testing.T) {
			s := startServer(t, "--promql-windows", windows)
			t.Run("random", s.compareRandom)
			t.Run("OpenTelemetry", s.compareOpenTelemetry)
			if full() {
				t.Run("demo", s.compareDemo)
				t.Run("promqltest", s.comparePromqltest)
			}
		})
	}
}

// full reports whether the long forms of the tests run.
func full() bool { return os.Getenv("LIVEGRAPH_TEST") == "all" }

// requireFull skips the test in the short form.
func requireFull(t *testing.T) {
	t.Helper()
	if !full() {
		t.Skip("make test-all runs it")
	}
}

// compareRandom compares the answers to random queries over random data.
func (s *server) compareRandom(t *testing.T) {
	seed, count := uint64(1), 200
	if full() {
		seed, count = uint64(time.Now().UnixNano()), 5000
	}
	t.Logf("seed %d", seed)
	data := newData(seed)
	s.writeAll(t, data)
	o := &oracle{server: s, db: openTSDB(t, data), engine: newEngine()}
	o.compareSeries(t)
	o.compareReads(t)
	q := queries{rand.New(rand.NewPCG(seed, 2))}
	answered, points := 0, 0
	for range count {
		text := q.vector(3)
		at := dataStart + q.Int64N(dataLength.Milliseconds()+600_000)
		n, ok := o.compare(t, evaluation{text: text, to: at})
		step := []time.Duration{
			15 * time.Second, time.Minute, 77 * time.Second, 5 * time.Minute, 500 * time.Millisecond,
		}[q.IntN(5)]
		length := min(q.Int64N(dataLength.Milliseconds()), 10_000_000)
		if step < time.Second {
			length = min(length, 60_000)
		}
		m, _ := o.compare(t, evaluation{text: text, from: at - length, to: at, step: step})
		if points += n + m; ok {
			answered++
		}
	}
	t.Logf("%d of %d queries without an error, %d points", answered, count, points)
	require.Greater(t, answered, count/2)
	require.Greater(t, points, 20*count)
}

// oracle compares Livegraph with Prometheus.
type oracle struct {
	server *server
	db     *tsdb.DB
	engine *promql.Engine
}

// newEngine returns the engine of a Prometheus with its default settings.
func newEngine() *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{
		Logger: slog.New(slog.DiscardHandler), MaxSamples: 5_000_000, Timeout: time.Minute, EnableAtModifier: true,
		EnableNegativeOffset: true, LookbackDelta: 5 * time.Minute, Parser: parser.NewParser(parser.Options{}),
		NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() },
	})
}

// compare requires that the API answers as the engine, and returns the number of points.
func (o *oracle) compare(t *testing.T, e evaluation) (points int, ok bool) {
	t.Helper()
	want := e.by(t, o.engine, o.db)
	got := o.server.ask(t, e)
	points, err := got.matches(e, want)
	require.NoError(t, err, e)
	return points, want.Err == nil
}

// compareSeries requires that the label sets are those that were written.
func (o *oracle) compareSeries(t *testing.T) {
	t.Helper()
	querier, err := o.db.Querier(math.MinInt64, math.MaxInt64)
	require.NoError(t, err)
	defer func() { _ = querier.Close() }()
	for _, selector := range selectors {
		matchers, err := parser.NewParser(parser.Options{}).ParseMetricSelector(selector)
		require.NoError(t, err)
		var want, got []string
		set := querier.Select(t.Context(), false, nil, matchers...)
		for set.Next() {
			want = append(want, set.At().Labels().String())
		}
		require.NoError(t, set.Err())
		status, body := o.server.do(
			t, http.MethodGet, "/prometheus/api/v1/series?match[]="+url.QueryEscape(selector), "", nil,
		)
		require.Equal(t, http.StatusOK, status, "%s", body)
		var answer struct{ Data []map[string]string }
		require.NoError(t, json.Unmarshal(body, &answer))
		for _, set := range answer.Data {
			got = append(got, labels.FromMap(set).String())
		}
		slices.Sort(want)
		slices.Sort(got)
		require.Equal(t, want, got, selector)
	}
}
