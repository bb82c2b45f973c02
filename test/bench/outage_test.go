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
	// outageVariable says for how long ClickHouse is unavailable.
	outageVariable = "LIVEGRAPH_BENCH_OUTAGE"
	outageDefault  = 5 * time.Minute

	outageRate = 500_000
	outageLead = 5 * time.Second // before ClickHouse goes, and for which points come after it is back
	// outageBytes is more than a point takes in the log, by which there is room for
	// all of an outage.
	outageBytes = 24
)

// BenchmarkOutage has 500,000 points a second come in while ClickHouse is stopped, as
// a machine that hangs: it answers nothing and its connections stay. It says what the
// service's memory was, what clients were answered, and how long it took until every
// point was there.
func BenchmarkOutage(b *testing.B) {
	away := outageDefault
	if text := os.Getenv(outageVariable); text != "" {
		var err error
		away, err = time.ParseDuration(text)
		require.NoError(b, err, outageVariable)
	}
	r := record.New(b)
	points := outageRate * int64((away+2*outageLead)/time.Second)
	t := start(b, "--kafka-retention-bytes", retentionFor(points))
	r.Engines(t.engines())
	fleet := t.fleet("bench", load.Size{Sources: 100, Series: 1000})
	plan := load.Plan{
		Points: points, Batch: 10_000, Callers: 32, Rate: outageRate, Start: month(0), Interval: 100 * time.Millisecond,
		Patience: away + 10*time.Minute,
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
	r.Say("ClickHouse is stopped for %s", away)
	time.Sleep(away)
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
		r.Say("answered %d times: %s", n, reason)
		refusals += n
	}
	r.Add("away", "s", away.Seconds())
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

// outagePartitions is how many partitions topic points has, if nothing else is said.
const outagePartitions = 8

// retentionFor returns the bytes that a partition must keep so that none of the points
// is refused or lost while nobody reads them: the log takes points until it is full to
// the share --ingest-log-full-threshold, and some partitions get more than others.
func retentionFor(points int64) string {
	const reserve = 2
	return strconv.FormatInt(reserve*points*outageBytes/outagePartitions, 10)
}

// stopClickHouse stops the server's ClickHouse where it is, until resume is called.
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

// hasPoints requires that so many points are there from a moment on, each once. It
// counts them piece by piece: what was inserted twice is settled as it is read.
func (t *target) hasPoints(start time.Time, points int64) {
	t.b.Helper()
	const piece = 10 * time.Minute
	end := start.AddDate(0, 1, 0)
	var found int64
	for from := start; from.Before(end) && found < points; from = from.Add(piece) {
		n, err := strconv.ParseInt(t.AskClickHouse(fmt.Sprintf(
			"SELECT count() FROM points FINAL WHERE ts >= fromUnixTimestamp64Micro(%d, 'UTC') AND ts < "+
				"fromUnixTimestamp64Micro(%d, 'UTC')",
			from.UnixMicro(), from.Add(piece).UnixMicro())), 10, 64)
		require.NoError(t.b, err)
		found += n
	}
	require.Equal(t.b, points, found)
}
