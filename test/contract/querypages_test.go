package contract_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/livedata"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/test/contract"
)

func TestOneRawSeriesIsPagedByCursor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var samples []sample
	for i := range 25 {
		samples = append(
			samples, sample{microsAt(time.Duration(i) * time.Second), float64(i), 1},
			sample{microsAt(time.Duration(i) * time.Second), -1.0, 0},
		)
	}
	f.store(t, f.Workspace, seriesKey{source: f.fan.ID, metric: "long"}, samples...)
	for _, order := range []string{"asc", "desc"} {
		path := "/api/live-data/query?metric=long&pointsLimit=10&order=" + order + "&" + rangeParams(time.Hour)
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
	a := f.Do(t, contract.Request{Path: "/api/live-data/query?metric=long&pointsLimit=25&" + rangeParams(time.Hour)})
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

func TestTooManyPointsReportWhatToNarrow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, params := range []string{
		"pointsLimit=3&metric=temp", "pointsLimit=1&groupBy=sourceId&aggregation=sum",
		"pointsLimit=3&metric=temp&aggregation=avg&interval=1m",
		"pointsLimit=100&interval=1s&aggregation=avg&fill=null",
		"interval=1s&aggregation=avg&fill=0&from=1970-01-01T00:00:00Z",
	} {
		query := params
		if !strings.Contains(params, "from=") {
			query += "&" + rangeParams(time.Hour)
		}
		a := f.Do(t, contract.Request{Path: "/api/live-data/query?" + query})
		a.RequireFailure(t, http.StatusUnprocessableEntity, validation, "", map[string]any{"field": "pointsLimit"})
		require.Contains(t, a.Error.Details["narrow"], "from", params)
	}
}

func TestAQueryThatTakesTooLongIs504(t *testing.T) {
	t.Parallel()
	group := &contract.LiveData{Change: func(d *livedata.Deps) { d.QueryTimeout = 30 * time.Millisecond }}
	l := &live{Server: contract.Start(t, group.Group), LiveData: group}
	made := l.createSource(t, `{"name":"boiler"}`)
	id := l.register(t, l.Workspace, seriesKey{source: made.ID, metric: "m"})
	var columns clickhouse.PointColumns
	for i := range 2_000_000 {
		columns.Append(id, microsAt(0)+int64(i), float64(i), 1)
	}
	require.NoError(t, l.Points.InsertPoints(t.Context(), &columns))
	a := l.Do(t, contract.Request{
		Path: "/api/live-data/query?aggregation=p50,stddev,first,last,avg&interval=1s&" + rangeParams(time.Hour),
	})
	a.RequireFailure(t, http.StatusGatewayTimeout, "INTERNAL_ERROR", "", map[string]any{"reason": "took too long"})
	require.Contains(t, a.Error.Details["narrow"], "from")
	require.Equal(t, "1", a.Header.Get("Retry-After"))
}

// TestAQueryWhoseTimeEndsAnywhereIs504 lets the time end before the points are read.
func TestAQueryWhoseTimeEndsAnywhereIs504(t *testing.T) {
	t.Parallel()
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

func TestAQueryPagesThroughSeriesAndGroups(t *testing.T) {
	t.Parallel()
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
