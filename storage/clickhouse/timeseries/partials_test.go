package timeseries_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/test/chtest"
)

// TestPointsWithSeveralRowsCountOnce stores points of a series in two parts. Results must be those
// of the newest rows, and only queries of a bucket in which the parts overlap are repeated.
func TestPointsWithSeveralRowsCountOnce(t *testing.T) {
	steady := []point{row(1, t0, 1, 1), row(1, t0+60*second, 2, 1), row(1, t0+70*second, 4, 1)}
	for name, c := range map[string]struct {
		later    []point
		sums     []float64 // by the minute
		deltas   []float64
		repeated bool
	}{
		"later points": {
			later: []point{row(1, t0+80*second, 8, 2)}, sums: []float64{1, 14}, deltas: []float64{0, 7},
		},
		"the last point again": {
			later: []point{row(1, t0+70*second, 4, 2)}, sums: []float64{1, 6}, deltas: []float64{0, 3}, repeated: true,
		},
		"the first point of a bucket, overwritten": {
			later: []point{row(1, t0+60*second, 3, 2)}, sums: []float64{1, 7}, deltas: []float64{0, 3}, repeated: true,
		},
		"an older version": {
			later: []point{row(1, t0+70*second, 100, 0)}, sums: []float64{1, 6}, deltas: []float64{0, 3}, repeated: true,
		},
		"another series": {
			later: []point{row(2, t0+60*second, 100, 2)}, sums: []float64{1, 6}, deltas: []float64{0, 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			registry := prometheus.NewRegistry()
			db, err := chtest.Open(
				t.Context(), s.URL.String(), clickhouse.WithMetrics(clickhouse.NewMetrics(registry)),
			)
			require.NoError(t, err)
			defer func() { _ = db.Close() }()
			s.Exec(t, "SYSTEM STOP MERGES points")
			s.Insert(t, "points", steady...)
			s.Insert(t, "points", c.later...)
			q := timeseries.AggregateQuery{
				Series: []uint64{1}, Groups: []int{0}, Limit: 10,
				Range:     timeseries.Range{FromUS: t0, ToUS: t0 + 120*second},
				Grid:      timeseries.NewGrid(time.Minute, time.UTC, t0, t0+120*second),
				Functions: []timeseries.Function{timeseries.Sum, timeseries.Count},
			}
			for _, fineFrom := range []int{0, math.MaxInt} { // grouped in this process, and by ClickHouse
				before := repeatedQueries(t, registry)
				q.FineFrom = fineFrom
				found, _, err := timeseries.New(db).Aggregate(t.Context(), q)
				require.NoError(t, err)
				require.Equal(t, c.sums, found[0].Columns[0].Numbers)
				require.Equal(t, c.repeated, repeatedQueries(t, registry) > before)
			}

			q.Functions = []timeseries.Function{timeseries.Delta}
			before := repeatedQueries(t, registry)
			found, _, err := timeseries.New(db).Aggregate(t.Context(), q)
			require.NoError(t, err)
			require.Equal(t, c.deltas[1:], found[0].Columns[0].Numbers[1:])
			require.Equal(t, c.repeated, repeatedQueries(t, registry) > before)

			q.Functions = []timeseries.Function{timeseries.Last}
			q.Grid = timeseries.NewGrid(time.Second, time.UTC, t0, t0+120*second)
			want, _, err := timeseries.New(db).Aggregate(t.Context(), q) // a bucket a point
			require.NoError(t, err)
			for _, descending := range []bool{false, true} {
				if descending {
					slices.Reverse(want[0].TS)
					slices.Reverse(want[0].Columns[0].Numbers)
				}
				for limit := 1; limit <= len(want[0].TS)+1; limit++ {
					before = repeatedQueries(t, registry)
					raw, more, err := timeseries.New(db).RawPoints(t.Context(), timeseries.RawQuery{
						Numbers: []uint64{1}, Range: q.Range, Descending: descending, Limit: limit,
					})
					require.NoError(t, err)
					require.Equal(t, limit < len(want[0].TS), more, "limit %d", limit)
					shown := min(limit, len(want[0].TS))
					require.Equal(t, want[0].TS[:shown], raw[1].TS, "limit %d", limit)
					require.Equal(t, want[0].Columns[0].Numbers[:shown], raw[1].Columns[0].Numbers, "limit %d", limit)
					if limit >= len(want[0].TS) {
						require.Equal(t, c.repeated, repeatedQueries(t, registry) > before)
					}
				}
			}
		})
	}
}

// repeatedQueries returns the number of queries that were repeated with FINAL.
func repeatedQueries(t *testing.T, registry *prometheus.Registry) float64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "livegraph_query_repeated_total" {
			return f.Metric[0].Counter.GetValue()
		}
	}
	require.Fail(t, "there is no such metric")
	return 0
}

// TestAnInsertStoresOneRowOfAPoint stores rows in any order, several of one point.
func TestAnInsertStoresOneRowOfAPoint(t *testing.T) {
	s := newStore(t)
	s.Exec(t, "SYSTEM STOP MERGES points")
	for _, points := range [][]point{
		{row(1, t0, 1.0, 1), row(1, t0, 2.0, 3), row(1, t0, 3.0, 2)},
		{row(2, t0+1, 5.0, 1), row(2, t0, 1.0, 1), row(2, t0+1, 2.0, 2)},
		{row(3, t0, 1.0, 1), row(4, t0, 7.0, 1), row(3, t0, 2.0, 2)},
	} {
		c := &clickhouse.PointColumns{}
		for _, p := range points {
			c.Append(p.Series, p.TS, p.Value.(float64), p.Version)
		}
		require.NoError(t, s.InsertPoints(t.Context(), c))
	}
	found, _, err := s.Aggregate(t.Context(), timeseries.AggregateQuery{
		Series: []uint64{1, 2, 3, 4}, Groups: []int{0, 1, 2, 3}, Limit: 10, Range: chtest.Everything,
		Functions: []timeseries.Function{timeseries.Sum, timeseries.Count, timeseries.Delta},
	})
	require.NoError(t, err)
	for group, want := range [][]float64{{2, 1}, {3, 2}, {2, 1}, {7, 1}} {
		got := found[group].Columns
		require.Equal(t, want, []float64{got[0].Numbers[0], got[1].Numbers[0]}, group)
	}
	require.Equal(t, 1.0, found[1].Columns[2].Numbers[0])
}
