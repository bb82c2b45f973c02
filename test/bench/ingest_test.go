package bench

import (
	"fmt"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/load"
	"github.com/livegraph/livegraph/test/bench/record"
	"github.com/livegraph/livegraph/test/bench/stages"
)

// ingestCase is one way to send points.
type ingestCase struct {
	name   string
	format load.Format
	batch  int   // points per request
	points int64 // per turn
}

// Cases with 1,000 series, and with 100,000 sensors, of which each request contains one point each.
var (
	ingestCases = []ingestCase{
		{"series-many", load.FormatSeries, 100_000, 10_000_000},
		{"series", load.FormatSeries, 10_000, 10_000_000},
		{"lines", load.FormatLines, 10_000, 5_000_000},
		{"wide-lines", load.FormatWideLines, 10_000, 5_000_000},
		{"remote", load.FormatRemote, 10_000, 5_000_000},
		{"rows", load.FormatRows, 10_000, 3_000_000},
		{"ndjson", load.FormatNDJSON, 10_000, 3_000_000},
	}
	sensorCases = []ingestCase{
		{"sensors-series", load.FormatSeries, 100_000, 5_000_000},
		{"sensors-lines", load.FormatLines, 100_000, 5_000_000},
	}
)

// BenchmarkIngest sends points in each format as fast as they are accepted and stops the clock when
// every point is visible to a query, in turn with the baseline of BenchmarkPipeline. It runs each
// format once more with a profile, which shows the service's CPU time by stage.
func BenchmarkIngest(b *testing.B) {
	r := record.New(b)
	t := start(b, "--rollups-quiet", "1h") // rollups of one format would run during the turns of the next one
	r.Engines(t.engines())
	months := 0 // each turn has a partition of its own
	for _, kind := range []struct {
		size  load.Size
		name  string
		cases []ingestCase
	}{
		{load.Size{Sources: 100, Series: 1000}, "bench", ingestCases},
		{load.Size{Sources: 1000, Series: 100_000}, "sensors", sensorCases},
	} {
		fleet := t.fleet(kind.name, kind.size)
		direct := t.newDirect(fleet)
		for _, s := range kind.cases {
			t.ingest(r, s, fleet, direct, &months)
		}
	}
	r.Save()
}

// ingest measures one case. Its first turn warms up.
func (t *target) ingest(r *record.Recorder, s ingestCase, fleet *load.Fleet, direct *direct, months *int) {
	const turns = 3
	plan := load.Plan{
		Batch: s.batch, Callers: 4, Format: s.format, Interval: time.Second, Prepared: true, SkipFreshness: true,
	}
	plan.Values = load.ValuesGauge
	next := func(points int64) load.Plan {
		plan.Points, plan.Start = points, month(*months)
		*months++
		return plan
	}
	t.load(fleet, next(s.points/5))
	slowest := 0.0
	for turn := range turns {
		plan := next(s.points)
		service := t.load(fleet, plan)
		baseline := direct.load(plan, byDriver)
		direct.requireSamePoints(plan)
		slowest = max(slowest, service.seconds)
		r.Logf("%s, turn %d of %d: %.2f M points/s visible, inserted directly %.2f M points/s",
			s.name, turn+1, turns, service.perSecond()/1e6, baseline.perSecond()/1e6)
		inserting := baseline.used.client + baseline.used.clickhouse
		add := func(name, unit string, value float64) { r.Add(s.name+"/"+name, unit, value) }
		add("answered", "points/s", service.answeredPerSecond)
		add("visible", "points/s", service.perSecond())
		add("direct", "points/s", baseline.perSecond())
		add("of-direct", "ratio", service.perSecond()/baseline.perSecond())
		add("cpu/service", "cpu-ns/point", service.perPoint(service.used.service))
		add("cpu/clickhouse", "cpu-ns/point", service.perPoint(service.used.clickhouse))
		add("cpu/other-engines", "cpu-ns/point", service.perPoint(service.used.otherEngines))
		add("cpu/generator", "cpu-ns/point", service.perPoint(service.used.client))
		add("cpu/direct", "cpu-ns/point", baseline.perPoint(inserting))
		add("memory", "MiB", service.peak)
	}
	profiled, times := t.profiled(fleet, next(s.points), 1.5*slowest)
	var total time.Duration
	for _, took := range times {
		total += took
	}
	for _, stage := range stages.All {
		share := float64(times[stage]) / float64(total)
		r.Add(s.name+"/stage/"+string(stage), "cpu-ns/point", share*profiled.perPoint(profiled.used.service))
	}
}

// profileLead is the time between the request for a profile and the first request of the load.
const profileLead = 250 * time.Millisecond

// profiled runs a load and returns the service's CPU time by stage. The profile runs for the given
// time, rounded up to whole seconds; after the load the service is idle. Only shares of it are used,
// so it may also end before the load does.
func (t *target) profiled(
	fleet *load.Fleet, plan load.Plan, seconds float64,
) (outcome, map[stages.Stage]time.Duration) {
	t.b.Helper()
	type answer struct {
		times map[stages.Stage]time.Duration
		err   error
	}
	answers := make(chan answer, 1)
	address := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", t.Metrics, int(math.Ceil(seconds))+1)
	plan.Started = func() {
		go func() {
			response, err := http.Get(address)
			if err != nil {
				answers <- answer{nil, err}
				return
			}
			defer func() { _ = response.Body.Close() }()
			times, err := stages.Read(response.Body)
			answers <- answer{times, err}
		}()
		time.Sleep(profileLead)
	}
	o := t.load(fleet, plan)
	got := <-answers
	require.NoError(t.b, got.err)
	return o, got.times
}
