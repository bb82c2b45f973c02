package doctor_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/services/doctor"
)

// metricsResult returns the result for the metrics. The engines, which are down, do not
// affect it.
func metricsResult(t *testing.T, target doctor.Target) doctor.Result {
	t.Helper()
	found := byName(t, doctor.Check(t.Context(), target))
	require.Contains(t, found, "metrics")
	return found["metrics"]
}

func newMetricsServer(t *testing.T, status int, body string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s
}

func TestMetricsOfARunningServerAreAskedFor(t *testing.T) {
	good := newMetricsServer(t, http.StatusOK, "# HELP go_goroutines Number.\ngo_goroutines 8\nlivegraph_build_info 1\n")
	r := metricsResult(t, doctor.Target{
		MetricsURL: good.URL + "/metrics", ServerRuns: true, MetricsListen: "127.0.0.1:9464",
	})
	require.Equal(t, doctor.OK, r.Status)
	require.Equal(t, "answer", r.Detail)
	require.Positive(t, r.LatencyMS)

	for want, url := range map[string]string{
		"answers 500 Internal Server Error": newMetricsServer(t, http.StatusInternalServerError, "").URL,
		"answers, without a metric of Livegraph": newMetricsServer(
			t, http.StatusOK, "# livegraph_ in a comment\ngo_goroutines 8\n",
		).URL,
		"connect: connection refused": "http://" + freeAddress(t),
	} {
		r := metricsResult(t, doctor.Target{MetricsURL: url, ServerRuns: true})
		require.Equal(t, doctor.Failed, r.Status)
		require.Contains(t, r.Detail, want)
		require.NotEmpty(t, r.Advice)
	}
}

func TestADiskThatFailsTheAuditSpoolIsWarnedOf(t *testing.T) {
	for count, want := range map[string]doctor.Status{"0": doctor.OK, "2": doctor.Warning} {
		text := "livegraph_build_info 1\nlivegraph_audit_spool_sync_failures_total " + count + "\n"
		r := metricsResult(t, doctor.Target{MetricsURL: newMetricsServer(t, http.StatusOK, text).URL, ServerRuns: true})
		require.Equal(t, want, r.Status, r.Detail)
	}
}

func TestDisabledMetricsAreReported(t *testing.T) {
	for _, target := range []doctor.Target{{MetricsListen: "off"}, {MetricsListen: "127.0.0.1:9464", ServerRuns: true}} {
		r := metricsResult(t, target)
		require.Equal(t, doctor.OK, r.Status)
		require.Equal(t, "off", r.Detail)
	}
}

// freeAddress returns an address on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

func TestWithoutAServerTheDoctorTriesTheAddressOfMetrics(t *testing.T) {
	r := metricsResult(t, doctor.Target{MetricsListen: freeAddress(t)})
	require.Equal(t, doctor.OK, r.Status)
	require.Contains(t, r.Detail, "free")

	addressOf := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	r = metricsResult(t, doctor.Target{
		MetricsListen: addressOf(newMetricsServer(t, http.StatusOK, "livegraph_build_info 1\n")),
	})
	require.Equal(t, doctor.OK, r.Status)
	require.Contains(t, r.Detail, "another data directory")

	r = metricsResult(t, doctor.Target{MetricsListen: addressOf(newMetricsServer(t, http.StatusOK, "hello"))})
	require.Equal(t, doctor.Warning, r.Status)
	require.Contains(t, r.Detail, "another program")
	require.Contains(t, r.Advice, "LIVEGRAPH_METRICS_LISTEN")

	r = metricsResult(t, doctor.Target{MetricsListen: "192.0.2.1:9464"}) // reserved for documentation: not assigned
	require.Equal(t, doctor.Warning, r.Status)
	require.Contains(t, r.Detail, "cannot assign requested address")
}
