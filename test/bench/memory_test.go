package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/load"
	"github.com/livegraph/livegraph/test/bench/record"
)

// memoryLoads are loads that need much memory: many callers whose requests have the maximum size or as
// many series as possible.
var memoryLoads = []struct {
	name    string
	format  load.Format
	size    load.Size
	batch   int
	callers int
	points  int64
	replay  bool // during a replay of all points sent before
}{
	{"many-callers", load.FormatSeries, load.Size{Sources: 100, Series: 1000}, 10_000, 256, 20_000_000, false},
	{"million-points", load.FormatSeries, load.Size{Sources: 100, Series: 1000}, 1_000_000, 32, 30_000_000, false},
	{"large-rows", load.FormatRows, load.Size{Sources: 100, Series: 1000}, 300_000, 32, 6_000_000, false},
	{"large-lines", load.FormatLines, load.Size{Sources: 100, Series: 100_000}, 500_000, 32, 10_000_000, false},
	{"many-series", load.FormatLines, load.Size{Sources: 100, Series: 100_000}, 15_000, 256, 10_000_000, false},
	{"beside-replay", load.FormatSeries, load.Size{Sources: 100, Series: 1000}, 500_000, 32, 40_000_000, true},
	{
		"many-series-beside-replay", load.FormatLines, load.Size{Sources: 100, Series: 100_000}, 15_000, 256, 10_000_000,
		true,
	},
}

// BenchmarkMemory measures the peak memory of the service under each of memoryLoads, one after the
// other, while rollups are computed.
func BenchmarkMemory(b *testing.B) {
	r := record.New(b)
	t := start(b)
	r.Engines(t.engines())
	for i, c := range memoryLoads {
		fleet := t.fleet(c.name, c.size)
		t.resetPeak()
		var replay string
		if c.replay {
			replay = t.startReplay()
		}
		result, err := fleet.Run(b.Context(), load.Plan{
			Points: c.points, Batch: c.batch, Callers: c.callers, Format: c.format, Start: month(i), Interval: time.Second,
		})
		require.NoError(b, err)
		require.Zero(b, result.Rejected)
		require.Equal(b, result.Accepted, result.Visible)
		peak := t.peak()
		if c.replay {
			r.Logf("%s: the replay is %s", c.name, t.replayProgress(replay))
		}
		var refusals int64
		for _, n := range result.Refusals {
			refusals += n
		}
		r.Logf(
			"%s: %.0f MiB, %.2f M points/s accepted, %d requests answered with Retry-After", c.name, peak,
			result.AcceptedPerSecond/1e6,
			refusals,
		)
		r.Add(c.name+"/visible", "points/s", result.VisiblePerSecond)
		r.Add(c.name+"/refusals", "requests", float64(refusals))
		r.Add(c.name+"/memory", "MiB", peak)
	}
	r.Save()
}

// startReplay starts a replay of all points in the log and returns without waiting for it.
func (t *target) startReplay() (id string) {
	t.b.Helper()
	var job struct{ ID string }
	require.NoError(t.b, json.Unmarshal(
		[]byte(t.CLI("replay", "start", "--topic", "points", "--from-start", "--detach", "--json")), &job,
	))
	return job.ID
}

// replayProgress returns the progress of a replay.
func (t *target) replayProgress(id string) string {
	t.b.Helper()
	var job struct {
		State string
		Rows  int64
	}
	require.NoError(t.b, json.Unmarshal([]byte(t.CLI("replay", "show", id, "--json")), &job))
	return fmt.Sprintf("%s, %.1f M points", job.State, float64(job.Rows)/1e6)
}

// resetPeak resets the kernel's peak memory of the service's process (proc(5), clear_refs: 5).
func (t *target) resetPeak() {
	t.b.Helper()
	require.NoError(t.b, resetProcessPeak(t.PID()))
}

// resetProcessPeak is resetPeak for any process.
func resetProcessPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0o200)
}

// peak returns the peak memory of the service's process since resetPeak, in MiB: its resident set,
// which includes the embedded broker but not the other engines.
func (t *target) peak() float64 {
	t.b.Helper()
	return record.PeakMemory(t.b, t.PID())
}
