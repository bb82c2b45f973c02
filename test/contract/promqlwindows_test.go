package contract_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

// TestFunctionsOfManySamplesAreComputedByTheStore compares the results of functions over ranges with those of a server
// that may read only a third of the samples, which therefore has to let the store compute them.
func TestFunctionsOfManySamplesAreComputedByTheStore(t *testing.T) {
	t.Parallel()
	const count = 300 // samples of a series, one every ten seconds
	l := startLive(t)
	group := &contract.LiveData{Points: l.Points, Log: l.Log, MaxSamples: count / 3}
	small := &live{Server: l.StartAnother(t, group.Group), LiveData: group}
	target := l.createSource(t, `{"name":"node/a","tags":{"job":"node","instance":"a"}}`)
	var counter, gauge []sample
	for i := range count {
		at := microsAt(time.Duration(i) * 10 * time.Second)
		counter = append(counter, sample{at, float64(i % 40), 1})
		gauge = append(gauge, sample{at, float64(i * 7 % 11), 1})
	}
	l.store(t, l.Workspace, seriesKey{source: target.ID, metric: "requests_total"}, counter...)
	l.store(t, l.Workspace, seriesKey{source: target.ID, metric: "temp"}, gauge...)
	l.store(t, l.Workspace, seriesKey{source: target.ID, metric: "temp", special: true},
		sample{microsAt(20*time.Minute + time.Second), "stale", 1})

	steps := []string{"start", promTime(30 * time.Minute), "end", promTime(49 * time.Minute), "step", "240"}
	for _, function := range []string{
		"sum_over_time", "avg_over_time", "count_over_time", "min_over_time", "max_over_time", "present_over_time",
		"last_over_time", "changes", "resets", "delta", "increase", "rate",
	} {
		for query, at := range map[string][]string{
			function + "(requests_total[45m])": {"time", promTime(50 * time.Minute)},
			function + "(temp[25m] offset 2m)": {"time", promTime(50 * time.Minute)},
			function + "(temp[20m])":           steps, // five steps
			function + "(requests_total[21m])": steps, // five steps and a rest
			function + "(temp[3m])":            steps, // less than a step
		} {
			want := l.evaluate(t, query, at...)
			require.NotEmpty(t, want, query)
			require.Equal(t, want, small.evaluate(t, query, at...), query)
		}
	}
	refused := func(query string) string {
		a := small.prom(t, "/query", "query", query, "time", promTime(50*time.Minute))
		require.Equal(t, http.StatusUnprocessableEntity, a.Status, "%s: %s", query, a.Body)
		return string(a.Body)
	}
	require.Contains(t, refused("quantile_over_time(0.5, temp[45m])"), "samples", "the store does not compute it")
	l.store(t, l.Workspace, seriesKey{source: target.ID, metric: "temp", special: true},
		sample{microsAt(40*time.Minute + time.Second), "NaN", 1})
	require.Contains(t, refused("sum_over_time(temp[45m])"), "samples", "the sum would be NaN")
}
