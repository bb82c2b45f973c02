package contract_test

import (
	"fmt"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/test/contract"
)

// TestQueriesAgreeWithANaiveModel draws series with overwritten points around a
// clock change, asks random queries and compares every cell.
func TestQueriesAgreeWithANaiveModel(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	rapid.Check(t, func(rt *rapid.T) {
		workspace := l.NewWorkspace(t, "live")
		key := l.NewKey(t, []uuid.UUID{workspace}, request.Admin)
		middle := rapid.SampledFrom([]string{
			"2026-03-29T01:00:00Z", "2025-11-02T06:00:00Z", "2026-04-04T15:00:00Z", "2026-06-01T12:00:00Z",
		}).Draw(rt, "middle")
		around, _ := time.Parse(time.RFC3339, middle)
		all := drawSeries(t, rt, l, workspace, key, around)
		for n := range 6 {
			q := drawQuery(rt, all, around, n)
			a := l.Do(t, contract.Request{Path: "/api/live-data/query?" + q.params(), Key: key, Workspace: workspace.String()})
			list := decode[[]rows](t, a, http.StatusOK)
			want := q.answer(all)
			require.Len(rt, list, len(want), q.params())
			for _, got := range list {
				s := &modelSeries{seriesKey: seriesKey{
					source: *orEmpty(got.SourceID), metric: *orEmpty(got.Metric), tags: got.Tags, text: got.Kind == "string",
				}}
				group := (&modelQuery{}).group(s)
				require.Contains(rt, want, group)
				requireSameRows(rt, want[group], got.Points, q.params()+" "+group)
			}
		}
	})
}

func requireSameRows(rt *rapid.T, want, got [][]any, what string) {
	require.Len(rt, got, len(want), "%s\nwant %v\ngot %v", what, want, got)
	for i := range want {
		require.Len(rt, got[i], len(want[i]), what)
		for j := range want[i] {
			w, number := want[i][j].(float64)
			g, alsoNumber := got[i][j].(float64)
			if number && alsoNumber {
				require.LessOrEqual(
					rt, math.Abs(w-g), 1e-9*(1+math.Abs(w)), "%s row %d column %d: want %v, got %v", what, i, j, want[i], got[i],
				)
				continue
			}
			require.Equal(rt, want[i][j], got[i][j], "%s row %d column %d: want %v, got %v", what, i, j, want[i], got[i])
		}
	}
}

func drawSeries(t *testing.T, rt *rapid.T, l *live, workspace uuid.UUID, key string, around time.Time) []*modelSeries {
	t.Helper()
	var all []*modelSeries
	for i := range rapid.IntRange(1, 2).Draw(rt, "sources") {
		a := l.Do(t, contract.Request{
			Method: "POST", Path: "/api/live-data/sources", Body: fmt.Sprintf(`{"name":"s%d"}`, i), Key: key,
			Workspace: workspace.String(),
		})
		made := decode[source](t, a, http.StatusCreated)
		for n := range rapid.IntRange(1, 4).Draw(rt, "series") {
			tags := []map[string]string{nil, {"room": "A"}, {"room": "B", "x": ""}, {"x": "1"}}[n]
			s := &modelSeries{points: map[int64]any{}, seriesKey: seriesKey{source: made.ID, tags: tags,
				metric: rapid.SampledFrom([]string{"m", "n"}).Draw(rt, "metric"), text: rapid.IntRange(0, 3).Draw(rt, "kind") == 0}}
			var samples []sample
			for version := range rapid.IntRange(0, 40).Draw(rt, "points") {
				// Times repeat within a series, but never in two series of a group, where
				// first and last would be undetermined.
				us := around.Add(time.Duration(rapid.IntRange(-30*60, 30*60).Draw(rt, "minute"))*time.Minute).UnixMicro() +
					int64(len(all))
				var value any = float64(rapid.IntRange(-400, 400).Draw(rt, "value")) / 4
				if s.text {
					value = rapid.SampledFrom([]string{"", "on", "off", "🚀", `"\`}).Draw(rt, "text")
				}
				s.points[us] = value
				samples = append(samples, sample{us, value, uint64(version)})
			}
			l.store(t, workspace, s.seriesKey, shuffled(rt, samples)...)
			all = append(all, s)
		}
	}
	return all
}

func shuffled(rt *rapid.T, samples []sample) []sample {
	if len(samples) == 0 {
		return nil
	}
	return rapid.Permutation(samples).Draw(rt, "order of arrival")
}

func drawQuery(rt *rapid.T, all []*modelSeries, around time.Time, n int) *modelQuery {
	some := func(label string, of ...string) []string {
		if rapid.IntRange(0, 2).Draw(rt, label+"?") > 0 {
			return nil
		}
		return rapid.SliceOfNDistinct(rapid.SampledFrom(of), 1, len(of), rapid.ID).Draw(rt, label)
	}
	q := &modelQuery{
		metrics: some("metric", "m", "n"), rooms: some("room", "A", "B"),
		sources: some("source", all[0].source, uuid.NewString()),
	}
	hours := func(label string) int64 {
		return around.Add(time.Duration(rapid.IntRange(-31*3600, 31*3600).Draw(rt, label)) * time.Second).UnixMicro()
	}
	q.from, q.to = hours("from"), hours("to")
	q.from, q.to = min(q.from, q.to), max(q.from, q.to)
	q.descending = rapid.Bool().Draw(rt, "desc")
	if n == 0 {
		return q // raw
	}
	for _, f := range rapid.SliceOfNDistinct(
		rapid.SampledFrom(timeseries.Functions()), 1, 5, rapid.ID,
	).Draw(rt, "functions") {
		q.functions = append(q.functions, string(f))
	}
	if rapid.Bool().Draw(rt, "grouped") {
		q.groupBy = rapid.SliceOfNDistinct(
			rapid.SampledFrom([]string{"sourceId", "metric", "tag.room"}), 1, 3, rapid.ID,
		).Draw(rt, "groupBy")
		if rapid.IntRange(0, 3).Draw(rt, "none") == 0 {
			q.groupBy = []string{"none"}
		}
	}
	if rapid.IntRange(0, 3).Draw(rt, "buckets") > 0 {
		q.interval = rapid.SampledFrom([]time.Duration{
			15 * time.Minute, 45 * time.Minute, time.Hour, 6 * time.Hour, 7 * time.Hour, 24 * time.Hour, 72 * time.Hour,
		}).Draw(rt, "interval")
		q.zone = rapid.SampledFrom([]string{
			"", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata",
		}).Draw(rt, "zone")
		q.fill = rapid.SampledFrom([]string{"", "none", "null", "previous", "linear", "7.5"}).Draw(rt, "fill")
	}
	return q
}
