package contract_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

// fixture is a server with a few series that most tests of queries use.
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
		sample{microsAt(0), 10.0, 1}, sample{microsAt(0), 1.0, 2}, sample{microsAt(time.Minute), 2.0, 1},
		sample{microsAt(3 * time.Minute), 4.5, 1})
	f.store(t, f.Workspace, seriesKey{source: f.boiler.ID, metric: "pressure"}, sample{microsAt(time.Second), 7.0, 1})
	f.store(t, f.Workspace, seriesKey{source: f.boiler.ID, metric: "state", text: true},
		sample{microsAt(time.Minute), "on", 1}, sample{microsAt(2*time.Minute + time.Microsecond), `off "now"`, 1})
	f.store(
		t, f.Workspace, seriesKey{source: f.fan.ID, metric: "temp", tags: map[string]string{"room": "B"}},
		sample{microsAt(0), 100.0, 1}, sample{microsAt(5 * time.Minute), 101.0, 1},
	)
	return f
}

// shape returns the parts of an answer that most tests compare: "source metric tags points".
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

func TestRawPointsAreReturnedUnchanged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	require.Equal(t, []string{
		"boiler pressure [1s 7]", `boiler state [1m0s on] [2m0.000001s off "now"]`,
		"boiler temp room=A [0s 1] [1m0s 2] [3m0s 4.5]", "fan temp room=B [0s 100] [5m0s 101]",
	}, f.shapes(t, rangeParams(time.Hour)))
	require.Equal(t, []string{"boiler temp room=A [3m0s 4.5] [1m0s 2] [0s 1]"}, f.shapes(
		t, rangeParams(time.Hour)+"&order=desc&metric=temp&source=boiler",
	))

	list := f.query(t, rangeParams(time.Hour)+"&metric=temp&sourceId="+f.boiler.ID)
	require.Len(t, list, 1)
	require.Equal(
		t, rows{SourceID: &f.boiler.ID, SourceName: ptr("boiler"), Metric: ptr("temp"), Kind: "number", Unit: ptr("°C"),
			Tags: map[string]string{"room": "A"}, Columns: []string{"timestamp", "value"},
			Points: [][]any{{timestampAt(0), 1.0}, {timestampAt(time.Minute), 2.0}, {timestampAt(3 * time.Minute), 4.5}}},
		list[0],
	)
	require.Equal(
		t, "bar", *f.query(t, rangeParams(time.Hour)+"&metric=pressure")[0].Unit, "the source's, where the metric has none",
	)
	for epoch, want := range map[string]int64{"ms": microsAt(0) / 1000, "us": microsAt(0), "ns": microsAt(0) * 1000} {
		a := f.Do(t, contract.Request{
			Path: "/api/live-data/query?metric=pressure&" + rangeParams(time.Hour) + "&epoch=" + epoch,
		})
		require.Contains(t, string(a.Data), fmt.Sprintf(
			"[%d,7]", want+map[string]int64{"ms": 1e3, "us": 1e6, "ns": 1e9}[epoch],
		))
	}
}

func TestFromIsInclusiveAndToExclusive(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ask := func(from, to string) []string {
		return f.shapes(t, fmt.Sprintf("source=boiler&metric=temp&from=%s&to=%s", escape(from), escape(to)))
	}
	require.Equal(t, []string{"boiler temp room=A [1m0s 2]"}, ask(timestampAt(time.Minute), timestampAt(3*time.Minute)))
	require.Equal(t, []string{"boiler temp room=A"}, ask(timestampAt(time.Minute), timestampAt(time.Minute)))
	require.Equal(t, []string{"boiler temp room=A [1m0s 2]"}, ask(
		fmt.Sprint(microsAt(time.Minute)/1000), fmt.Sprint(microsAt(time.Minute)/1000+1),
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
		f.shapes(t, "source=boiler&metric=temp&to="+timestampAt(time.Hour+2*time.Minute)), "from is an hour before to",
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
	t.Parallel()
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
		a := f.Do(t, contract.Request{Path: "/api/live-data/query?" + rangeParams(time.Hour) + "&" + query})
		require.Len(t, decode[[]rows](t, a, http.StatusOK), want, query)
		require.EqualValues(t, want, a.Meta.Total, query)
		b := f.Do(t, contract.Request{Path: "/api/live-data/series?" + query})
		require.Len(t, decode[[]any](t, b, http.StatusOK), want, query)
	}
	for _, text := range hostile {
		f.store(
			t, f.Workspace, seriesKey{source: f.fan.ID, metric: text, tags: map[string]string{text: text}},
			sample{microsAt(0), 3.0, 1},
		)
		for _, query := range []string{"metric=" + escape(text), "tag." + escape(text) + "=" + escape(text)} {
			list := f.query(t, rangeParams(time.Hour)+"&"+query+"&aggregation=sum&groupBy="+escape("metric"))
			require.Len(t, list, 1, query)
			require.Equal(t, text, *list[0].Metric)
			require.InDelta(t, 3, list[0].Points[0][1], 0)
		}
	}
}

func TestTheLatestPointIsReturnedHoweverOld(t *testing.T) {
	t.Parallel()
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
		f.shapes(t, "latest=true&from="+timestampAt(4*time.Minute)),
	)
	require.Len(t, f.query(t, "latest=false&"+rangeParams(time.Hour)), 4)
}

func TestAggregatesAreByBucketAndGroup(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ask := func(params string) []string { return f.shapes(t, rangeParams(10*time.Minute)+"&"+params) }
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

	grouped := f.query(t, rangeParams(time.Hour)+"&groupBy=none&aggregation=count,sum&metric=temp")
	require.Len(t, grouped, 1)
	require.Equal(t, []string{"timestamp", "count", "sum"}, grouped[0].Columns)
	require.Nil(t, grouped[0].SourceID)
	require.Nil(t, grouped[0].Metric)
	require.Nil(t, grouped[0].Unit, "°C and none are not one unit")
	require.Equal(t, timestampAt(0), grouped[0].Points[0][0])
	require.Equal(
		t, "°C", *f.query(t, rangeParams(time.Hour)+"&groupBy=metric&aggregation=count&source=boiler&metric=temp")[0].Unit,
	)
}

func TestBucketsWithoutPointsAreFilledAsAsked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ask := func(params string) []string {
		return f.shapes(
			t, "from="+timestampAt(-time.Minute)+"&to="+timestampAt(5*time.Minute)+"&source=boiler&interval=1m&"+params,
		)
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
	t.Parallel()
	f := newFixture(t)
	key := seriesKey{source: f.fan.ID, metric: "hourly"}
	var samples []sample
	end := time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
	for hour := time.Date(2026, 3, 27, 0, 0, 0, 0, time.UTC); hour.Before(end); hour = hour.Add(time.Hour) {
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
