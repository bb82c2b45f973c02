package points

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

const (
	hourStart = int64(1_772_323_200_000_000) // 2026-03-01T00:00:00Z, in microseconds
	aSecond   = int64(1_000_000)
	aMinute   = 60 * aSecond
	anHour    = 60 * aMinute
)

type sample struct {
	ts      int64
	value   float64
	version uint64
}

// rollupKey is the start of a minute or an hour of a series.
type rollupKey struct {
	series uint64
	start  int64
}

// naive returns the rows of the minutes or hours of samples in the order of time.
func naive(samples map[uint64][]sample, length int64) map[rollupKey][]float64 {
	found := map[rollupKey][]float64{}
	for series, all := range samples {
		groups := map[int64][]sample{}
		for _, s := range all {
			start := s.ts / length * length
			groups[start] = append(groups[start], s)
		}
		for start, group := range groups {
			first, last := group[0], group[len(group)-1]
			n, total, increase, spread := float64(len(group)), 0.0, 0.0, 0.0
			lowest, highest := math.Inf(1), math.Inf(-1)
			for i, s := range group {
				total += s.value
				lowest, highest = math.Min(lowest, s.value), math.Max(highest, s.value)
				if i > 0 && s.value >= group[i-1].value {
					increase += s.value - group[i-1].value
				} else if i > 0 {
					increase += s.value
				}
			}
			for _, s := range group {
				distance := s.value - total/n
				spread += distance * distance
			}
			found[rollupKey{series, start}] = []float64{
				n, total, lowest, highest, first.value, last.value, float64(first.ts - start), float64(last.ts - start),
				increase, spread,
			}
		}
	}
	return found
}

// rowsOf returns the rows of columns. There is one row of each minute or hour.
func rowsOf(t *testing.T, c *clickhouse.RollupColumns) map[rollupKey][]float64 {
	t.Helper()
	found := map[rollupKey][]float64{}
	for i, series := range c.Series.AppendTo(nil, 0) {
		key := rollupKey{series, c.TS[i]}
		require.Nil(t, found[key], "two rows of %v", key)
		found[key] = []float64{
			float64(c.Points[i]), c.Totals[i], c.Lowest[i], c.Highest[i], c.First[i], c.Last[i], float64(c.FirstUS[i]),
			float64(c.LastUS[i]), c.Increases[i], c.Spreads[i],
		}
	}
	return found
}

// requireRows requires the rows to be equal except for the rounding of sums.
func requireRows(t *testing.T, want, got map[rollupKey][]float64) {
	t.Helper()
	require.Equal(t, len(want), len(got))
	for key, row := range want {
		require.InDeltaSlice(t, row, got[key], 1e-6, "%v", key)
	}
}

// newAggregatorOf returns an aggregator for series with a minimum number of points per minute.
func newAggregatorOf(minPoints int) *aggregator {
	a := newAggregator()
	a.minPoints = minPoints
	return a
}

// addSamples adds samples to an aggregator as a batch.
func addSamples(a *aggregator, series uint64, samples ...sample) {
	c := &clickhouse.PointColumns{}
	for _, s := range samples {
		c.Append(series, s.ts, s.value, s.version)
	}
	a.add(c)
}

func TestRollupsAreThoseOfThePoints(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	a := newAggregatorOf(0)
	const series = 20
	samples := map[uint64][]sample{}
	next := [series]int64{}
	for version := uint64(1); version <= 400; version++ {
		c := &clickhouse.PointColumns{}
		for id := range uint64(series) {
			if random.IntN(3) == 0 {
				continue
			}
			for range random.IntN(12) {
				next[id] += 1 + random.Int64N(int64(id+1)*20*aSecond)
				s := sample{hourStart + next[id], math.Round(random.NormFloat64()*1000) / 10, version + random.Uint64N(2)}
				samples[id] = append(samples[id], s)
				c.Append(id, s.ts, s.value, s.version)
			}
		}
		a.add(c)
	}
	fingerprints := map[rollupKey]uint64{}
	for id, all := range samples { // a point in a later hour ends the hour before it
		end := all[len(all)-1].ts + anHour
		addSamples(a, id, sample{end, 0, 999})
		for _, s := range all {
			fingerprints[rollupKey{id, s.ts / anHour * anHour}] += clickhouse.Fingerprint([]int64{s.ts}, s.version)
		}
	}
	requireRows(t, naive(samples, aMinute), rowsOf(t, &a.finished.Minutes))
	hours := rowsOf(t, &a.finished.Hours)
	require.Greater(t, len(hours), 100)
	requireRows(t, naive(samples, anHour), hours)
	minutes := map[rollupKey]uint64{}
	for i, id := range a.finished.Minutes.Series.AppendTo(nil, 0) {
		minutes[rollupKey{id, a.finished.Minutes.TS[i] / anHour * anHour}] += a.finished.Minutes.Fingerprint(i)
	}
	for i, id := range a.finished.Hours.Series.AppendTo(nil, 0) {
		hour := rollupKey{id, a.finished.Hours.TS[i]}
		require.Equal(t, fingerprints[hour], a.finished.Fingerprints[i])
		require.Equal(t, minutes[hour], a.finished.MinuteFingerprints[i])
	}
}

// flush adds points far in the future of a series, so that earlier ones leave the window.
func flush(a *aggregator, series uint64) {
	for i := range int64(windowPieces) + 1 {
		addSamples(a, series, sample{hourStart + 1000*anHour + i*aMinute, 1, 1})
	}
}

// TestPointsInAnotherOrder tests that the hour in which points of a series come in another order for the first
// time has no rollups, and that later hours have, as long as the order is that of time within the window.
func TestPointsInAnotherOrder(t *testing.T) {
	at := func(minutes int64) sample { return sample{hourStart + minutes*aMinute, 1, 1} }
	for name, late := range map[string]sample{
		"a late point of the minute": {hourStart + 10*aMinute + aSecond, 1, 2}, "a late point of the hour": at(5),
		"a point again": {hourStart + 10*aMinute + 2*aSecond, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAggregatorOf(0)
			addSamples(a, 7, at(0), at(9), sample{hourStart + 10*aMinute + 2*aSecond, 1, 1})
			addSamples(a, 7, late)
			addSamples(a, 7, at(20), at(61), at(64))
			addSamples(a, 7, at(62), at(65))
			addSamples(a, 7, sample{hourStart + 64*aMinute + aSecond, 2, 2})
			addSamples(a, 7, at(63), at(125), at(126))
			addSamples(a, 7, at(126)) // the same point
			addSamples(a, 7, at(185), at(186))
			flush(a, 7)
			require.Equal(t, []int64{hourStart + anHour, hourStart + 3*anHour}, a.finished.Hours.TS)
			require.Equal(t, []uint32{6, 2}, a.finished.Hours.Points)
			require.Equal(t, []float64{2}, a.finished.Hours.Highest[:1])
		})
	}
}

func TestAPointOfAnEarlierHourIsLeftOut(t *testing.T) {
	a := newAggregatorOf(0)
	at := func(minutes int64) sample { return sample{hourStart + minutes*aMinute, 1, 1} }
	addSamples(a, 7, at(61), at(62))
	addSamples(a, 7, at(5), at(63)) // in one batch with one in order
	addSamples(a, 7, sample{-5 * aMinute, 1, 1})
	addSamples(a, 7, at(121))
	flush(a, 7)
	require.Equal(t, []int64{hourStart + anHour, hourStart + 2*anHour}, a.finished.Hours.TS)
	require.Equal(t, []uint32{3, 1}, a.finished.Hours.Points)
}

func TestPointsOfThePastAreLoadedAfterANewerOne(t *testing.T) {
	a := newAggregatorOf(0)
	addSamples(a, 7, sample{hourStart + 100*anHour, 1, 1})
	addSamples(a, 7, sample{hourStart, 1, 1}, sample{hourStart + aMinute, 1, 1})
	addSamples(a, 7, sample{hourStart + anHour, 1, 1})
	flush(a, 7)
	require.Equal(t, []int64{hourStart, hourStart + anHour}, a.finished.Hours.TS[:2])
	require.Equal(t, []uint32{2, 1}, a.finished.Hours.Points[:2])
}

// TestPointsOfThePastAreLoadedAfterNewerOnes tests that the first points of the past are left out, and that the
// hours after theirs have rollups.
func TestPointsOfThePastAreLoadedAfterNewerOnes(t *testing.T) {
	a := newAggregatorOf(0)
	addSamples(a, 7, sample{hourStart + 100*anHour, 1, 1}, sample{hourStart + 100*anHour + aMinute, 1, 1})
	for i := range int64(600) {
		addSamples(a, 7, sample{hourStart + i*aMinute, 1, 2})
	}
	flush(a, 7)
	hours := a.finished.Hours
	require.Equal(t, []int64{hourStart + anHour, hourStart + 2*anHour}, hours.TS[1:3])
	require.Equal(t, []uint32{52, 60, 60, 60, 60, 60, 60, 60, 60, 60}, hours.Points[:10])
}

// TestSeriesWithFewPointsHaveNoRollups tests that a series gets no rollups from its sixth minute on, and is counted
// again in the first hour after sparseTime.
func TestSeriesWithFewPointsHaveNoRollups(t *testing.T) {
	a := newAggregatorOf(minMinutePoints)
	every := func(interval, from, to int64) {
		for ts := from; ts < to; ts += interval {
			addSamples(a, 7, sample{hourStart + ts, 1, 1})
		}
	}
	every(10*aSecond, 0, 2*anHour)
	require.Equal(t, firstMinutes, a.finished.Minutes.Len())
	counted := anHour + sparseTime.Microseconds()
	every(6*aSecond, 2*anHour, counted)
	require.Equal(t, firstMinutes, a.finished.Minutes.Len())
	require.Empty(t, a.finished.Hours.TS)
	every(6*aSecond, counted, counted+2*anHour)
	every(10*aSecond, counted+2*anHour, counted+5*anHour)
	require.Equal(t, []int64{hourStart + counted, hourStart + counted + anHour}, a.finished.Hours.TS)
	require.Equal(t, []uint32{600, 600}, a.finished.Hours.Points)
}

func TestWindowsAreBounded(t *testing.T) {
	a := newAggregatorOf(0)
	for id := range uint64(maxWindows + 5) {
		addSamples(a, id, sample{hourStart + aMinute, 1, 1}, sample{hourStart + 2*aMinute, 1, 1})
		addSamples(a, id, sample{hourStart, 1, 1})
	}
	require.Equal(t, maxWindows, a.windows)
	require.Zero(t, cap(a.series[maxWindows+1].hour.window))
	require.Equal(t, windowPieces, cap(a.series[0].hour.window))
}

func TestRollupsAreTakenWhenTheyAreManyOrHaveWaited(t *testing.T) {
	a := newAggregatorOf(0)
	now := time.Now()
	a.now = func() time.Time { return now }
	at := func(minutes int64) sample { return sample{hourStart + minutes*aMinute, 1, 1} }
	addSamples(a, 7, at(0))
	now = now.Add(rollupMaxWait)
	require.Nil(t, a.take(), "no minute is complete")
	addSamples(a, 7, at(1))
	require.Nil(t, a.take())
	now = now.Add(rollupMaxWait)
	taken := a.take()
	require.Equal(t, []int64{hourStart}, taken.Minutes.TS)
	require.Nil(t, a.take(), "they are taken once")
	for i := range int64(rollupRows) {
		addSamples(a, 7, at(2+i))
	}
	require.Equal(t, rollupRows, a.take().Minutes.Len())
	require.Nil(t, (*aggregator)(nil).addAndTake(&clickhouse.PointColumns{}))
}

func TestSeriesWithoutPlaceHaveNoRollupsUntilOthersAreIdle(t *testing.T) {
	a := newAggregatorOf(0)
	now := time.Now()
	a.now = func() time.Time { return now }
	c := &clickhouse.PointColumns{}
	for id := range uint64(maxOpenHours + 1) {
		c.Append(id, hourStart, 1, 1)
	}
	a.add(c)
	require.Len(t, a.series, maxOpenHours)
	now = now.Add(openHourIdle + time.Second)
	addSamples(a, 5, sample{hourStart + aMinute, 1, 1})
	addSamples(a, maxOpenHours+7, sample{hourStart, 1, 1})
	require.Len(t, a.series, 2)
	require.Contains(t, a.series, uint64(5))
	require.Contains(t, a.series, uint64(maxOpenHours+7))
}

// TestSeriesWithFewPointsKeepTheirPlace tests that a series that is ignored keeps its place for sparseTime, so that its
// points are not counted again and again, and that its window is free for another series.
func TestSeriesWithFewPointsKeepTheirPlace(t *testing.T) {
	a := newAggregatorOf(minMinutePoints)
	now := time.Now()
	a.now = func() time.Time { return now }
	addSamples(a, 7, sample{hourStart + aMinute, 1, 1}, sample{hourStart + 2*aMinute, 1, 1})
	addSamples(a, 7, sample{hourStart, 1, 1})
	require.Equal(t, 1, a.windows)
	for i := range int64(2 * windowPieces) {
		addSamples(a, 7, sample{hourStart + anHour + i*aMinute/2, 1, 1})
	}
	require.Nil(t, a.series[7].hour)
	require.Zero(t, a.windows)
	full := func() {
		c := &clickhouse.PointColumns{}
		for id := range uint64(maxOpenHours) {
			c.Append(id+100, hourStart, 1, 1)
		}
		a.add(c)
		now = now.Add(openHourIdle + time.Second)
		addSamples(a, 5, sample{hourStart, 1, 1})
	}
	full()
	require.Len(t, a.series, 2)
	require.Contains(t, a.series, uint64(7))
	now = now.Add(sparseTime)
	full()
	require.NotContains(t, a.series, uint64(7))
}
