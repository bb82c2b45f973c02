package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/load"
	"github.com/livegraph/livegraph/test/bench/record"
)

// BenchmarkFreshness sends points at fixed rates and measures the time from each answer until a query
// sees its points.
func BenchmarkFreshness(b *testing.B) {
	const seconds, callers = 15, 32
	r := record.New(b)
	t := start(b)
	r.Engines(t.engines())
	fleet := t.fleet("bench", load.Size{Sources: 100, Series: 1000})
	for n, at := range []struct {
		name  string
		rate  int64
		batch int
	}{
		{"1k", 1_000, 100}, {"10k", 10_000, 1_000}, {"100k", 100_000, 10_000}, {"500k", 500_000, 10_000},
		{"1M", 1_000_000, 10_000},
	} {
		r.Logf("%s points/s for %d s", at.name, seconds)
		result, err := fleet.Run(b.Context(), load.Plan{
			Points: seconds * at.rate, Batch: at.batch, Callers: callers, Rate: float64(at.rate), Start: month(n),
			Prepared: true,
		})
		require.NoError(b, err)
		require.Zero(b, result.Rejected)
		t.settle()
		prefix := "points=" + at.name + "/"
		r.Add(prefix+"accepted", "points/s", result.AcceptedPerSecond)
		// If the service does not keep up with a rate, the backlog becomes visible late.
		r.Add(prefix+"behind", "s", result.VisibleSeconds-result.AcceptedSeconds)
		addDistribution(r, prefix+"answer-", result.Latency)
		addDistribution(r, prefix+"visible-", result.Freshness)
	}
	r.Save()
}

func addDistribution(r *record.Recorder, prefix string, d load.Distribution) {
	for _, p := range []struct {
		name string
		took time.Duration
	}{
		{"p50", d.P50.Duration()}, {"p95", d.P95.Duration()}, {"p99", d.P99.Duration()}, {"max", d.Max.Duration()},
	} {
		r.Add(prefix+p.name, "ms", p.took.Seconds()*1000)
	}
}
