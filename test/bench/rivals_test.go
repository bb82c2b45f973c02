package bench

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/load"
	"github.com/livegraph/livegraph/test/bench/record"
	"github.com/livegraph/livegraph/test/bench/rival"
)

const (
	rivalSeries  = 1000
	rivalBatch   = 10_000
	rivalCallers = 4
	rivalPoints  = 10_000_000 // per turn
)

// comparison is one way to send the same points to several servers.
type comparison struct {
	name    string
	format  load.Format
	sources int   // of the 1,000 series
	sensors int   // per source, distinguished by a tag
	perLine int64 // points per line
}

// comparisons are line protocol with one value per line (the sensors of one source, of ten sources,
// and the metrics of 100 sources as in BenchmarkIngest), line protocol with all ten values of a sensor
// on a line, and JSON series, for which the other stores have their own formats.
var comparisons = []comparison{
	{"lines", load.FormatLines, 1, rivalSeries, 1},
	{"site-lines", load.FormatLines, 10, rivalSeries / 10, 1},
	{"source-lines", load.FormatLines, rivalSeries / 10, 0, 1},
	{"wide-lines", load.FormatWideLines, 1, rivalSeries / 10, 10},
	{"series", load.FormatSeries, 1, rivalSeries, 1},
}

// BenchmarkRivals sends the same points to Livegraph and to other stores in turn, and stops each clock
// when a query finds all points. It skips stores that cannot run on this machine, and logs why.
func BenchmarkRivals(b *testing.B) {
	const turns = 3
	r := record.New(b)
	t := start(b, "--rollups-quiet", "1h") // rollups would run during the turns of the others
	r.Engines(t.engines())
	rivals := t.rivals(r)
	for _, c := range comparisons {
		size := load.Size{Sources: c.sources, Series: rivalSeries, Sensors: c.sensors}
		fleet := t.fleet("rivals-"+c.name, size)
		for turn := range turns + 1 { // the first warms up and is not counted
			plan := load.Plan{
				Points: rivalPoints, Batch: rivalBatch, Callers: rivalCallers, Format: c.format, Prepared: true,
				SkipFreshness: true,
				Values:        load.ValuesGauge, Interval: time.Second, Start: month(turn),
			}
			if turn == 0 {
				plan.Points /= 5
			}
			ours := t.load(fleet, plan)
			add := func(name string, o outcome) {
				if turn == 0 {
					return
				}
				r.Logf("%s, turn %d of %d: %s %.2f M points/s visible", c.name, turn, turns, name, o.perSecond()/1e6)
				r.Add(name+"/"+c.name+"/answered", "points/s", o.answeredPerSecond)
				r.Add(name+"/"+c.name+"/visible", "points/s", o.perSecond())
				r.Add(name+"/"+c.name+"/cpu", "cpu-ns/point", o.perPoint(o.used.total()))
				r.Add(name+"/"+c.name+"/ours", "ratio", ours.perSecond()/o.perSecond())
			}
			add("livegraph", ours)
			for _, other := range rivals {
				if address, bodies := t.bodiesFor(other, size, fleet, plan); address != "" {
					sent, err := t.sendTo(other, c, fleet, plan, address, bodies)
					require.NoError(b, err)
					add(other.Name, sent)
				}
			}
		}
	}
	for _, other := range rivals {
		r.Add(other.Name+"/memory", "MiB", record.PeakMemory(t.b, other.PID()))
	}
	r.Add("livegraph/memory", "MiB", t.peak())
	r.Save()
}

// rivals starts the other stores and pauses them until their turns.
func (t *target) rivals(r *record.Recorder) (started []*rival.Rival) {
	t.b.Helper()
	for _, open := range []func() (*rival.Rival, error){
		func() (*rival.Rival, error) { return rival.QuestDB(t.b) },
		func() (*rival.Rival, error) { return rival.VictoriaMetrics(t.b, "rival/victoriametrics") },
	} {
		other, err := open()
		if err != nil {
			r.Logf("skipped: %v", err)
			continue
		}
		require.NoError(t.b, other.Pause())
		r.Engines(map[string]string{other.Name: other.Version})
		started = append(started, other)
	}
	return started
}

// bodiesFor returns the URL at which a store accepts a plan's points, and the bodies. The URL is ""
// if the store has no such format.
func (t *target) bodiesFor(
	other *rival.Rival, size load.Size, fleet *load.Fleet, plan load.Plan,
) (address string, bodies [][]byte) {
	t.b.Helper()
	if plan.Format != load.FormatSeries {
		bodies, err := fleet.Bodies(plan)
		require.NoError(t.b, err)
		return other.Lines, bodies
	}
	if other.Series == "" {
		return "", nil
	}
	return other.Series, seriesBodies(size, fleet.Measurements(), plan)
}

// seriesBodies returns the points of a plan as JSON series in a peer's format, with the same series and
// the same number of points per request.
func seriesBodies(size load.Size, measurements []string, plan load.Plan) (bodies [][]byte) {
	width := min(size.Series, plan.Batch)
	each, groups := plan.Batch/width, size.Series/width
	times, values := make([]int64, each), make([]float64, each)
	for n := 0; int64(n)*int64(width*each) < plan.Points; n++ {
		var body []byte
		first, step := n%groups*width, int64(n/groups*each)
		for series := first; series < first+width; series++ {
			for i := range each {
				times[i] = plan.Start.Add(time.Duration(step+int64(i)) * plan.Interval).UnixMilli()
				values[i] = plan.Values.At(series, step+int64(i))
			}
			body = rival.SeriesBody(
				body, measurements[series%len(measurements)], series/len(measurements), times, values,
			)
		}
		bodies = append(bodies, body)
	}
	return bodies
}

// sendTo runs one load on another store. It returns an error if the store rejects a request, or not all
// points become visible.
func (t *target) sendTo(
	other *rival.Rival, c comparison, fleet *load.Fleet, plan load.Plan, address string, bodies [][]byte,
) (outcome, error) {
	t.b.Helper()
	require.NoError(t.b, other.Resume())
	self := func() time.Duration {
		p, ok := readProcess(other.PID())
		require.True(t.b, ok, "%s has ended", other.Name)
		return p.self
	}
	before, began := self(), time.Now()
	if err := other.Send(t.b.Context(), address, bodies, plan.Callers); err != nil {
		return outcome{}, errors.Join(err, other.Pause())
	}
	answered := time.Since(began)
	visible := other.AwaitVisible(t.b.Context(), rival.Load{
		Measurements: fleet.Measurements(), Points: plan.Points, PerLine: c.perLine,
		From: plan.Start, To: plan.Start.AddDate(0, 1, 0),
	})
	o := outcome{
		points: plan.Points, seconds: time.Since(began).Seconds(),
		answeredPerSecond: float64(plan.Points) / answered.Seconds(), used: usage{otherEngines: self() - before},
	}
	require.NoError(t.b, other.Pause())
	return o, visible
}
