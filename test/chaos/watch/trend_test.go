package watch

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/chaos/load"
)

const quarter = 15 * time.Minute

// hourOfSamples returns samples of one hour of a process that is restarted at each interval.
func hourOfSamples(resident func(at time.Duration, life int) float64, interval time.Duration) (samples []Sample) {
	for at := time.Duration(0); at <= time.Hour; at += 5 * time.Second {
		life := int(at / interval)
		samples = append(samples, Sample{At: at, Processes: map[string]Process{"api-1": {
			load.Vitals{Resident: resident(at, life), Goroutines: 100, OpenFiles: 50}, life,
		}}})
	}
	return samples
}

func memory(t *testing.T, samples []Sample) Trend {
	t.Helper()
	for _, trend := range Trends(samples) {
		if trend.Measure.Name == "memory" {
			return trend
		}
		require.False(t, trend.Rises(), trend)
	}
	t.Fatal("there is none of memory")
	return Trend{}
}

const mib = 1 << 20

func TestALeakIsATrendThoughTheProcessIsRestarted(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 1))
	leak := memory(t, hourOfSamples(func(at time.Duration, life int) float64 {
		within := at - time.Duration(life)*quarter
		return (200 + 100*within.Hours() + 10*dice.NormFloat64()) * mib
	}, quarter))
	require.InDelta(t, 100, leak.Slope, 25)
	require.True(t, leak.Rises(), leak)
}

func TestNoiseAndCachesThatFillAreNoTrend(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	noise := memory(t, hourOfSamples(func(time.Duration, int) float64 {
		return (200 + 40*dice.NormFloat64()) * mib
	}, quarter))
	require.False(t, noise.Rises(), noise)
	fills := memory(t, hourOfSamples(func(at time.Duration, life int) float64 {
		within := at - time.Duration(life)*quarter
		return (100 + 100*min(within.Minutes()/2, 1) + 5*dice.NormFloat64()) * mib
	}, quarter))
	require.False(t, fills.Rises(), fills)
	higher := memory(t, hourOfSamples(func(_ time.Duration, life int) float64 {
		return float64(100+50*life) * mib
	}, quarter))
	require.Zero(t, higher.Slope, "another life is another height, not a slope")
}

// restartedOnce returns samples of one hour of a process that is restarted after half an hour.
func restartedOnce(resident func(within time.Duration) float64) []Sample {
	return hourOfSamples(func(at time.Duration, _ int) float64 {
		return resident(max(at-30*time.Minute, 0)) * mib
	}, 30*time.Minute)
}

func TestWhatLevelsOffIsNoTrend(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 3))
	fills := memory(t, restartedOnce(func(within time.Duration) float64 {
		return 100 + 40*(1-math.Exp(-within.Minutes()/6)) + 2*dice.NormFloat64()
	}))
	require.Greater(t, fills.Slope, fills.Measure.Floor)
	require.False(t, fills.Rises(), fills)
	late := memory(t, restartedOnce(func(within time.Duration) float64 {
		return 100 + 2*max(within.Minutes()-12, 0) + 2*dice.NormFloat64()
	}))
	require.True(t, late.Rises(), late)
	steady := memory(t, restartedOnce(func(within time.Duration) float64 {
		return 100 + 40*within.Hours() + 2*dice.NormFloat64()
	}))
	require.True(t, steady.Rises(), steady)
	short := steady
	short.Late, short.LateSamples = 0, minLateSamples-1
	require.True(t, short.Rises(), "a quarter that says nothing excuses nothing")
}

func TestWhatWasNotSeenHasNoTrend(t *testing.T) {
	require.Empty(t, Trends(nil))
	for _, trend := range Trends(hourOfSamples(func(time.Duration, int) float64 { return mib }, quarter)[:3]) {
		require.False(t, trend.Rises())
	}
}
