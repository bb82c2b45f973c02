package watch

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/chaos/load"
)

// anHour makes samples of a process that is started anew every quarter.
func anHour(resident func(at time.Duration, life int) float64) (samples []Sample) {
	for at := time.Duration(0); at <= time.Hour; at += 5 * time.Second {
		life := int(at / (15 * time.Minute))
		samples = append(samples, Sample{At: at, Processes: map[string]Process{"api-1": {load.Vitals{Resident: resident(at, life), Goroutines: 100, OpenFiles: 50}, life}}})
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
	leak := memory(t, anHour(func(at time.Duration, life int) float64 {
		within := at - time.Duration(life)*15*time.Minute
		return (200 + 100*within.Hours() + 10*dice.NormFloat64()) * mib
	}))
	require.InDelta(t, 100, leak.Slope, 25)
	require.True(t, leak.Rises(), leak)
}

func TestNoiseAndCachesThatFillAreNoTrend(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	noise := memory(t, anHour(func(time.Duration, int) float64 { return (200 + 40*dice.NormFloat64()) * mib }))
	require.False(t, noise.Rises(), noise)
	fills := memory(t, anHour(func(at time.Duration, life int) float64 {
		within := at - time.Duration(life)*15*time.Minute
		return (100 + 100*min(within.Minutes()/2, 1) + 5*dice.NormFloat64()) * mib
	}))
	require.False(t, fills.Rises(), fills)
	higher := memory(t, anHour(func(_ time.Duration, life int) float64 { return float64(100+50*life) * mib }))
	require.Zero(t, higher.Slope, "another life is another height, not a slope")
}

func TestWhatWasNotSeenHasNoTrend(t *testing.T) {
	require.Empty(t, Trends(nil))
	for _, trend := range Trends(anHour(func(time.Duration, int) float64 { return mib })[:3]) {
		require.False(t, trend.Rises())
	}
}
