package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/load"
	"github.com/livegraph/livegraph/test/bench/rival"
)

const (
	livedRounds   = 15            // of each query
	livedPause    = time.Minute   // from the last point until the first query
	livedHours    = 5 * time.Hour // range of the longer queries
	livedInterval = time.Second   // between points
)

// livedQuery is one query: a path of Livegraph's API and a MetricsQL query for VictoriaMetrics.
type livedQuery struct {
	name     string
	path     string
	metrics  string
	step     time.Duration // 0: an instant query that returns raw points
	exact    bool          // the answers have the same values
	from, to time.Time
}

// compareQueries loads more than five hours of 1,000 series at 1 Hz, waits a minute, and sends each
// query in turn to both servers.
func (l *lived) compareQueries() {
	l.b.Helper()
	i := slices.IndexFunc(l.rivals, func(r *rival.Rival) bool { return r.Name == "victoriametrics" })
	if i < 0 {
		return
	}
	victoria := l.rivals[i]
	fleet := l.fleet("asked", load.Size{Sources: 10, Series: 1000}) // of 100 metrics each
	plan := load.Plan{
		Points: 20_000_000, Batch: 10_000, Callers: 4, Format: load.FormatLines, Prepared: true, SkipFreshness: true,
		Values: load.ValuesGauge, Interval: livedInterval, Start: l.month(),
	}
	l.load(fleet, plan)
	bodies, err := fleet.Bodies(plan)
	require.NoError(l.b, err)
	_, err = l.sendTo(victoria, comparison{name: "asked", perLine: 1}, fleet, plan, victoria.Lines, bodies)
	require.NoError(l.b, err)
	require.NoError(l.b, victoria.Resume())
	time.Sleep(livedPause) // rollups are computed meanwhile, so a trial waits as long
	for _, q := range livedQueries(fleet, plan.Start) {
		l.compareQuery(victoria, q)
	}
	require.NoError(l.b, victoria.Pause())
}

func livedQueries(fleet *load.Fleet, start time.Time) []livedQuery {
	name := fleet.Measurements()[3]
	id := fleet.Sources()[3]
	hour, end := start.Add(livedHours-time.Hour), start.Add(livedHours)
	of := func(selector string) string { return fmt.Sprintf(`{__name__=~"%s"}`, selector) }
	all := func(what string) string {
		return fmt.Sprintf(
			"/api/live-data/query?from=%d&to=%d&pointsLimit=1000000&%s", start.UnixMilli(), end.UnixMilli(), what,
		)
	}
	one := func(what string) string { return all("limit=100&sourceId=" + id + "&" + what) }
	hundred, every := of(name+"_m.*"), "&sourceId="+strings.Join(fleet.Sources(), "&sourceId=")
	var ten strings.Builder
	for i := range 10 {
		fmt.Fprintf(&ten, "&metric=m%d", i)
	}
	return []livedQuery{
		{
			"raw-hour-10", fmt.Sprintf("/api/live-data/query?sourceId=%s&from=%d&to=%d&pointsLimit=1000000%s",
				id, hour.UnixMilli(), end.UnixMilli(), ten.String()),
			of(name+"_m[0-9]") + "[1h]", 0, true, hour, end,
		},
		{
			"avg-1m-100", one("interval=1m&aggregation=avg"), "avg_over_time(" + hundred + "[1m])", time.Minute, true, start,
			end,
		},
		{
			"max-10s-100", one("interval=10s&aggregation=max"), "max_over_time(" + hundred + "[10s])", 10 * time.Second, true,
			start, end,
		},
		{
			"rate-1m-100", one("interval=1m&aggregation=rate"), "rate(" + hundred + "[1m]) keep_metric_names",
			time.Minute, false, start, end,
		},
		{
			"avg-1m-all", all("interval=1m&aggregation=avg&groupBy=none" + every),
			"avg(avg_over_time(" + of("asked-.*") + "[1m]))", time.Minute, true, start, end,
		},
	}
}

// compareQuery sends one query to both servers in turn. The first answers are compared.
func (l *lived) compareQuery(victoria *rival.Rival, q livedQuery) {
	l.b.Helper()
	var ours, theirs []float64
	for n := range livedRounds + 1 {
		took, body := l.get(q.path)
		began := time.Now()
		answer, err := victoria.Ask(l.b.Context(), q.victoria())
		require.NoError(l.b, err)
		other := time.Since(began).Seconds() * 1000
		if n == 0 {
			l.sameSeries(q, body, answer)
			continue
		}
		ours, theirs = append(ours, took), append(theirs, other)
	}
	l.r.Logf("%s: %.1f ms, VictoriaMetrics %.1f ms", q.name, p50(ours), p50(theirs))
	l.r.Add("query/"+q.name+"/ours", "ms", p50(ours))
	l.r.Add("query/"+q.name+"/theirs", "ms", p50(theirs))
	l.r.Add("query/"+q.name+"/ratio", "ratio", p50(ours)/p50(theirs))
}

// victoria returns the path and the parameters of the MetricsQL query. The time of a window is its end
// in VictoriaMetrics, the time of a bucket is its start in Livegraph, so the times are shifted until
// both contain the same points.
func (q livedQuery) victoria() string {
	seconds := func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
	if q.step == 0 {
		return "/api/v1/query?" + url.Values{
			"query": {q.metrics}, "time": {seconds(q.to.Add(-livedInterval))}, "nocache": {"1"},
		}.Encode()
	}
	moved := q.step - livedInterval
	return "/api/v1/query_range?" + url.Values{
		"query": {q.metrics}, "start": {seconds(q.from.Add(moved))}, "end": {seconds(q.to.Add(-livedInterval))},
		"step": {strconv.FormatInt(int64(q.step/time.Second), 10)}, "nocache": {"1"},
	}.Encode()
}

// sameSeries requires that both answers have the same number of series and points, and the same values
// if the functions are the same.
func (l *lived) sameSeries(q livedQuery, ours, theirs []byte) {
	l.b.Helper()
	var answer struct {
		Data struct {
			Result []struct{ Values [][2]any }
		}
	}
	require.NoError(l.b, json.Unmarshal(theirs, &answer), "%.300s", theirs)
	var a, b []float64
	for _, points := range readAnswer(l.b, ours) {
		for _, p := range points {
			a = append(a, p.values[0])
		}
	}
	for _, series := range answer.Data.Result {
		for _, p := range series.Values {
			text, _ := p[1].(string)
			value, err := strconv.ParseFloat(text, 64)
			require.NoError(l.b, err)
			b = append(b, value)
		}
	}
	require.NotEmpty(l.b, a, q.name)
	if !q.exact {
		require.InDelta(l.b, len(b), len(a), float64(len(b))/50, q.name)
		return
	}
	require.Len(l.b, a, len(b), q.name)
	slices.Sort(a)
	slices.Sort(b)
	for i := range a {
		require.InDelta(l.b, b[i], a[i], 1e-9*max(1, math.Abs(b[i])), "%s: value %d", q.name, i)
	}
}
