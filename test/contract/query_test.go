package contract_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/livedata"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/test/contract"
)

// fixture is a few series that most tests of queries look at.
type fixture struct {
	*live
	boiler, fan source
	node        string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{live: startLive(t), node: uuid.NewString()}
	f.boiler = f.createSource(
		t, `{"name":"boiler","unit":"bar","nodeId":"`+f.node+`","metrics":[{"name":"temp","unit":"°C"}]}`,
	)
	f.fan = f.createSource(t, `{"name":"fan"}`)
	f.store(t, f.Workspace, seriesKey{source: f.boiler.ID, metric: "temp", tags: map[string]string{"room": "A"}},
		sample{at(0), 10.0, 1}, sample{at(0), 1.0, 2}, sample{at(time.Minute), 2.0, 1}, sample{at(3 * time.Minute), 4.5, 1})
	f.store(t, f.Workspace, seriesKey{source: f.boiler.ID, metric: "pressure"}, sample{at(time.Second), 7.0, 1})
	f.store(t, f.Workspace, seriesKey{source: f.boiler.ID, metric: "state", text: true},
		sample{at(time.Minute), "on", 1}, sample{at(2*time.Minute + time.Microsecond), `off "now"`, 1})
	f.store(
		t, f.Workspace, seriesKey{source: f.fan.ID, metric: "temp", tags: map[string]string{"room": "B"}},
		sample{at(0), 100.0, 1}, sample{at(5 * time.Minute), 101.0, 1},
	)
	return f
}

// shape gives what of an answer most tests look at: "source metric kind points".
func shape(list []rows) []string {
	out := []string{}
	for _, r := range list {
		var parts []string
		for _, part := range []*string{r.SourceName, r.Metric} {
			if part != nil {
				parts = append(parts, *part)
			}
		}
		for _, key := range sortedKeys(r.Tags) {
			parts = append(parts, key+"="+r.Tags[key])
		}
		for _, row := range r.Points {
			var cells []string
			for i, cell := range row {
				text := fmt.Sprint(cell)
				if i == 0 {
					if when, err := time.Parse(time.RFC3339Nano, text); err == nil {
						text = when.Sub(t0).String()
					}
				}
				cells = append(cells, text)
			}
			parts = append(parts, "["+strings.Join(cells, " ")+"]")
		}
		out = append(out, strings.Join(parts, " "))
	}
	return out
}

func (f *fixture) shapes(t *testing.T, params string) []string {
	t.Helper()
	got := map[string]bool{}
	for _, line := range shape(f.query(t, params)) {
		got[line] = true
	}
	return sortedKeys(got)
}

func TestRawPointsAreGivenAsTheyStand(t *testing.T) {
	f := newFixture(t)
	require.Equal(t, []string{
		"boiler pressure [1s 7]", `boiler state [1m0s on] [2m0.000001s off "now"]`,
		"boiler temp room=A [0s 1] [1m0s 2] [3m0s 4.5]", "fan temp room=B [0s 100] [5m0s 101]",
	}, f.shapes(t, within(time.Hour)))
	require.Equal(t, []string{"boiler temp room=A [3m0s 4.5] [1m0s 2] [0s 1]"}, f.shapes(
		t, within(time.Hour)+"&order=desc&metric=temp&source=boiler",
	))

	list := f.query(t, within(time.Hour)+"&metric=temp&sourceId="+f.boiler.ID)
	require.Len(t, list, 1)
	require.Equal(
		t, rows{SourceID: &f.boiler.ID, SourceName: ptr("boiler"), Metric: ptr("temp"), Kind: "number", Unit: ptr("°C"),
			Tags: map[string]string{"room": "A"}, Columns: []string{"timestamp", "value"},
			Points: [][]any{{stamp(0), 1.0}, {stamp(time.Minute), 2.0}, {stamp(3 * time.Minute), 4.5}}}, list[0],
	)
	require.Equal(
		t, "bar", *f.query(t, within(time.Hour)+"&metric=pressure")[0].Unit, "the source's, where the metric has none",
	)
	for epoch, want := range map[string]int64{"ms": at(0) / 1000, "us": at(0), "ns": at(0) * 1000} {
		a := f.Do(t, contract.Request{Path: "/api/live-data/query?metric=pressure&" + within(time.Hour) + "&epoch=" + epoch})
		require.Contains(t, string(a.Data), fmt.Sprintf(
			"[%d,7]", want+map[string]int64{"ms": 1e3, "us": 1e6, "ns": 1e9}[epoch],
		))
	}
}

func TestFromIsInclusiveAndToExclusive(t *testing.T) {
	f := newFixture(t)
	ask := func(from, to string) []string {
		return f.shapes(t, fmt.Sprintf("source=boiler&metric=temp&from=%s&to=%s", escape(from), escape(to)))
	}
	require.Equal(t, []string{"boiler temp room=A [1m0s 2]"}, ask(stamp(time.Minute), stamp(3*time.Minute)))
	require.Equal(t, []string{"boiler temp room=A"}, ask(stamp(time.Minute), stamp(time.Minute)))
	require.Equal(t, []string{"boiler temp room=A [1m0s 2]"}, ask(
		fmt.Sprint(at(time.Minute)/1000), fmt.Sprint(at(time.Minute)/1000+1),
	))
	require.Equal(t, []string{"boiler temp room=A [1m0s 2]"}, ask(
		"2026-03-01T05:31:00+05:30", "2026-02-28T19:01:00.000001-05:00",
	))
	require.Equal(t, []string{"boiler temp room=A [0s 1] [1m0s 2] [3m0s 4.5]"}, ask(
		"1969-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
	))
	require.Equal(t, []string{"boiler temp room=A [0s 1] [1m0s 2] [3m0s 4.5]"}, ask("-99999999999999d", "now"))
	require.Equal(
		t, []string{"boiler temp room=A [3m0s 4.5]"},
		f.shapes(t, "source=boiler&metric=temp&to="+stamp(time.Hour+2*time.Minute)), "from is an hour before to",
	)

	recent := time.Now().Add(-10 * time.Minute).UnixMicro()
	f.store(t, f.Workspace, seriesKey{source: f.fan.ID, metric: "recent"}, sample{recent, 5.0, 1})
	for query, found := range map[string]int{
		"": 1, "from=-15m": 1, "from=-5m": 0, "from=now-15m&to=now-5m": 1, "to=-15m": 0, "from=-1h&to=now": 1,
		"from=-600000s&to=-1s": 1,
	} {
		require.Len(t, f.query(t, "metric=recent&"+query)[0].Points, found, query)
	}
}

func TestSelectorsCombineWithAnd(t *testing.T) {
	f := newFixture(t)
	for query, want := range map[string]int{
		"": 4, "sourceId=" + f.boiler.ID: 3, "sourceId=" + f.boiler.ID + "&sourceId=" + f.fan.ID: 4,
		"sourceId=" + f.boiler.ID + "," + uuid.NewString(): 3,
		"sourceId=" + uuid.NewString():                     0, "source=fan": 1, "source=FAN": 0, "source=": 0,
		"source=fan&sourceId=" + f.boiler.ID: 0,
		"nodeId=" + f.node:                   3, "nodeId=" + uuid.NewString(): 0, "metric=temp": 2,
		"metric=temp&metric=state": 3, "metric=": 0, "metric=temp,state": 0,
		"tag.room=A": 1, "tag.room=A&tag.room=B": 2, "tag.room=A&metric=pressure": 0, "tag.none=x": 0, "tag.room=": 0,
		"metric=" + escape(`') OR 1=1 --`): 0, "tag." + escape(`a') OR ('1'='1`) + "=x": 0, "source=" + escape(`%`): 0,
		"source=" + escape("{x:String}"): 0,
	} {
		a := f.Do(t, contract.Request{Path: "/api/live-data/query?" + within(time.Hour) + "&" + query})
		require.Len(t, decode[[]rows](t, a, http.StatusOK), want, query)
		require.EqualValues(t, want, a.Meta.Total, query)
		b := f.Do(t, contract.Request{Path: "/api/live-data/series?" + query})
		require.Len(t, decode[[]any](t, b, http.StatusOK), want, query)
	}
	for _, text := range hostile {
		f.store(
			t, f.Workspace, seriesKey{source: f.fan.ID, metric: text, tags: map[string]string{text: text}},
			sample{at(0), 3.0, 1},
		)
		for _, query := range []string{"metric=" + escape(text), "tag." + escape(text) + "=" + escape(text)} {
			list := f.query(t, within(time.Hour)+"&"+query+"&aggregation=sum&groupBy="+escape("metric"))
			require.Len(t, list, 1, query)
			require.Equal(t, text, *list[0].Metric)
			require.InDelta(t, 3, list[0].Points[0][1], 0)
		}
	}
}

func TestTheLatestPointIsGivenHoweverOld(t *testing.T) {
	f := newFixture(t)
	require.Equal(
		t,
		[]string{
			"boiler pressure [1s 7]", `boiler state [2m0.000001s off "now"]`, "boiler temp room=A [3m0s 4.5]",
			"fan temp room=B [5m0s 101]",
		},
		f.shapes(t, "latest=true"),
	)
	require.Equal(
		t, []string{"boiler pressure", "boiler state", "boiler temp room=A", "fan temp room=B [5m0s 101]"},
		f.shapes(t, "latest=true&from="+stamp(4*time.Minute)),
	)
	require.Len(t, f.query(t, "latest=false&"+within(time.Hour)), 4)
}

func TestAggregatesAreByBucketAndGroup(t *testing.T) {
	f := newFixture(t)
	ask := func(params string) []string { return f.shapes(t, within(10*time.Minute)+"&"+params) }
	require.Equal(t, []string{
		"boiler temp room=A [0s 2.5 2 4.5]", "fan temp room=B [0s 100.5 100.5 101]",
	}, ask("metric=temp&aggregation=avg,p50,max&interval=10m"),
		"avg of the three that stand, the middle one, the largest")
	require.Equal(t, []string{"boiler temp room=A [0s 1.5 2] [2m0s 4.5 1]"}, ask(
		"source=boiler&metric=temp&aggregation=avg,count&interval=2m",
	))
	require.Equal(t, []string{"boiler temp room=A [2m0s 4.5] [0s 1.5]"}, ask(
		"source=boiler&metric=temp&aggregation=avg&interval=2m&order=desc",
	))
	require.Equal(
		t, []string{"boiler temp room=A [0s 7.5]"}, ask("source=boiler&metric=temp&aggregation=sum"),
		"without interval one row",
	)
	require.Equal(t, []string{"temp [0s 208.5 1 101 5]"}, ask("metric=temp&groupBy=metric&aggregation=sum,min,last,count"))
	require.Equal(
		t, []string{"boiler [0s 14.5]", "boiler [0s <nil>]", "fan [0s 201]"}, ask("groupBy=sourceId&aggregation=sum"),
		"texts are apart",
	)
	require.Equal(t, []string{"boiler temp [0s 3]", "fan temp [0s 2]"}, ask(
		"metric=temp&groupBy=sourceId,metric&aggregation=count",
	))
	require.Equal(t, []string{"[0s 7]", "room=A [0s 7.5]", "room=B [0s 201]"}, ask(
		"groupBy=tag.room&aggregation=sum&metric=temp&metric=pressure",
	))
	require.Equal(t, []string{"[0s 2]", "[0s 6]"}, ask("groupBy=none&aggregation=count"))
	require.Equal(t, []string{"boiler state [0s <nil> 2 on off \"now\"]"}, ask(
		"metric=state&aggregation=avg,count,first,last",
	))
	require.Equal(
		t, []string{"boiler temp room=A"},
		f.shapes(t, "source=boiler&metric=temp&aggregation=count&from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z"),
		"no points, no row",
	)

	grouped := f.query(t, within(time.Hour)+"&groupBy=none&aggregation=count,sum&metric=temp")
	require.Len(t, grouped, 1)
	require.Equal(t, []string{"timestamp", "count", "sum"}, grouped[0].Columns)
	require.Nil(t, grouped[0].SourceID)
	require.Nil(t, grouped[0].Metric)
	require.Nil(t, grouped[0].Unit, "°C and none are not one unit")
	require.Equal(t, stamp(0), grouped[0].Points[0][0])
	require.Equal(
		t, "°C", *f.query(t, within(time.Hour)+"&groupBy=metric&aggregation=count&source=boiler&metric=temp")[0].Unit,
	)
}

func TestBucketsWithoutPointsAreFilledAsAsked(t *testing.T) {
	f := newFixture(t)
	ask := func(params string) []string {
		return f.shapes(t, "from="+stamp(-time.Minute)+"&to="+stamp(5*time.Minute)+"&source=boiler&interval=1m&"+params)
	}
	require.Equal(t, []string{"boiler temp room=A [0s 1] [1m0s 2] [3m0s 4.5]"}, ask("metric=temp&aggregation=avg"))
	require.Equal(
		t, []string{"boiler temp room=A [0s 1] [1m0s 2] [3m0s 4.5]"}, ask("metric=temp&aggregation=avg&fill=none"),
	)
	require.Equal(
		t, []string{"boiler temp room=A [-1m0s <nil>] [0s 1] [1m0s 2] [2m0s <nil>] [3m0s 4.5] [4m0s <nil>]"},
		ask("metric=temp&aggregation=avg&fill=null"),
	)
	require.Equal(
		t, []string{"boiler temp room=A [-1m0s <nil>] [0s 1] [1m0s 2] [2m0s 2] [3m0s 4.5] [4m0s 4.5]"},
		ask("metric=temp&aggregation=avg&fill=previous"),
	)
	require.Equal(
		t, []string{"boiler temp room=A [-1m0s <nil>] [0s 1] [1m0s 2] [2m0s 3.25] [3m0s 4.5] [4m0s <nil>]"},
		ask("metric=temp&aggregation=avg&fill=linear"),
	)
	require.Equal(
		t, []string{"boiler temp room=A [-1m0s -0.5] [0s 1] [1m0s 2] [2m0s -0.5] [3m0s 4.5] [4m0s -0.5]"},
		ask("metric=temp&aggregation=avg&fill=-0.5"),
	)
	require.Equal(
		t, []string{"boiler temp room=A [4m0s 0 0] [3m0s 1 4.5] [2m0s 0 0] [1m0s 1 2] [0s 1 1] [-1m0s 0 0]"},
		ask("metric=temp&aggregation=count,sum&fill=0&order=desc"),
	)
	require.Equal(
		t,
		[]string{
			`boiler state [-1m0s <nil> <nil>] [0s <nil> <nil>] ` +
				`[1m0s on 1] [2m0s off "now" 1] [3m0s off "now" 1] [4m0s off "now" 1]`,
		},
		ask("metric=state&aggregation=last,count&fill=previous"),
	)
	require.Equal(
		t, []string{"boiler pressure [-1m0s 0] [0s 1] [1m0s 0] [2m0s 0] [3m0s 0] [4m0s 0]"},
		ask("metric=pressure&aggregation=count&fill=0"),
	)
	none := f.shapes(
		t, "from=2020-01-01T00:00:00Z&to=2020-01-01T00:02:00Z&metric=pressure&aggregation=count&interval=1m&fill=0",
	)
	require.Contains(t, none[0], " 0] [", "series without any point too")
}

func TestBucketsAreAlignedInTheTimeZone(t *testing.T) {
	f := newFixture(t)
	key := seriesKey{source: f.fan.ID, metric: "hourly"}
	var samples []sample
	for hour := time.Date(2026, 3, 27, 0, 0, 0, 0, time.UTC); hour.Before(time.Date(
		2026, 4, 1, 0, 0, 0, 0, time.UTC,
	)); hour = hour.Add(time.Hour) {
		samples = append(samples, sample{hour.UnixMicro(), 1.0, 1})
	}
	f.store(t, f.Workspace, key, samples...)
	list := f.query(
		t,
		"metric=hourly&from=2026-03-27T23:00:00Z&to=2026-03-30T22:00:00Z"+
			"&aggregation=count&interval=1d&timezone=Europe/Berlin",
	)
	require.Equal(
		t, [][]any{{"2026-03-27T23:00:00Z", 24.0}, {"2026-03-28T23:00:00Z", 23.0}, {"2026-03-29T22:00:00Z", 24.0}},
		list[0].Points,
	)
}

func TestOneRawSeriesIsPagedByCursor(t *testing.T) {
	f := newFixture(t)
	var samples []sample
	for i := range 25 {
		samples = append(
			samples, sample{at(time.Duration(i) * time.Second), float64(i), 1},
			sample{at(time.Duration(i) * time.Second), -1.0, 0},
		)
	}
	f.store(t, f.Workspace, seriesKey{source: f.fan.ID, metric: "long"}, samples...)
	for _, order := range []string{"asc", "desc"} {
		path := "/api/live-data/query?metric=long&pointsLimit=10&order=" + order + "&" + within(time.Hour)
		var got []float64
		pages := 0
		for cursor := ""; ; pages++ {
			next := path
			if cursor != "" {
				next += "&cursor=" + cursor
			}
			a := f.Do(t, contract.Request{Path: next})
			list := decode[[]rows](t, a, http.StatusOK)
			for _, row := range list[0].Points {
				got = append(got, row[1].(float64))
			}
			token := nextCursor(t, a)
			if token == nil {
				break
			}
			cursor = *token
			// As many points more, while paging, change nothing of what follows.
		}
		require.Equal(t, 2, pages)
		require.Len(t, got, 25)
		for i, v := range got {
			want := i
			if order == "desc" {
				want = 24 - i
			}
			require.InDelta(t, want, v, 0)
		}
	}
	a := f.Do(t, contract.Request{Path: "/api/live-data/query?metric=long&pointsLimit=25&" + within(time.Hour)})
	require.Nil(t, nextCursor(t, a), "exactly the limit")

	first := f.Do(t, contract.Request{Path: "/api/live-data/query?metric=long&pointsLimit=10&from=-5y"})
	first.RequireFailure(t, 400, validation, "", map[string]any{"field": "from"})
	relative := "/api/live-data/query?metric=long&pointsLimit=10&from=-99999d"
	cursor := *nextCursor(t, f.Do(t, contract.Request{Path: relative}))
	f.Do(t, contract.Request{Path: relative + "&cursor=" + cursor})
	for _, path := range []string{
		"/api/live-data/query?metric=long&from=-99998d&cursor=" + cursor,
		"/api/live-data/query?from=-99999d&cursor=" + cursor, relative + "&order=desc&cursor=" + cursor,
		relative + "&cursor=x", relative + "&latest=true&cursor=" + cursor, relative + "&aggregation=avg&cursor=" + cursor,
	} {
		a := f.Do(t, contract.Request{Path: path})
		require.Equal(t, http.StatusBadRequest, a.Status, path)
	}
}

func TestTooManyPointsSayWhatToNarrow(t *testing.T) {
	f := newFixture(t)
	for _, params := range []string{
		"pointsLimit=3&metric=temp", "pointsLimit=1&groupBy=sourceId&aggregation=sum",
		"pointsLimit=3&metric=temp&aggregation=avg&interval=1m",
		"pointsLimit=100&interval=1s&aggregation=avg&fill=null",
		"interval=1s&aggregation=avg&fill=0&from=1970-01-01T00:00:00Z",
	} {
		query := params
		if !strings.Contains(params, "from=") {
			query += "&" + within(time.Hour)
		}
		a := f.Do(t, contract.Request{Path: "/api/live-data/query?" + query})
		a.RequireFailure(t, http.StatusUnprocessableEntity, validation, "", map[string]any{"field": "pointsLimit"})
		require.Contains(t, a.Error.Details["narrow"], "from", params)
	}
}

func TestAQueryThatTakesTooLongIs504(t *testing.T) {
	group := &contract.LiveData{Change: func(d *livedata.Deps) { d.QueryTimeout = 30 * time.Millisecond }}
	l := &live{Server: contract.Start(t, group.Group), LiveData: group}
	made := l.createSource(t, `{"name":"boiler"}`)
	id := l.register(t, l.Workspace, seriesKey{source: made.ID, metric: "m"})
	var columns clickhouse.PointColumns
	for i := range 2_000_000 {
		columns.Append(id, at(0)+int64(i), float64(i), 1)
	}
	require.NoError(t, l.Points.InsertPoints(t.Context(), &columns))
	a := l.Do(t, contract.Request{
		Path: "/api/live-data/query?aggregation=p50,stddev,first,last,avg&interval=1s&" + within(time.Hour),
	})
	a.RequireFailure(t, http.StatusGatewayTimeout, "INTERNAL_ERROR", "", map[string]any{"reason": "took too long"})
	require.Contains(t, a.Error.Details["narrow"], "from")
	require.Equal(t, "1", a.Header.Get("Retry-After"))
}

// TestAQueryWhoseTimeEndsAnywhereIs504: before the points are asked for, too.
func TestAQueryWhoseTimeEndsAnywhereIs504(t *testing.T) {
	group := &contract.LiveData{Change: func(d *livedata.Deps) { d.QueryTimeout = time.Nanosecond }}
	l := &live{Server: contract.Start(t, group.Group), LiveData: group}
	made := l.createSource(t, `{"name":"boiler"}`)
	l.register(t, l.Workspace, seriesKey{source: made.ID, metric: "m"})
	for _, path := range []string{
		"/api/live-data/query", "/api/live-data/query?aggregation=avg", "/api/live-data/series",
	} {
		l.Do(t, contract.Request{Path: path}).
			RequireFailure(t, http.StatusGatewayTimeout, "INTERNAL_ERROR", "", map[string]any{"reason": "took too long"})
	}
}

// badQueries are parameters of a query, with the name of the one that is wrong; none is the
// right one among them.
func badQueries(node string) map[string]string {
	return map[string]string{
		"aggregation=median": "aggregation", "aggregation=increase": "aggregation", "aggregation=": "aggregation",
		"aggregation=AVG": "aggregation", "aggregation=avg,avg": "aggregation", "aggregation=avg,": "aggregation",
		"aggregation=avg&interval=0s": "interval", "aggregation=avg&interval=-1m": "interval",
		"aggregation=avg&interval=1ns": "interval", "aggregation=avg&interval=500ms": "interval",
		"aggregation=avg&interval=31d": "interval",
		"interval=auto":                "interval", "aggregation=avg&interval=AUTO": "interval",
		"aggregation=avg&interval=": "interval", "aggregation=avg&interval=1": "interval",
		"aggregation=avg&interval=m": "interval", "aggregation=avg&interval=1.5h": "interval",
		"aggregation=avg&interval=99999999999999999999s": "interval",
		"aggregation=avg&interval=1y":                    "interval", "interval=1m": "interval", "groupBy=metric": "groupBy",
		"aggregation=avg&groupBy=source": "groupBy", "aggregation=avg&groupBy=none,metric": "groupBy",
		"aggregation=avg&groupBy=metric,metric": "groupBy", "aggregation=avg&groupBy=tag.": "groupBy",
		"aggregation=avg&groupBy=": "groupBy", "aggregation=avg&fill=null": "fill",
		"aggregation=avg&interval=1m&fill=zero": "fill",
		"aggregation=avg&interval=1m&fill=NaN":  "fill", "aggregation=avg&interval=1m&fill=0x1p4": "fill",
		"aggregation=avg&interval=1m&fill=1e400": "fill", "aggregation=avg&interval=1m&fill=": "fill",
		"aggregation=avg&interval=1m&fill=%2B1": "fill",
		"timezone=Mars/Olympus":                 "timezone", "timezone=": "timezone", "timezone=Local": "timezone",
		"timezone=../../etc/passwd": "timezone", "timezone=%2Fetc%2Flocaltime": "timezone",
		"from=2026-02-30T00:00:00Z": "from", "from=2026-01-01T23:59:60Z": "from", "from=2026-01-01T00:00:00": "from",
		"from=2026-01-01": "from", "from=10000-01-01T00:00:00Z": "from", "from=2026-01-01T00:00:00%2B25:00": "from",
		"from=2026-01-01T00:00:00+01:00": "from", "from=yesterday": "from", "from=": "from", "from=-": "from",
		"from=-5": "from", "from=-0m": "from", "from=1e3": "from", "from=1.5": "from", "from=-1.5h": "from",
		"from=9223372036854775807":  "from",
		"from=99999999999999999999": "from", "from=1795246800000000000": "from", "from=now": "", "from=-1h&to=-2h": "from",
		"from=2100-01-01T00:00:00Z": "from", "to=x": "to", "order=up": "order", "order=": "order", "latest=1": "latest",
		"latest=yes":                  "latest",
		"latest=true&aggregation=avg": "latest", "latest=true&to=now": "to", "epoch=s": "epoch", "format=xml": "format",
		"pointsLimit=0": "pointsLimit", "pointsLimit=1000001": "pointsLimit", "pointsLimit=-1": "pointsLimit",
		"pointsLimit=1e3": "pointsLimit",
		"sourceId=x":      "sourceId", "sourceId=": "sourceId", "nodeId=x": "nodeId",
		"nodeId=" + node + "&nodeId=" + node: "nodeId", "source=a&source=b": "source", "limit=0": "limit",
		"offset=-1": "offset", "aggregate=avg": "aggregate",
		"downsample=avg": "downsample", "downsample=": "downsample", "downsample=LTTB": "downsample",
		"downsample=lttb&aggregation=avg": "downsample", "downsample=lttb&latest=true": "downsample",
		"downsample=lttb&interval=1m": "interval",
		"downsample=lttb&maxPoints=1": "maxPoints", "downsample=lttb&maxPoints=1000001": "maxPoints",
		"downsample=lttb&maxPoints=": "maxPoints", "downsample=lttb&maxPoints=1e3": "maxPoints",
		"downsample=lttb&cursor=x": "cursor",
		"maxPoints=10":             "maxPoints", "aggregation=avg&interval=1m&maxPoints=10": "maxPoints",
		"latest=true&maxPoints=10": "maxPoints", "tag.=x": "tag.", "checkpoint=x": "checkpoint", "metric=%00": "metric",
		"from=-1h&from=-2h": "from",
	}
}

func TestBadQueryParametersNameTheParameter(t *testing.T) {
	f := newFixture(t)
	for query, field := range badQueries(f.node) {
		a := f.Do(t, contract.Request{Path: "/api/live-data/query?" + query})
		if field == "" {
			require.Equal(t, http.StatusOK, a.Status, query)
			continue
		}
		require.Equal(t, http.StatusBadRequest, a.Status, "%s: %s", query, a.Body)
		require.Equal(t, validation, a.Error.Code)
		require.Equal(t, field, a.Error.Details["field"], query)
		require.NotEmpty(t, a.Error.Details["reason"], query)
	}
	a := f.Do(t, contract.Request{Path: "/api/live-data/query?aggregation=increase"})
	require.Equal(
		t, []any{"avg", "min", "max", "sum", "count", "first", "last", "stddev", "p50", "p90", "p95", "p99", "rate", "delta"},
		a.Error.Details["allowed"],
	)
	a = f.Do(t, contract.Request{Path: "/api/live-data/query?from=2026-01-01T00:00:00+01:00"})
	require.Contains(t, a.Error.Message, "%2B")
}

func TestSeriesAreListedWithWhatTheyHold(t *testing.T) {
	f := newFixture(t)
	f.register(t, f.Workspace, seriesKey{source: f.fan.ID, metric: "empty"})
	type series struct {
		ID, SourceID, SourceName, Metric, Kind string
		Unit                                   *string
		Tags                                   map[string]string
		FirstSeen, LastSeen                    *time.Time
		Count                                  int
	}
	var list []series
	require.EqualValues(t, 5, f.Get(t, "/api/live-data/series", &list).Meta.Total)
	found := map[string]series{}
	for _, s := range list {
		found[s.SourceName+" "+s.Metric] = s
	}
	temp := found["boiler temp"]
	require.Equal(t, 3, temp.Count)
	require.Equal(t, t0, *temp.FirstSeen)
	require.Equal(t, t0.Add(3*time.Minute), *temp.LastSeen)
	require.Equal(t, "°C", *temp.Unit)
	require.Equal(t, map[string]string{"room": "A"}, temp.Tags)
	require.Equal(t, "number", temp.Kind)
	require.Equal(t, 2, found["boiler state"].Count)
	require.Equal(t, "string", found["boiler state"].Kind)
	require.Equal(
		t,
		series{
			ID: found["fan empty"].ID, SourceID: f.fan.ID, SourceName: "fan", Metric: "empty", Kind: "number",
			Tags: map[string]string{},
		},
		found["fan empty"],
	)

	const pages = "/api/live-data/series?limit=2"
	var paged []string
	for cursor, path := ptr(""), pages; cursor != nil; path = pages + "&cursor=" + *orEmpty(cursor) {
		var page []series
		cursor = nextCursor(t, f.Get(t, path, &page))
		for _, s := range page {
			paged = append(paged, s.ID)
		}
	}
	require.Len(t, paged, 5)
	for i, s := range list {
		require.Equal(t, s.ID, paged[i])
	}
	var second []series
	a := f.Get(t, "/api/live-data/series?limit=2&offset=2", &second)
	require.Equal(t, contract.Meta{Total: 5, Limit: 2, Offset: 2, HasMore: true}, metaWithoutCursor(a))
	require.Equal(t, paged[2], second[0].ID)
	for query, field := range map[string]string{
		"from=-1h": "from", "sort=metric": "sort", "sourceId=x": "sourceId", "cursor=x": "cursor",
	} {
		f.Do(t, contract.Request{
			Path: "/api/live-data/series?" + query,
		}).RequireFailure(t, 400, validation, "", map[string]any{"field": field})
	}
}

func orEmpty(text *string) *string {
	if text == nil {
		return ptr("")
	}
	return text
}

func TestAQueryPagesThroughSeriesAndGroups(t *testing.T) {
	f := newFixture(t)
	for i := range 120 {
		f.register(t, f.Workspace, seriesKey{source: f.fan.ID, metric: fmt.Sprintf("m%03d", i)})
	}
	ask := func(params string, meta contract.Meta, length int) []rows {
		a := f.Do(t, contract.Request{Path: "/api/live-data/query?" + params})
		list := decode[[]rows](t, a, http.StatusOK)
		require.Equal(t, meta, metaWithoutCursor(a), params)
		require.Len(t, list, length, params)
		return list
	}
	ask("source=fan", contract.Meta{Total: 121, Limit: 50, HasMore: true}, 50)
	ask("source=fan&limit=1000&offset=100", contract.Meta{Total: 121, Limit: 100, Offset: 100}, 21)
	list := ask(
		"source=fan&aggregation=count&groupBy=metric&limit=2&offset=1",
		contract.Meta{Total: 121, Limit: 2, Offset: 1, HasMore: true}, 2,
	)
	require.Equal(t, []string{"m001", "m002"}, []string{*list[0].Metric, *list[1].Metric})
	ask(
		"source=fan&aggregation=count&groupBy=metric&offset=9223372036854775807",
		contract.Meta{Total: 121, Limit: 50, Offset: 1<<63 - 1}, 0,
	)
	ask("source=fan&offset=9223372036854775807", contract.Meta{Total: 121, Limit: 50, Offset: 1<<63 - 1}, 0)
}
