package timeseries_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

// insertValues stores a point for each value, with an interval in seconds, from t0 on.
func (s *store) insertValues(t *testing.T, series uint64, interval int64, values ...float64) {
	t.Helper()
	var points []point
	for i, v := range values {
		points = append(points, row(series, t0+int64(i)*interval*second, v, 1))
	}
	s.Insert(t, "points", points...)
}

// counters queries rate and delta and returns the rows of group 0 as [bucket in seconds
// after t0, rate, delta].
func (s *store) counters(t *testing.T, q timeseries.AggregateQuery) [][]float64 {
	t.Helper()
	q.Functions, q.Limit = []timeseries.Function{timeseries.Rate, timeseries.Delta}, 1000
	found, more, err := s.Aggregate(t.Context(), q)
	require.NoError(t, err)
	require.False(t, more)
	var rows [][]float64
	if p := found[0]; p != nil {
		for i, ts := range p.TS {
			rows = append(rows, []float64{float64(ts-t0) / second, p.Columns[0].Numbers[i], p.Columns[1].Numbers[i]})
		}
	}
	return rows
}

func requireRows(t *testing.T, want, got [][]float64) {
	t.Helper()
	require.Len(t, got, len(want), "want %v, got %v", want, got)
	for i := range want {
		for j := range want[i] {
			if math.IsNaN(want[i][j]) {
				require.True(t, math.IsNaN(got[i][j]), "row %d: want %v, got %v", i, want[i], got[i])
			} else {
				require.InDelta(t, want[i][j], got[i][j], 1e-9, "row %d: want %v, got %v", i, want[i], got[i])
			}
		}
	}
}

func secondsFrom(from, to int64) timeseries.Range {
	return timeseries.Range{FromUS: t0 + from*second, ToUS: t0 + to*second}
}

func TestAnIncreaseIsLostNeitherBetweenBucketsNorAtAReset(t *testing.T) {
	s := newStore(t)
	s.insertValues(t, 1, 30, 100, 110, 130, 5, 5, 25) // 0, 30, 60, 90, 120, 150 s
	one := timeseries.AggregateQuery{Series: []uint64{1}, Groups: []int{0}}
	query := func(step time.Duration, r timeseries.Range) [][]float64 {
		q := one
		if q.Range = r; step > 0 {
			q.Grid = timeseries.NewGrid(step, time.UTC, r.FromUS, r.ToUS)
		}
		return s.counters(t, q)
	}
	none := math.NaN()
	requireRows(
		t, [][]float64{{0, 10. / 30, 10}, {60, 25. / 60, 25}, {120, 20. / 60, 20}}, query(time.Minute, secondsFrom(0, 180)),
	)
	requireRows(t, [][]float64{{0, 55. / 150, 55}}, query(0, secondsFrom(0, 180)))
	requireRows(t, [][]float64{
		{0, none, none}, {30, 10. / 30, 10}, {60, 20. / 30, 20}, {90, 5. / 30, 5}, {120, 0, 0}, {150, 20. / 30, 20},
	},
		query(30*time.Second, secondsFrom(0, 180)))
	requireRows(t, [][]float64{{60, 5. / 30, 5}, {120, 20. / 60, 20}}, query(time.Minute, secondsFrom(70, 180)))
	requireRows(t, [][]float64{{0, none, none}}, query(time.Minute, secondsFrom(0, 30)))
	require.Empty(t, query(time.Minute, secondsFrom(200, 400)))
}

func TestTheFirstStepBeginsAtMostTheLookBackBeforeTheRange(t *testing.T) {
	s := newStore(t)
	s.Insert(t, "points", row(1, t0, 10, 1), row(1, t0+7200*second, 30, 1))
	at := timeseries.AggregateQuery{Series: []uint64{1}, Groups: []int{0}}
	query := func(step time.Duration, from, to int64) float64 {
		at.Range = secondsFrom(from, to)
		if at.Grid = nil; step > 0 {
			at.Grid = timeseries.NewGrid(step, time.UTC, at.Range.FromUS, at.Range.ToUS)
		}
		rows := s.counters(t, at)
		require.Len(t, rows, 1)
		return rows[0][2]
	}
	require.True(t, math.IsNaN(query(time.Minute, 7200, 7300)), "an hour")
	require.InDelta(t, 20, query(time.Minute, 3600, 7300), 0)
	require.InDelta(t, 20, query(2*time.Hour, 7200, 7300), 0, "an interval")
	require.True(t, math.IsNaN(query(0, 7200, 7300)))
	require.InDelta(t, 20, query(0, 7200, 14_400), 0, "the length of the range")
}

func TestCountersOfAGroupAreTheSumOfItsSeries(t *testing.T) {
	s := newStore(t)
	s.insertValues(t, 1, 10, 0, 10, 20)
	s.insertValues(t, 2, 10, 1000, 1005, 1)
	s.insertValues(t, 3, 10, 7)
	s.Insert(t, "points", row(1, t0+10*second, 500, 0)) // overwritten
	q := timeseries.AggregateQuery{Series: []uint64{1, 2, 3}, Groups: []int{0, 0, 0}, Range: secondsFrom(0, 60)}
	requireRows(t, [][]float64{{0, 1 + 0.3, 26}}, s.counters(t, q))
	q.Series, q.Groups = []uint64{3}, []int{0}
	requireRows(t, [][]float64{{0, math.NaN(), math.NaN()}}, s.counters(t, q))
}

func TestStepsBeyondTheRangeOfNumbersAreNone(t *testing.T) {
	s := newStore(t)
	s.insertValues(t, 1, 10, -1.7e308, 1.7e308)
	q := timeseries.AggregateQuery{Series: []uint64{1}, Groups: []int{0}, Range: secondsFrom(0, 60)}
	requireRows(t, [][]float64{{0, math.NaN(), math.NaN()}}, s.counters(t, q))
}

// TestCountersAgreeWithANaiveModel draws counters with gaps, resets and overwritten points
// around clock changes, and compares each row with the result of a simple loop.
func TestCountersAgreeWithANaiveModel(t *testing.T) {
	s := newStore(t)
	rapid.Check(t, func(rt *rapid.T) {
		s.Exec(t, "TRUNCATE TABLE "+s.Layout().Stored("points"))
		middle := rapid.SampledFrom([]int64{
			1_774_746_000, 1_761_436_800, 1_775_314_800, t0 / second,
		}).Draw(rt, "middle") * second
		series := rapid.IntRange(1, 3).Draw(rt, "series")
		current := make([]map[int64]float64, series)
		q := timeseries.AggregateQuery{Limit: 100_000}
		for i := range current {
			current[i] = s.drawCounter(t, rt, uint64(i+1), middle)
			q.Series, q.Groups = append(q.Series, uint64(i+1)), append(q.Groups, rapid.IntRange(0, 1).Draw(rt, "group"))
		}
		hours := func(label string) int64 {
			return middle + rapid.Int64Range(-50*3600, 50*3600).Draw(rt, label)*second
		}
		from, to := hours("from"), hours("to")
		q.Range = timeseries.Range{FromUS: min(from, to), ToUS: max(from, to)}
		if rapid.IntRange(0, 4).Draw(rt, "buckets") > 0 {
			zone, err := time.LoadLocation(
				rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "Australia/Lord_Howe"}).Draw(rt, "zone"),
			)
			require.NoError(t, err)
			step := rapid.SampledFrom([]time.Duration{
				10 * time.Minute, time.Hour, 7 * time.Hour, 24 * time.Hour,
			}).Draw(rt, "step")
			q.Grid = timeseries.NewGrid(step, zone, q.Range.FromUS, q.Range.ToUS)
		}
		q.Functions = rapid.SampledFrom([][]timeseries.Function{
			{timeseries.Rate, timeseries.Delta}, {timeseries.Delta, timeseries.Count, timeseries.Rate},
		}).Draw(rt, "functions")
		lookBack := time.Hour.Microseconds()
		if q.Grid != nil {
			lookBack = max(lookBack, q.Grid.Step().Microseconds())
		} else {
			lookBack = max(lookBack, min(q.Range.ToUS-q.Range.FromUS, 24*lookBack))
		}
		found, more, err := s.Aggregate(t.Context(), q)
		require.NoError(t, err)
		require.False(t, more)
		want := naiveCounters(&q, current, lookBack)
		require.Len(rt, found, len(want))
		for group, buckets := range want {
			p := found[group]
			require.Equal(rt, sorted(buckets), p.TS)
			for i, ts := range p.TS {
				for column, f := range q.Functions {
					w, g := buckets[ts].of(f), p.Columns[column].Numbers[i]
					require.True(rt, math.IsNaN(w) == math.IsNaN(g) && (math.IsNaN(w) || math.Abs(w-g) <= 1e-9*(1+math.Abs(w))),
						"%s of group %d at %d: want %v, got %v", f, group, ts, w, g)
				}
			}
		}
	})
}

// drawCounter stores the points of a counter, some of them twice, and returns the newest
// version of each.
func (s *store) drawCounter(t *testing.T, rt *rapid.T, series uint64, middle int64) map[int64]float64 {
	t.Helper()
	current := map[int64]float64{}
	var points []point
	for version := range rapid.IntRange(0, 30).Draw(rt, "points") {
		ts := middle + rapid.Int64Range(-300, 300).Draw(rt, "ten minutes")*600*second + rapid.Int64Range(0, 3).Draw(
			rt, "microseconds",
		)
		value := float64(rapid.IntRange(-5, 400).Draw(rt, "value")) / 4
		current[ts] = value
		points = append(points, row(series, ts, value, uint64(version)))
	}
	if len(points) > 0 {
		half := len(points) / 2
		s.Insert(t, "points", points[half:]...)
		if half > 0 {
			s.Insert(t, "points", points[:half]...)
		}
	}
	return current
}

// expected is a bucket of the model.
type expected struct {
	points, steps int
	delta, rate   float64
}

func (c *expected) of(f timeseries.Function) float64 {
	switch {
	case f == timeseries.Count:
		return float64(c.points)
	case c.steps == 0:
		return math.NaN()
	case f == timeseries.Rate:
		return c.rate
	}
	return c.delta
}

func naiveCounters(
	q *timeseries.AggregateQuery, current []map[int64]float64, lookBack int64,
) map[int]map[int64]*expected {
	want := map[int]map[int64]*expected{}
	for i, points := range current {
		sums := map[int64]*[2]float64{} // by bucket: increase, microseconds
		prior := int64(-1)
		for _, ts := range sorted(points) {
			if ts < q.Range.FromUS-lookBack || ts >= q.Range.ToUS {
				continue
			}
			if ts >= q.Range.FromUS {
				bucket := q.Range.FromUS
				if q.Grid != nil {
					bucket = q.Grid.Start(ts)
				}
				if want[q.Groups[i]] == nil {
					want[q.Groups[i]] = map[int64]*expected{}
				}
				if want[q.Groups[i]][bucket] == nil {
					want[q.Groups[i]][bucket] = &expected{}
				}
				want[q.Groups[i]][bucket].points++
				if prior >= 0 {
					step := points[ts] - points[prior]
					if step < 0 {
						step = points[ts]
					}
					if sums[bucket] == nil {
						sums[bucket] = &[2]float64{}
					}
					sums[bucket][0] += step
					sums[bucket][1] += float64(ts - prior)
				}
			}
			prior = ts
		}
		for bucket, steps := range sums {
			c := want[q.Groups[i]][bucket]
			c.steps++
			c.delta += steps[0]
			c.rate += steps[0] / (steps[1] / second)
		}
	}
	return want
}

func sorted[V any](m map[int64]V) []int64 {
	keys := make([]int64, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func TestCountersOfMillionsOfPointsAreComputed(t *testing.T) {
	s := newStore(t)
	const n = 2_000_000
	s.Exec(t, fmt.Sprintf(
		"INSERT INTO points SELECT 1, fromUnixTimestamp64Micro(toInt64(%d + number * %d)), number %% 1000, 1 FROM "+
			"numbers(%d)",
		int64(t0), second, n,
	))
	q := timeseries.AggregateQuery{Series: []uint64{1}, Groups: []int{0}, Range: secondsFrom(0, n)}
	requireRows(t, [][]float64{{0, 999. * n / 1000 / (n - 1), 999 * n / 1000}}, s.counters(t, q))
}
