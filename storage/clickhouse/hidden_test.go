package clickhouse_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/test/chtest"
)

// readAll returns the results of all kinds of queries of series.
func (r *rollupFixture) readAll(numbers, texts []uint64, within timeseries.Range) map[string]string {
	r.t.Helper()
	ctx := r.t.Context()
	all := map[string]string{}
	add := func(name string, result any, err error) {
		r.t.Helper()
		require.NoError(r.t, err, name)
		all[name] = fmt.Sprint(result)
	}
	show := func(found map[uint64]*timeseries.Points) (shown []any) {
		for _, id := range append(numbers, texts...) {
			if p := found[id]; p != nil {
				shown = append(shown, id, p.TS, p.Columns[0].Numbers, stringsOf(p))
			}
		}
		return shown
	}
	for _, descending := range []bool{false, true} {
		raw, _, err := r.RawPoints(ctx, timeseries.RawQuery{
			Numbers: numbers, Strings: texts, Range: within, Limit: 1e6, Descending: descending,
		})
		add(fmt.Sprint("raw, descending ", descending), show(raw), err)
	}
	shape, _, err := r.Downsample(
		ctx, timeseries.DownsampleQuery{Series: numbers, Range: within, MaxPoints: 50, Limit: 1e6},
	)
	add("downsample", show(shape), err)
	stats, err := r.SeriesStats(ctx, numbers, texts, nil, within.Hidden)
	add("stats", stats, err)
	latest := timeseries.LatestQuery{Workspace: r.workspace, Hidden: within.Hidden}
	for _, id := range append(numbers, texts...) {
		latest.Series = append(latest.Series, timeseries.LatestSeries{
			ID: id, Source: r.source, IsString: len(texts) > 0 && id == texts[0],
		})
	}
	newest, err := r.LatestPoints(ctx, latest)
	byID := map[uint64]*timeseries.Points{}
	for i, p := range newest {
		byID[latest.Series[i].ID] = p
	}
	add("latest", show(byID), err)
	groups := make([]int, len(numbers))
	for i := range groups {
		groups[i] = i % 2
	}
	functions := append([]timeseries.Function{timeseries.P50, timeseries.Delta}, rollupFunctions...)
	for _, step := range []time.Duration{0, time.Minute, time.Hour, 90 * time.Second} {
		for _, requested := range [][]timeseries.Function{functions, rollupFunctions} {
			q := timeseries.AggregateQuery{Series: numbers, Groups: groups, Range: within, Functions: requested, Limit: 1e6}
			if step > 0 {
				q.Grid = timeseries.NewGrid(step, time.UTC, within.FromUS, within.ToUS)
			}
			rows, _, err := r.Aggregate(ctx, q)
			add(fmt.Sprint("aggregate ", step, " ", len(requested)), rounded(rows), err)
		}
	}
	rows, _, err := r.Aggregate(ctx, fine(timeseries.AggregateQuery{Series: numbers, Range: within, Limit: 1e6}))
	add("fine buckets", rounded(rows), err)
	counted, _, err := r.Aggregate(ctx, timeseries.AggregateQuery{
		Series: texts, Groups: make([]int, len(texts)), IsString: true, Range: within,
		Functions: []timeseries.Function{timeseries.Count}, Limit: 10})
	add("count of texts", fmt.Sprint(counted[0] != nil && len(counted[0].TS) > 0, numbersOf(counted[0])), err)
	return all
}

// rounded returns the times and the values of groups.
func rounded(rows map[int]*timeseries.Points) (shown []any) {
	for _, group := range slices.Sorted(maps.Keys(rows)) {
		shown = append(shown, group, rows[group].TS)
		for _, c := range rows[group].Columns {
			for _, v := range c.Numbers {
				shown = append(shown, fmt.Sprintf("%.6g", v))
			}
		}
	}
	return shown
}

func stringsOf(p *timeseries.Points) (texts []string) {
	for _, t := range p.Columns[0].Strings {
		texts = append(texts, *t)
	}
	return texts
}

func numbersOf(p *timeseries.Points) []float64 {
	if p == nil {
		return nil
	}
	return p.Columns[0].Numbers
}

// TestWhatIsHiddenIsAsIfItWereDeleted compares the results of all kinds of queries before
// deletions are executed with those afterwards. Points that came after a deletion are kept.
func TestWhatIsHiddenIsAsIfItWereDeleted(t *testing.T) {
	for name, deletions := range map[string]func(at func(int64) *int64, metric func(int) *string) []clickhouse.Deletion{
		"an hour and a half of one metric": func(at func(int64) *int64, metric func(int) *string) []clickhouse.Deletion {
			return []clickhouse.Deletion{{Metric: metric(0), FromUS: at(2 * hour), ToUS: at(3*hour + 30*minute), Ceiling: 10}}
		},
		"the newest of all": func(at func(int64) *int64, _ func(int) *string) []clickhouse.Deletion {
			return []clickhouse.Deletion{{FromUS: at(7 * hour), Ceiling: 10}}
		},
		"all there was": func(func(int64) *int64, func(int) *string) []clickhouse.Deletion {
			return []clickhouse.Deletion{{Ceiling: 10}}
		},
		"many that overlap": func(at func(int64) *int64, metric func(int) *string) (list []clickhouse.Deletion) {
			for i := range int64(40) {
				list = append(list, clickhouse.Deletion{
					Metric: metric(int(i % 3)), FromUS: at(i * 11 * minute), ToUS: at(i*11*minute + 25*minute),
					Ceiling: uint64(4 + i%7),
				})
			}
			return list
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRollupFixture(t, 4)
			r.insertAll()
			at := func(after int64) *int64 { return new(t0 + after) }
			metric := func(i int) *string { return new(fmt.Sprintf("m%d", i)) }
			list := deletions(at, metric)
			hidden := timeseries.Hidden{}
			for i := range list {
				list[i].Workspace, list[i].Source = r.workspace, r.source
				for series := range 4 {
					if list[i].Metric == nil || *list[i].Metric == fmt.Sprintf("m%d", series) {
						hidden.Add(id(series), list[i], false)
					}
				}
			}
			within := timeseries.Range{FromUS: t0 + 7*minute, ToUS: t0 + 9*hour}
			before := r.readAll(ids(3), []uint64{id(3)}, within)
			within.Hidden = hidden
			got := r.readAll(ids(3), []uint64{id(3)}, within)
			require.NoError(t, r.Delete(t.Context(), list...))
			require.Equal(t, got, r.readAll(ids(3), []uint64{id(3)}, within), "deleted, and still hidden")
			within.Hidden = nil
			require.Equal(t, r.readAll(ids(3), []uint64{id(3)}, within), got)
			require.NotEqual(t, before["stats"], got["stats"])
		})
	}
}

// insertAll stores points of three series of numbers and one of strings, most of them with
// versions up to 10 and some with a higher one, their rows of table latest, and their rollups.
func (r *rollupFixture) insertAll() {
	r.t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	var latest []clickhouse.LatestRow
	for series := range 3 {
		var c clickhouse.PointColumns
		var last clickhouse.LatestRow
		for ts := int64(t0); ts < t0+8*hour; ts += 20 * second {
			version := 1 + random.Uint64N(10)
			if random.IntN(5) == 0 {
				version = 11
			}
			c.Append(id(series), ts, float64(random.IntN(1000)), version)
			last = clickhouse.LatestRow{
				Workspace: r.workspace, Source: r.source, Series: id(series), TS: ts, Version: version, Value: c.Values[c.Len()-1],
			}
		}
		require.NoError(r.t, r.InsertPoints(r.t.Context(), &c))
		latest = append(latest, last)
	}
	var texts clickhouse.StateColumns
	for i := range int64(40) {
		texts.Append(id(3), t0+i*10*minute, fmt.Sprint("state ", i), 1+uint64(i)%10)
	}
	require.NoError(r.t, r.InsertStates(r.t.Context(), &texts))
	latest = append(latest, clickhouse.LatestRow{
		Workspace: r.workspace, Source: r.source, Series: id(3), TS: t0 + 39*10*minute, Version: 10, Text: "state 39",
	})
	require.NoError(r.t, r.InsertLatest(r.t.Context(), clickhouse.LatestOf(latest...)))
	r.rollUpFully(t0 + 9*hour + 10*minute)
}

func TestNewerPointsOfADeletedTimeAreShown(t *testing.T) {
	s := chtest.New(t)
	s.Insert(t, "points", chtest.Row(1, t0, 1, 5), chtest.Row(1, t0+1, 2, 5))
	s.Insert(t, "points", chtest.Row(1, t0, 3, 7))
	hidden := timeseries.Hidden{}
	hidden.Add(1, clickhouse.Deletion{Ceiling: 6}, true)
	within := chtest.Everything
	within.Hidden = hidden
	found, _, err := s.RawPoints(t.Context(), timeseries.RawQuery{Numbers: []uint64{1}, Range: within, Limit: 10})
	require.NoError(t, err)
	require.Equal(t, []float64{3}, found[1].Columns[0].Numbers)
}

func TestMoreDeletionsThanAQueryCanLeaveOutAreRefused(t *testing.T) {
	s := chtest.New(t)
	hidden := timeseries.Hidden{}
	for i := range int64(10_001) {
		hidden.Add(1, clickhouse.Deletion{FromUS: new(t0 + 2*i), ToUS: new(t0 + 2*i + 1), Ceiling: 6}, true)
	}
	within := chtest.Everything
	within.Hidden = hidden
	_, _, err := s.RawPoints(t.Context(), timeseries.RawQuery{Numbers: []uint64{1}, Range: within, Limit: 10})
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)

	delete(hidden, 1)
	s.Insert(t, "points", chtest.Row(2, t0, 1, 5), chtest.Row(2, t0+1, 2, 5), chtest.Row(2, t0+2, 2, 7))
	for i := range int64(9_000) {
		hidden.Add(2, clickhouse.Deletion{FromUS: new(t0 + 2*i), ToUS: new(t0 + 2*i + 1), Ceiling: 6}, true)
	}
	found, _, err := s.RawPoints(t.Context(), timeseries.RawQuery{Numbers: []uint64{2}, Range: within, Limit: 10})
	require.NoError(t, err)
	require.Equal(t, []int64{t0 + 1, t0 + 2}, found[2].TS)
}
