package contract_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

// storeEvery stores points of a series of the fan, apart from each other, beginning at t0.
func (f *fixture) storeEvery(t *testing.T, metric string, apart time.Duration, values ...float64) {
	t.Helper()
	var samples []sample
	for i, v := range values {
		samples = append(samples, sample{microsAt(time.Duration(i) * apart), v, 1})
	}
	f.store(t, f.Workspace, seriesKey{source: f.fan.ID, metric: metric}, samples...)
}

func chosenInterval(t *testing.T, a *contract.Answer) string {
	t.Helper()
	var envelope struct{ Meta struct{ Interval string } }
	require.NoError(t, json.Unmarshal(a.Body, &envelope))
	return envelope.Meta.Interval
}

func TestRatesAndDeltasAreOfCounters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.storeEvery(t, "requests", 30*time.Second, 100, 110, 130, 5, 5, 25)
	f.storeEvery(t, "errors", 30*time.Second, 7, 8, 8, 8, 8, 9)
	ask := func(params string) []string {
		return f.shapes(t, "from="+timestampAt(0)+"&to="+timestampAt(4*time.Minute)+"&source=fan&"+params)
	}
	require.Equal(t, []string{"fan requests [0s 10] [1m0s 25] [2m0s 20]"}, ask(
		"metric=requests&aggregation=delta&interval=1m",
	))
	require.Equal(
		t, []string{"fan requests [0s 0.3333333333333333 2] [1m0s 0.4166666666666667 2] [2m0s 0.3333333333333333 2]"},
		ask("metric=requests&aggregation=rate,count&interval=1m"), "10 in 30 s, 25 in 60 s, 20 in 60 s",
	)
	require.Equal(
		t, []string{"fan requests [0s 55]"}, ask("metric=requests&aggregation=delta"),
		"without an interval one row, and all steps in it",
	)
	require.Equal(
		t, []string{"fan [0s 11] [1m0s 25] [2m0s 21]"},
		ask("metric=requests&metric=errors&aggregation=delta&groupBy=sourceId&interval=1m"), "the series' own, added up",
	)
	require.Equal(t, []string{"fan requests [3m0s 0] [2m0s 20] [1m0s 25] [0s 10]"}, ask(
		"metric=requests&aggregation=delta&interval=1m&fill=0&order=desc",
	))
	require.Equal(
		t, []string{"fan errors [0s <nil>] [30s 1] [1m0s 0] [1m30s 0] [2m0s 0] [2m30s 1] [3m0s <nil>] [3m30s <nil>]"},
		ask("metric=errors&aggregation=delta&interval=30s&fill=null"), "the first point alone is no step",
	)
	require.Equal(
		t, []string{"boiler state [0s <nil> <nil> 2]"},
		f.shapes(t, rangeParams(time.Hour)+"&metric=state&aggregation=rate,delta,count"), "texts have none",
	)
	later := f.shapes(
		t,
		"from="+timestampAt(time.Minute)+"&to="+timestampAt(4*time.Minute)+"&metric=requests&aggregation=delta&interval=1m",
	)
	require.Equal(
		t, []string{"fan requests [1m0s 25] [2m0s 20]"}, later, "the point before the range is where its first step begins",
	)
}

func TestDownsampledPointsKeepTheShape(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	values := make([]float64, 5000)
	for i := range values {
		values[i] = math.Sin(float64(i) / 300)
	}
	values[1234] = 50
	f.storeEvery(t, "wave", 100*time.Millisecond, values...)
	path := "/api/live-data/query?downsample=lttb&" + rangeParams(time.Hour)
	ask := func(params string) []rows {
		return decode[[]rows](t, f.Do(t, contract.Request{Path: path + params}), http.StatusOK)
	}
	wave := ask("&metric=wave&maxPoints=100&pointsLimit=100")[0]
	require.Equal(t, []string{"timestamp", "value"}, wave.Columns)
	require.Len(t, wave.Points, 100, "out of more than pointsLimit")
	require.Equal(t, []any{timestampAt(0), 0.0}, wave.Points[0])
	require.Equal(t, timestampAt(4999*100*time.Millisecond), wave.Points[99][0])
	require.Contains(t, wave.Points, []any{timestampAt(1234 * 100 * time.Millisecond), 50.0})
	descending := ask("&metric=wave&maxPoints=100&order=desc")[0]
	for i, row := range descending.Points {
		require.Equal(t, wave.Points[99-i], row)
	}
	require.Len(t, ask("&metric=wave")[0].Points, 200, "pointsLimit by limit")
	require.Len(t, ask("&metric=wave&limit=1")[0].Points, 1000, "no more than a chart shows")
	require.Len(t, ask("&metric=wave&maxPoints=2")[0].Points, 2)
	require.Equal(t, []string{
		"boiler pressure [1s 7]", `boiler state [1m0s on] [2m0.000001s off "now"]`,
		"boiler temp room=A [0s 1] [1m0s 2] [3m0s 4.5]",
	},
		f.shapes(t, "downsample=lttb&source=boiler&"+rangeParams(time.Hour)), "few points and texts are given as they stand")
	a := f.Do(t, contract.Request{Path: path + "&metric=wave&metric=temp&maxPoints=100&pointsLimit=100"})
	a.RequireFailure(t, http.StatusUnprocessableEntity, validation, "", map[string]any{"field": "pointsLimit"})
	require.Contains(t, a.Error.Details["narrow"], "maxPoints")
	a = f.Do(t, contract.Request{Path: path + "&source=boiler&pointsLimit=4"})
	a.RequireFailure(t, http.StatusUnprocessableEntity, validation, "", map[string]any{"field": "pointsLimit"})
	require.Equal(t, 101, strings.Count(
		string(f.Do(t, contract.Request{Path: path + "&metric=wave&maxPoints=100&format=csv"}).Body), "\n",
	))
}

func TestAutoIsTheShortestRoundIntervalThatFits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ask := func(length time.Duration, params string) *contract.Answer {
		a := f.Do(t, contract.Request{
			Path: "/api/live-data/query?metric=temp&aggregation=count&from=" + timestampAt(0) + "&to=" + timestampAt(length) +
				params,
		})
		require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
		return a
	}
	for _, c := range []struct {
		length    time.Duration
		most      int
		want      string
		intervals time.Duration // of the range
	}{
		{time.Hour, 3600, "1s", time.Second}, {time.Hour, 3599, "2s", 2 * time.Second}, {time.Hour, 60, "1m", time.Minute},
		{time.Hour, 59, "2m", 2 * time.Minute},
		{time.Hour + time.Microsecond, 60, "2m", 2 * time.Minute}, {24 * time.Hour, 1000, "2m", 2 * time.Minute},
		{24 * time.Hour, 2, "12h", 12 * time.Hour},
		{30 * 24 * time.Hour, 30, "1d", 24 * time.Hour}, {30 * 24 * time.Hour, 29, "2d", 48 * time.Hour},
		{365 * 24 * time.Hour, 14, "30d", 720 * time.Hour},
	} {
		a := ask(c.length, fmt.Sprintf("&interval=auto&fill=0&maxPoints=%d", c.most))
		require.Equal(t, c.want, chosenInterval(t, a), "%v", c)
		points := decode[[]rows](t, a, http.StatusOK)[0].Points
		require.LessOrEqual(t, len(points), c.most)
		first, err := time.Parse(time.RFC3339, points[0][0].(string))
		require.NoError(t, err)
		require.Zero(t, first.UnixNano()%int64(c.intervals), "%v", c)
		same := ask(c.length, "&fill=0&interval="+c.want)
		require.Equal(t, string(a.Data), string(same.Data), "what meta.interval says is what was done")
	}
	require.Equal(t, "30s", chosenInterval(t, ask(time.Hour, "&interval=auto")), "10,000 points by 50 series are 200")
	require.Equal(t, "5s", chosenInterval(t, ask(time.Hour, "&interval=auto&limit=10")), "at most 1,000")
	require.Equal(t, "1m", chosenInterval(t, ask(time.Hour, "&interval=60s")))
	require.Equal(t, "90s", chosenInterval(t, ask(time.Hour, "&interval=90s")))
	require.NotContains(t, string(ask(time.Hour, "").Body), `"interval"`)
	require.Equal(t, "1s", chosenInterval(t, ask(0, "&interval=auto")), "an empty range")
	require.Equal(t, "2m", ask(time.Hour, "&interval=auto&maxPoints=59&format=csv").Header.Get("X-Livegraph-Interval"))

	days := decode[[]rows](
		t,
		f.Do(t, contract.Request{
			Path: "/api/live-data/query?metric=temp&source=fan&aggregation=count&interval=auto&maxPoints=3&fill=0" +
				"&timezone=Europe/Berlin&from=2026-03-27T23:00:00Z&to=2026-03-30T22:00:00Z",
		}),
		http.StatusOK,
	)
	require.Equal(
		t, [][]any{{"2026-03-27T23:00:00Z", 0.0}, {"2026-03-28T23:00:00Z", 0.0}, {"2026-03-29T22:00:00Z", 0.0}},
		days[0].Points, "a day of 23 hours is a day",
	)

	a := f.Do(t, contract.Request{Path: "/api/live-data/query?aggregation=avg&interval=auto&maxPoints=10&from=0"})
	a.RequireFailure(t, http.StatusUnprocessableEntity, validation, "", map[string]any{"field": "maxPoints"})
	require.Contains(t, a.Error.Details["narrow"], "from")
}
