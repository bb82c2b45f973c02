package prometheus

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// waitForSamples waits until Livegraph contains exactly the samples of a series that Prometheus has
// now, and returns their number.
func waitForSamples(t *testing.T, p *prometheus, l *livegraph, source, metric, selector string, from time.Time) int {
	t.Helper()
	to := time.Now()
	want := p.samples(t, selector, from, to)
	require.NotEmpty(t, want, selector)
	last := slices.Max(slices.Collect(maps.Keys(want)))
	var got map[int64]float64
	deadline := time.Now().Add(time.Minute)
	for {
		got = l.points(t, source, metric, from)
		maps.DeleteFunc(got, func(ms int64, _ float64) bool { return ms > last })
		if len(got) >= len(want) || time.Now().After(deadline) {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	require.Equal(t, want, got, selector)
	return len(want)
}

// waitForMetadata waits until Livegraph has the types and descriptions of metrics that Prometheus has.
func waitForMetadata(t *testing.T, p *prometheus, l *livegraph, metrics ...string) {
	t.Helper()
	for _, metric := range metrics {
		want := metadata(t, l, p.address)[metric]
		require.NotEmpty(t, want, metric)
		var got []struct{ Type, Help string }
		deadline := time.Now().Add(time.Minute)
		for time.Now().Before(deadline) && !slices.Equal(got, want) {
			time.Sleep(100 * time.Millisecond)
			got = metadata(t, l, l.address+"/prometheus")[metric]
		}
		require.Equal(t, want, got, metric)
	}
}

// TestWhatAPrometheusScrapesIsRead runs a Prometheus as documented, stops Livegraph for a moment, and
// compares the samples of both.
func TestWhatAPrometheusScrapesIsRead(t *testing.T) {
	for version, message := range map[string]string{
		"1.0": "prometheus.WriteRequest", "2.0": "io.prometheus.write.v2.Request",
	} {
		t.Run(version, func(t *testing.T) { testScrapesAreRead(t, message) })
	}
}

func testScrapesAreRead(t *testing.T, message string) {
	l := startLivegraph(t)
	begin := time.Now()
	p := startPrometheus(t, l, message)
	scraped, own := "livegraph/"+l.metrics, "prometheus/"+p.address
	require.Eventually(t, func() bool {
		return len(l.points(t, scraped, "up", begin)) > 5
	}, time.Minute, 100*time.Millisecond)

	require.Positive(t, waitForSamples(
		t, p, l, scraped, "livegraph_ingest_points_accepted_total", `livegraph_ingest_points_accepted_total{job="livegraph"}`,
		begin,
	))
	require.Positive(t, waitForSamples(t, p, l, own, "prometheus_build_info", `prometheus_build_info`, begin))
	if message == "prometheus.WriteRequest" { // this Prometheus sends no metadata with 2.0
		waitForMetadata(
			t, p, l, "prometheus_build_info", "livegraph_http_bodies_bytes",
			"prometheus_http_request_duration_seconds", "go_gc_duration_seconds",
		)
	}

	// Samples scraped while Livegraph is stopped are sent when it is back. The stale markers that end
	// Livegraph's own series are not points.
	stop(l.process)
	stopped := time.Now()
	seen := func(up float64) {
		t.Helper()
		require.Eventually(t, func() bool {
			return slices.Contains(slices.Collect(maps.Values(p.samples(t, `up{job="livegraph"}`, stopped, time.Now()))), up)
		}, time.Minute, 100*time.Millisecond)
	}
	require.Eventually(t, func() bool {
		return p.ownMetric(t, "prometheus_remote_storage_samples_retried_total") > 0
	}, time.Minute, 100*time.Millisecond)
	seen(0) // may take a while: during the shutdown it refuses writes but can be scraped
	l.start(t)
	seen(1)
	require.Greater(t, waitForSamples(t, p, l, own, "up", `up{job="prometheus"}`, begin), 10)
	require.Positive(t, waitForSamples(t, p, l, scraped, "up", `up{job="livegraph"}`, begin))
	require.Positive(t, waitForSamples(
		t, p, l, scraped, "livegraph_ingest_points_accepted_total", `livegraph_ingest_points_accepted_total{job="livegraph"}`,
		begin,
	))
	require.Zero(t, p.ownMetric(t, "prometheus_remote_storage_samples_failed_total"), "nothing was refused permanently")
}
