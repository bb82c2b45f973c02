package bench

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/load"
	"github.com/livegraph/livegraph/test/bench/record"
)

// BenchmarkPipeline sends JSON series as fast as they are accepted and stops the clock when every
// point is visible to a query. The load generator runs on the same machine, and rollups are paused.
// Its baselines, in turn, insert the same sorted points with clickhouse-go and with the service's own
// writer. Then a second server accepts more points in one run and replays its log twice without other
// load, and a third one computes rollups while it accepts points.
func BenchmarkPipeline(b *testing.B) {
	const pairs = 5
	r := record.New(b)
	t := start(b, "--rollups-quiet", "1h")
	r.Engines(t.engines())
	fleet := t.fleet("bench", load.Size{Sources: 100, Series: 1000})
	direct := t.newDirect(fleet)
	plan := load.Plan{
		Batch: 100_000, Callers: 4, Values: load.ValuesGauge, Interval: time.Second, Prepared: true, SkipFreshness: true,
	}
	for pair := range pairs + 1 { // the first warms up and is not counted
		plan.Points, plan.Start = 10_000_000, month(pair)
		if pair == 0 {
			plan.Points = 2_000_000
		}
		service := t.load(fleet, plan)
		baseline := direct.load(plan, byDriver)
		direct.requireSamePoints(plan)
		written := direct.load(plan, byWriter)
		direct.requireSamePoints(plan)
		if pair == 0 {
			continue
		}
		r.Logf("turn %d of %d: %.2f M points/s visible, inserted directly %.2f M points/s",
			pair, pairs, service.perSecond()/1e6, baseline.perSecond()/1e6)
		inserting := baseline.used.client + baseline.used.clickhouse
		writing := written.used.client + written.used.clickhouse
		r.Add("visible", "points/s", service.perSecond())
		r.Add("answered", "points/s", service.answeredPerSecond)
		r.Add("direct", "points/s", baseline.perSecond())
		r.Add("of-direct", "ratio", service.perSecond()/baseline.perSecond())
		r.Add("written", "points/s", written.perSecond())
		r.Add("of-written", "ratio", service.perSecond()/written.perSecond())
		r.Add("cpu/all", "cpu-ns/point", service.perPoint(service.used.total()))
		r.Add("cpu/service", "cpu-ns/point", service.perPoint(service.used.service))
		r.Add("cpu/clickhouse", "cpu-ns/point", service.perPoint(service.used.clickhouse))
		r.Add("cpu/other-engines", "cpu-ns/point", service.perPoint(service.used.otherEngines))
		r.Add("cpu/merges-after", "cpu-ns/point", service.perPoint(service.merges))
		r.Add("cpu/generator", "cpu-ns/point", service.perPoint(service.used.client))
		r.Add("cpu-direct/all", "cpu-ns/point", baseline.perPoint(inserting))
		r.Add("cpu-direct/driver", "cpu-ns/point", baseline.perPoint(baseline.used.client))
		r.Add("cpu-direct/clickhouse", "cpu-ns/point", baseline.perPoint(baseline.used.clickhouse))
		r.Add("cpu-direct/merges-after", "cpu-ns/point", baseline.perPoint(baseline.merges))
		r.Add("cpu-of-direct", "ratio", float64(service.used.total())/float64(inserting))
		r.Add("cpu-written/all", "cpu-ns/point", written.perPoint(writing))
		r.Add("cpu-of-written", "ratio", float64(service.used.total())/float64(writing))
	}
	t.Stop()
	replayTwice(b, r, plan)
	benchmarkRollups(b, r, plan)
	r.Save()
}

// benchmarkRollups loads a server with a short rollup delay, and waits after each run until they
// are complete for all its points.
func benchmarkRollups(b *testing.B, r *record.Recorder, plan load.Plan) {
	const turns = 3
	t := start(b, "--rollups-quiet", "1s")
	fleet := t.fleet("bench", load.Size{Sources: 100, Series: 1000})
	for turn := range turns + 1 { // the first warms up
		var began time.Time
		plan.Start, plan.Started = month(turn), func() { began = time.Now() }
		before := t.usage()
		service := t.load(fleet, plan)
		t.rolledUp()
		if turn == 0 {
			continue
		}
		drained := float64(service.points) / time.Since(began).Seconds()
		r.Logf(
			"with rollups, turn %d of %d: %.2f M points/s visible, %.2f M rolled up", turn, turns, service.perSecond()/1e6,
			drained/1e6,
		)
		r.Add("rolled-up/visible", "points/s", service.perSecond())
		r.Add("rolled-up/drained", "points/s", drained)
		r.Add("rolled-up/cpu", "cpu-ns/point", service.perPoint(t.usage().since(before).total()))
	}
}

// replayTwice replays the whole topic of points twice and requires that the table does not change. The
// replays are compared with a long run of ingest, because ClickHouse merges the first inserts during
// both; a load of a few seconds ends before that.
func replayTwice(b *testing.B, r *record.Recorder, plan load.Plan) {
	b.Helper()
	t := start(b, "--rollups-quiet", "1h")
	fleet := t.fleet("bench", load.Size{Sources: 100, Series: 1000})
	plan.Points, plan.Start = 2_000_000, month(0)
	t.load(fleet, plan) // warms up
	plan.Points, plan.Start = 50_000_000, month(1)
	ingested := t.load(fleet, plan).perSecond()
	r.Logf("in one run: %.2f M points/s visible, %d M points", ingested/1e6, plan.Points/1_000_000)
	r.Add("sustained", "points/s", ingested)
	const contents = "SELECT count(), sum(cityHash64(series, ts, value, version)) FROM points FINAL"
	before := t.AskClickHouse(contents)
	for turn := range 2 {
		var job struct {
			State                 string
			Rows                  int64
			StartedAt, FinishedAt time.Time
		}
		lines := strings.Split(
			strings.TrimSpace(t.CLI("replay", "start", "--topic", "points", "--from-start", "--json")), "\n",
		)
		require.NoError(t.b, json.Unmarshal([]byte(lines[len(lines)-1]), &job))
		require.Equal(t.b, "done", job.State)
		t.settle()
		require.Equal(t.b, before, t.AskClickHouse(contents))
		perSecond := float64(job.Rows) / job.FinishedAt.Sub(job.StartedAt).Seconds()
		r.Logf("replay %d of 2: %.2f M points/s, %.1f M points", turn+1, perSecond/1e6, float64(job.Rows)/1e6)
		r.Add("replayed", "points/s", perSecond)
		r.Add("replayed-of-sustained", "ratio", perSecond/ingested)
	}
	t.Stop()
}

// outcome is the cost of a load until queries find all its points.
type outcome struct {
	points            int64
	seconds           float64       // until all points are visible
	answeredPerSecond float64       // points; 0 if the target does not answer before they are visible
	used              usage         // until then
	merges            time.Duration // CPU time of ClickHouse for merges afterwards
	peak              float64       // peak memory of the service's process in MiB; 0 for other targets
}

func (o outcome) perSecond() float64 { return float64(o.points) / o.seconds }

// perPoint returns nanoseconds per point.
func (o outcome) perPoint(d time.Duration) float64 {
	return float64(d.Nanoseconds()) / float64(o.points)
}

// load runs one load and waits until its background work is done.
func (t *target) load(f *load.Fleet, p load.Plan) outcome {
	t.b.Helper()
	// The bodies are built before the clock starts. Their CPU time is excluded, too.
	var before usage
	started := p.Started
	p.Started = func() {
		t.resetPeak()
		if started != nil {
			started()
		}
		before = t.usage()
	}
	result, err := f.Run(t.b.Context(), p)
	require.NoError(t.b, err)
	require.EqualValues(t.b, p.Points, result.Visible)
	after := t.usage()
	t.settle()
	return outcome{
		points: result.Visible, seconds: result.VisibleSeconds, answeredPerSecond: result.AcceptedPerSecond,
		used: after.since(before), merges: t.usage().since(after).clickhouse, peak: t.peak(),
	}
}
