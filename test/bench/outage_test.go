package bench

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/load"
	"github.com/livegraph/livegraph/test/bench/record"
)

const (
	// outageVariable sets how long ClickHouse is unavailable.
	outageVariable = "LIVEGRAPH_BENCH_OUTAGE"
	outageDefault  = 5 * time.Minute

	outageRate = 500_000
	outageLead = 5 * time.Second // load before ClickHouse stops and after it resumes
	// outageBytes is more than the size of a point in the log. The retention is computed from it, so
	// that the log can store the points of a whole outage.
	outageBytes = 24
)

// BenchmarkOutage ingests 500,000 points/s while ClickHouse is stopped like a machine that hangs: it
// does not answer, and its connections stay open. It reports the service's memory, the answers to
// clients, and the time until every point is visible.
func BenchmarkOutage(b *testing.B) {
	outage := outageDefault
	if text := os.Getenv(outageVariable); text != "" {
		var err error
		outage, err = time.ParseDuration(text)
		require.NoError(b, err, outageVariable)
	}
	r := record.New(b)
	points := outageRate * int64((outage+2*outageLead)/time.Second)
	t := start(b, "--kafka-retention-bytes", retentionFor(points))
	r.Engines(t.engines())
	fleet := t.fleet("bench", load.Size{Sources: 100, Series: 1000})
	plan := load.Plan{
		Points: points, Batch: 10_000, Callers: 32, Rate: outageRate, Start: month(0), Interval: 100 * time.Millisecond,
		WaitTimeout: outage + 10*time.Minute,
	}
	started := make(chan time.Time, 1)
	plan.Started = func() { t.resetPeak(); started <- time.Now() }
	type end struct {
		result load.Result
		err    error
	}
	ended := make(chan end, 1)
	loading, stop := context.WithCancel(b.Context())
	defer stop()
	go func() {
		result, err := fleet.Run(loading, plan)
		ended <- end{result, err}
	}()
	began := <-started
	time.Sleep(outageLead)
	before := t.peak()
	resume := t.stopClickHouse()
	r.Logf("ClickHouse is stopped for %s", outage)
	time.Sleep(outage)
	peak := t.peak()
	resume()
	back := time.Now()
	done := <-ended
	require.NoError(b, done.err)
	require.Zero(b, done.result.Rejected)
	require.EqualValues(b, points, done.result.Visible)
	t.hasPoints(plan.Start, points)

	var refusals int64
	for reason, n := range done.result.Refusals {
		r.Logf("refused %d times: %s", n, reason)
		refusals += n
	}
	r.Add("away", "s", outage.Seconds())
	r.Add("accepted", "points/s", done.result.AcceptedPerSecond)
	r.Add("requests", "requests", float64(done.result.Requests))
	r.Add("refusals", "requests", float64(refusals))
	addDistribution(r, "answer-", done.result.Latency)
	r.Add("memory/before", "MiB", before)
	r.Add("memory/away", "MiB", peak)
	r.Add("memory/all", "MiB", t.peak())
	r.Add("caught-up", "s", began.Add(time.Duration(done.result.VisibleSeconds*float64(time.Second))).Sub(back).Seconds())
	r.Save()
}

// outagePartitions is the default number of partitions of topic points.
const outagePartitions = 8

// retentionFor returns the bytes that a partition must retain so that no point is refused or lost
// while no consumer reads: the log accepts points until --ingest-log-full-threshold, and partitions
// are not equally full.
func retentionFor(points int64) string {
	const reserve = 2
	return strconv.FormatInt(reserve*points*outageBytes/outagePartitions, 10)
}

// stopClickHouse pauses the processes of the server's ClickHouse until resume is called.
func (t *target) stopClickHouse() (resume func()) {
	t.b.Helper()
	processes := readProcesses(t)
	signal := func(s syscall.Signal) {
		for pid := range processes {
			engine := engineOf(processes, pid, t.PID())
			if engine != 0 && strings.Contains(processes[engine].command, "clickhouse") {
				require.NoError(t.b, syscall.Kill(pid, s))
			}
		}
	}
	resume = sync.OnceFunc(func() { signal(syscall.SIGCONT) })
	t.b.Cleanup(resume)
	signal(syscall.SIGSTOP)
	return resume
}

// hasPoints requires that the given number of points exists from start on, each exactly once. It
// counts by steps of time, because FINAL merges duplicates in memory.
func (t *target) hasPoints(start time.Time, points int64) {
	t.b.Helper()
	const step = 10 * time.Minute
	end := start.AddDate(0, 1, 0)
	var found int64
	for from := start; from.Before(end) && found < points; from = from.Add(step) {
		n, err := strconv.ParseInt(t.AskClickHouse(fmt.Sprintf(
			"SELECT count() FROM points FINAL WHERE ts >= fromUnixTimestamp64Micro(%d, 'UTC') AND ts < "+
				"fromUnixTimestamp64Micro(%d, 'UTC')",
			from.UnixMicro(), from.Add(step).UnixMicro())), 10, 64)
		require.NoError(t.b, err)
		found += n
	}
	require.Equal(t.b, points, found)
}
