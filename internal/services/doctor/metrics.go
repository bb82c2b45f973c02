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

// ourMetrics begins the name of every metric of ours.
const ourMetrics = "livegraph_"

// metricsRead bounds what is read of an answer to find one of them, in bytes.
const metricsRead = 1 << 20

// checkMetrics looks whether the metrics of the server on the data directory
// answer or, when none runs, whether a start could listen for them.
func checkMetrics(ctx context.Context, t Target) []Result {
	switch {
	case t.MetricsURL != "":
		return []Result{answering(ctx, t.MetricsURL)}
	case t.MetricsListen == "":
		return nil
	case t.ServerRuns || t.MetricsListen == "off":
		return []Result{{Name: "metrics", Status: OK, Detail: "off"}}
	}
	return []Result{bindable(ctx, t.MetricsListen)}
}

// spoolFailures counts the syncs of the audit spool that failed.
const spoolFailures = "livegraph_audit_spool_sync_failures_total "

// answering asks a server for its metrics, and looks in them for what its disk did.
func answering(ctx context.Context, url string) Result {
	r := Result{Name: "metrics", Status: OK, Address: url, Detail: "answer"}
	var err error
	var failures string
	r.LatencyMS, err = latency(func() (err error) { failures, err = askMetrics(ctx, url); return err })
	if err == nil && failures != "" && failures != "0" {
		r.warn(
			failures+" syncs of the spool of audit records failed since the server's start",
			"replace the disk of the data directory",
		)
	}
	if err != nil {
		return Result{Name: "metrics", Status: Failed, Address: url, Detail: err.Error(),
			Advice: "look at the end of the server's log; if it hangs, restart it"}
	}
	return r
}

// bindable tries the address. It is a warning at most: the server may be meant to
// run on another machine, or run here with another data directory.
func bindable(ctx context.Context, address string) Result {
	r := Result{Name: "metrics", Status: OK, Address: address, Detail: "free for a server to listen on"}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	switch {
	case err == nil:
		_ = listener.Close()
	case !errors.Is(err, syscall.EADDRINUSE):
		r.Status, r.Detail = Warning, err.Error()
		r.Advice = "correct LIVEGRAPH_METRICS_LISTEN, if the server is to run on this machine"
	case answersMetrics(ctx, "http://"+reachable(address)+"/metrics"):
		r.Detail = "a server of Livegraph with another data directory answers there"
	default:
		r.Status, r.Detail = Warning, "another program listens there"
		r.Advice = "choose another address with LIVEGRAPH_METRICS_LISTEN, or off: a server would not start on this machine"
	}
	return r
}

// reachable is the address at which this machine reaches a listener.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return address
}

func answersMetrics(ctx context.Context, url string) bool {
	_, err := askMetrics(ctx, url)
	return err == nil
}

// askMetrics fails if metrics of Livegraph do not answer, and returns the number of failed
// syncs that they tell.
func askMetrics(ctx context.Context, url string) (failures string, err error) {
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
	lines, ours := bufio.NewScanner(io.LimitReader(response.Body, metricsRead)), false
	for lines.Scan() {
		ours = ours || strings.HasPrefix(lines.Text(), ourMetrics)
		if count, ok := strings.CutPrefix(lines.Text(), spoolFailures); ok {
			failures = count
		}
	}
	if !ours {
		return "", errors.New("answers, without a metric of Livegraph")
	}
	return failures, nil
}
