package doctor_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/services/doctor"
)

// metricsFinding is what the doctor says of the metrics; the engines, which are
// down, do not matter to it.
func metricsFinding(t *testing.T, target doctor.Target) doctor.Result {
	t.Helper()
	found := byName(t, doctor.Check(t.Context(), target))
	require.Contains(t, found, "metrics")
	return found["metrics"]
}

func scraped(t *testing.T, status int, body string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s
}

func TestMetricsOfARunningServerAreAskedFor(t *testing.T) {
	good := scraped(t, http.StatusOK, "# HELP go_goroutines Number.\ngo_goroutines 8\nlivegraph_build_info 1\n")
	r := metricsFinding(t, doctor.Target{
		MetricsURL: good.URL + "/metrics", ServerRuns: true, MetricsListen: "127.0.0.1:9464",
	})
	require.Equal(t, doctor.OK, r.Status)
	require.Equal(t, "answer", r.Detail)
	require.Positive(t, r.LatencyMS)

	for want, url := range map[string]string{
		"answers 500 Internal Server Error": scraped(t, http.StatusInternalServerError, "").URL,
		"answers, without a metric of Livegraph": scraped(
			t, http.StatusOK, "# livegraph_ in a comment\ngo_goroutines 8\n",
		).URL,
		"connect: connection refused": "http://" + free(t),
	} {
		r := metricsFinding(t, doctor.Target{MetricsURL: url, ServerRuns: true})
		require.Equal(t, doctor.Failed, r.Status)
		require.Contains(t, r.Detail, want)
		require.NotEmpty(t, r.Advice)
	}
}

func TestADiskThatFailsTheAuditSpoolIsWarnedOf(t *testing.T) {
	for count, want := range map[string]doctor.Status{"0": doctor.OK, "2": doctor.Warning} {
		text := "livegraph_build_info 1\nlivegraph_audit_spool_sync_failures_total " + count + "\n"
		r := metricsFinding(t, doctor.Target{MetricsURL: scraped(t, http.StatusOK, text).URL, ServerRuns: true})
		require.Equal(t, want, r.Status, r.Detail)
	}
}

func TestMetricsThatAreOffAreSaidToBe(t *testing.T) {
	for _, target := range []doctor.Target{{MetricsListen: "off"}, {MetricsListen: "127.0.0.1:9464", ServerRuns: true}} {
		r := metricsFinding(t, target)
		require.Equal(t, doctor.OK, r.Status)
		require.Equal(t, "off", r.Detail)
	}
}

// free is an address that nobody listens on.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

func TestWithoutAServerTheDoctorTriesTheAddressOfMetrics(t *testing.T) {
	r := metricsFinding(t, doctor.Target{MetricsListen: free(t)})
	require.Equal(t, doctor.OK, r.Status)
	require.Contains(t, r.Detail, "free")

	taken := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	r = metricsFinding(t, doctor.Target{MetricsListen: taken(scraped(t, http.StatusOK, "livegraph_build_info 1\n"))})
	require.Equal(t, doctor.OK, r.Status)
	require.Contains(t, r.Detail, "another data directory")

	r = metricsFinding(t, doctor.Target{MetricsListen: taken(scraped(t, http.StatusOK, "hello"))})
	require.Equal(t, doctor.Warning, r.Status)
	require.Contains(t, r.Detail, "another program")
	require.Contains(t, r.Advice, "LIVEGRAPH_METRICS_LISTEN")

	r = metricsFinding(t, doctor.Target{MetricsListen: "192.0.2.1:9464"}) // an address for documentation: nobody's
	require.Equal(t, doctor.Warning, r.Status)
	require.Contains(t, r.Detail, "cannot assign requested address")
}
