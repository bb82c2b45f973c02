package doctor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// metricPrefix is the prefix of the names of all Livegraph metrics.
const metricPrefix = "livegraph_"

// maxMetricsBytes is the maximum number of bytes that are read of a response.
const maxMetricsBytes = 1 << 20

// checkMetrics checks whether the server that uses the data directory serves its
// metrics or, if none runs, whether a server could listen on the configured address.
func checkMetrics(ctx context.Context, t Target) []Result {
	switch {
	case t.MetricsURL != "":
		return []Result{checkMetricsURL(ctx, t.MetricsURL)}
	case t.MetricsListen == "":
		return nil
	case t.ServerRuns || t.MetricsListen == "off":
		return []Result{{Name: "metrics", Status: OK, Detail: "off"}}
	}
	return []Result{checkMetricsListen(ctx, t.MetricsListen)}
}

// spoolSyncFailures counts the syncs of the audit spool that failed.
const spoolSyncFailures = "livegraph_audit_spool_sync_failures_total "

// checkMetricsURL fetches the metrics of a server and checks them for failed syncs of its disk.
func checkMetricsURL(ctx context.Context, url string) Result {
	r := Result{Name: "metrics", Status: OK, Address: url, Detail: "answer"}
	var err error
	var failures string
	r.LatencyMS, err = medianLatency(func() (err error) { failures, err = fetchMetrics(ctx, url); return err })
	if err == nil && failures != "" && failures != "0" {
		r.warn(
			failures+" syncs of the spool of audit records failed since the server's start",
			"replace the disk of the data directory",
		)
	}
	if err != nil {
		return Result{Name: "metrics", Status: Failed, Address: url, Detail: err.Error(),
			Advice: "check the end of the server's log; if the server hangs, restart it"}
	}
	return r
}

// checkMetricsListen tries to listen on the address. A failure is only a warning: the server may
// be intended for another machine, or run here with another data directory.
func checkMetricsListen(ctx context.Context, address string) Result {
	r := Result{Name: "metrics", Status: OK, Address: address, Detail: "free for a server to listen on"}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	switch {
	case err == nil:
		_ = listener.Close()
	case !errors.Is(err, syscall.EADDRINUSE):
		r.Status, r.Detail = Warning, err.Error()
		r.Advice = "correct LIVEGRAPH_METRICS_LISTEN, if the server is to run on this machine"
	case servesMetrics(ctx, "http://"+localAddress(address)+"/metrics"):
		r.Detail = "a server of Livegraph with another data directory answers there"
	default:
		r.Status, r.Detail = Warning, "another program listens there"
		r.Advice = "choose another address with LIVEGRAPH_METRICS_LISTEN, or off: a server would not start on this machine"
	}
	return r
}

// localAddress returns the address at which this machine reaches a listener.
func localAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return address
}

func servesMetrics(ctx context.Context, url string) bool {
	_, err := fetchMetrics(ctx, url)
	return err == nil
}

// fetchMetrics fetches metrics and returns the number of failed syncs of the audit spool, or "" if
// it is missing. It returns an error if the response has no Livegraph metric.
func fetchMetrics(ctx context.Context, url string) (failures string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("answers %s", response.Status)
	}
	lines, found := bufio.NewScanner(io.LimitReader(response.Body, maxMetricsBytes)), false
	for lines.Scan() {
		found = found || strings.HasPrefix(lines.Text(), metricPrefix)
		if count, ok := strings.CutPrefix(lines.Text(), spoolSyncFailures); ok {
			failures = count
		}
	}
	if !found {
		return "", errors.New("answers, without a metric of Livegraph")
	}
	return failures, nil
}
