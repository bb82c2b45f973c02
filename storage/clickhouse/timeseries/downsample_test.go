package timeseries_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/test/chtest"
)

// requireLargestTriangles compares chosen indexes with the algorithm as its author
// published it (github.com/sveinn-steinarsson/flot-downsample). Of triangles whose areas
// differ only by rounding, either may be chosen.
func requireLargestTriangles(t require.TestingT, x, y []float64, limit int, chosen []int) {
	n := len(x)
	require.Len(t, chosen, min(n, limit))
	require.Equal(t, 0, chosen[0])
	require.Equal(t, n-1, chosen[len(chosen)-1])
	if n <= limit {
		return
	}
	every := float64(n-2) / float64(limit-2)
	for i := range limit - 2 {
		first, from, to := int(math.Floor(float64(i)*every))+1, int(math.Floor(float64(i+1)*every))+1, min(
			int(math.Floor(float64(i+2)*every))+1, n,
		)
		meanX, meanY := 0.0, 0.0
		for j := from; j < to; j++ {
			meanX += x[j] / float64(to-from)
			meanY += y[j] / float64(to-from)
		}
		a, c := chosen[i], chosen[i+1]
		area := func(j int) float64 {
			return math.Abs((x[a]-meanX)*(y[j]-y[a])-(x[a]-x[j])*(meanY-y[a])) / 2
		}
		require.True(t, first <= c && c < from, "of bucket %d the point %d was chosen", i, c)
		for j := first; j < from; j++ {
			require.LessOrEqual(t, area(j), area(c)*(1+1e-9)+1, "of bucket %d the point %d was chosen and not %d", i, c, j)
		}
	}
}

func (s *store) downsample(t *testing.T, q timeseries.DownsampleQuery) map[uint64]*timeseries.Points {
	t.Helper()
	found, more, err := s.Downsample(t.Context(), q)
	require.NoError(t, err)
	require.False(t, more)
	return found
}

func TestDownsampledPointsAreThoseOfTheLargestTriangles(t *testing.T) {
	s := newStore(t)
	rapid.Check(t, func(rt *rapid.T) {
		s.Exec(t, "TRUNCATE TABLE "+s.Layout().Stored("points"))
		var points []point
		var x, y []float64
		var times []int64
		ts := int64(t0)
		for range rapid.IntRange(1, 200).Draw(rt, "points") {
			ts += rapid.Int64Range(1, 100).Draw(rt, "apart") * second
			value := rapid.Float64Range(-1000, 1000).Draw(rt, "value")
			points = append(points, row(1, ts, value, 2))
			if rapid.IntRange(0, 3).Draw(rt, "overwrites") == 0 {
				points = append(points, row(1, ts, 1e9, 1))
			}
			times, x, y = append(times, ts), append(x, float64(ts-t0)), append(y, value)
		}
		s.Insert(t, "points", points...)
		limit := rapid.IntRange(2, 60).Draw(rt, "limit")
		found := s.downsample(
			t,
			timeseries.DownsampleQuery{Series: []uint64{1}, Range: chtest.Everything, MaxPoints: limit, Limit: 1000},
		)
		var chosen []int
		for i, ts := range found[1].TS {
			at, stands := slices.BinarySearch(times, ts)
			require.True(rt, stands)
			require.InDelta(rt, y[at], found[1].Columns[0].Numbers[i], 0)
			chosen = append(chosen, at)
		}
		requireLargestTriangles(rt, x, y, limit, chosen)
	})
}

func TestEachSeriesIsDownsampledByItself(t *testing.T) {
	s := newStore(t)
	for series := range uint64(3) {
		for i := range int64(20) {
			s.Insert(t, "points", row(series, t0+i*second, float64(i)*float64(series), 1))
		}
	}
	q := timeseries.DownsampleQuery{Series: []uint64{1, 2, 9}, Range: secondsFrom(5, 15), MaxPoints: 4, Limit: 8}
	found := s.downsample(t, q)
	require.Len(t, found, 2)
	for _, p := range found {
		require.Len(t, p.TS, 4)
		require.Equal(t, int64(t0+5*second), p.TS[0])
		require.Equal(t, int64(t0+14*second), p.TS[3])
	}
	q.Limit = 7
	_, more, err := s.Downsample(t.Context(), q)
	require.NoError(t, err)
	require.True(t, more)
	require.Empty(t, s.downsample(t, timeseries.DownsampleQuery{Range: chtest.Everything, MaxPoints: 4, Limit: 8}))
}

// A float64 cannot distinguish the first and the last time that can be stored from the times
// next to them.
func TestDownsampledTimesAreExact(t *testing.T) {
	s := newStore(t)
	const last = 10_413_791_999_999_999 // 2299-12-31T23:59:59.999999Z
	s.Insert(t, "points", row(1, 1, 1, 1), row(1, t0, 5, 1), row(1, t0+1, 5, 1), row(1, last, 9, 1))
	found := s.downsample(t, timeseries.DownsampleQuery{
		Series: []uint64{1}, Range: timeseries.Range{ToUS: last + 1}, MaxPoints: 2, Limit: 9,
	})
	require.Equal(t, []int64{1, last}, found[1].TS)
}

// The series has more points than a response may have.
func TestMillionsOfPointsAreDownsampled(t *testing.T) {
	s := newStore(t)
	const n = 3_000_000
	s.Exec(t, fmt.Sprintf(
		"INSERT INTO points SELECT 1, fromUnixTimestamp64Micro(toInt64(%d + number * %d)), if(number = 1234567, 1000, "+
			"sin(number / 1e5)), 1 FROM numbers(%d) SETTINGS max_partitions_per_insert_block = 0",
		int64(t0), second, n,
	))
	found := s.downsample(
		t, timeseries.DownsampleQuery{Series: []uint64{1}, Range: chtest.Everything, MaxPoints: 500, Limit: 500},
	)
	require.Len(t, found[1].TS, 500)
	require.Contains(t, found[1].TS, int64(t0+1234567*second), "the one that stands out")
}
