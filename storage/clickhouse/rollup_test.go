package clickhouse_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/test/chtest"
	"github.com/livegraph/livegraph/test/testenv"
)

const (
	minute = 60 * second
	hour   = 60 * minute
	day    = 24 * hour
)

// rollupFixture is a store with rollups, and a source to whose series tests write.
type rollupFixture struct {
	*store
	t                 *testing.T
	registry          *prometheus.Registry
	workspace, source uuid.UUID
	version           uint64
}

// newRollupFixture creates a fixture with a number of series. Their ids are far apart.
func newRollupFixture(t *testing.T, series int) *rollupFixture {
	t.Helper()
	return fillRollupFixture(t, chtest.New(t), series)
}

func fillRollupFixture(t *testing.T, s *store, series int) *rollupFixture {
	t.Helper()
	r := &rollupFixture{store: s, t: t, workspace: uuid.New(), source: uuid.New()}
	r.reopen()
	for i := range series {
		require.NoError(t, r.InsertSeries(t.Context(), []clickhouse.SeriesRow{{
			ID: id(i), Workspace: r.workspace, Source: r.source, Metric: fmt.Sprintf("m%d", i), Tags: map[string]string{}}}))
	}
	return r
}

func id(i int) uint64 { return uint64(i+1) * 0x9e3779b97f4a7c15 }

func ids(n int) (all []uint64) {
	for i := range n {
		all = append(all, id(i))
	}
	return all
}

// reopen opens the database again, with empty caches, as another process would.
func (r *rollupFixture) reopen() {
	r.t.Helper()
	r.registry = prometheus.NewRegistry()
	db, err := r.Open(r.t.Context(), clickhouse.WithMetrics(clickhouse.NewMetrics(r.registry)))
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = db.Close() })
	r.DB, r.Reader = db, timeseries.New(db)
}

// pass runs one pass at a given time.
func (r *rollupFixture) pass(now int64) clickhouse.RollupReport {
	r.t.Helper()
	report, err := r.RollUp(r.t.Context(), clickhouse.RollupPass{NowUS: now})
	require.NoError(r.t, err)
	return report
}

// rollUpFully runs passes until no marks remain.
func (r *rollupFixture) rollUpFully(now int64) {
	r.t.Helper()
	r.pass(now)
	r.pass(now)
	r.pass(now)
	require.Equal(r.t, "0", testenv.QueryClickHouse(r.t, r.URL.String(), "SELECT count() FROM rollup_marks"))
}

// columns returns rows of one version.
func (r *rollupFixture) columns(version uint64, points ...point) *clickhouse.PointColumns {
	c := &clickhouse.PointColumns{}
	for _, p := range points {
		c.Append(p.Series, p.TS, p.Value.(float64), version)
	}
	return c
}

func (r *rollupFixture) nextVersion() uint64 {
	r.version++
	return r.version
}

// every returns points of series at the given interval, between from and to.
func every(step int64, from, to int64, series ...uint64) (points []point) {
	for _, s := range series {
		for ts := from; ts < to; ts += step {
			points = append(points, point{Series: s, TS: ts, Value: float64((ts/second)%977) / 7})
		}
	}
	return points
}

// reads returns the number of queries that read from a source.
func (r *rollupFixture) reads(source string) float64 {
	r.t.Helper()
	families, err := r.registry.Gather()
	require.NoError(r.t, err)
	for _, f := range families {
		if f.GetName() != "livegraph_query_rollup_total" {
			continue
		}
		for _, m := range f.Metric {
			if m.Label[0].GetValue() == source {
				return m.Counter.GetValue()
			}
		}
	}
	return 0
}

// requireSame runs a query with and without rollups and requires equal results, except for
// rounding by the order of additions.
func (r *rollupFixture) requireSame(q timeseries.AggregateQuery, why string) map[int]*timeseries.Points {
	r.t.Helper()
	if q.Limit == 0 {
		q.Limit = 1_000_000
	}
	q.PointsOnly = true
	want, wantMore, err := r.Aggregate(r.t.Context(), q)
	require.NoError(r.t, err)
	q.PointsOnly = false
	got, gotMore, err := r.Aggregate(r.t.Context(), q)
	require.NoError(r.t, err)
	require.Equal(r.t, wantMore, gotMore)
	if problem := differ(want, got); problem != "" {
		require.Fail(r.t, "rollups and points differ", "%s: %s\nquery %+v", why, problem, q)
	}
	return got
}

func differ(want, got map[int]*timeseries.Points) string {
	if len(want) != len(got) {
		return fmt.Sprintf("%d groups, not %d", len(got), len(want))
	}
	for group, w := range want {
		g := got[group]
		if g == nil || len(g.TS) != len(w.TS) {
			return fmt.Sprintf("group %d has other buckets: %v, not %v", group, g, w)
		}
		for i, ts := range w.TS {
			if g.TS[i] != ts {
				return fmt.Sprintf("group %d has bucket %d, not %d", group, g.TS[i], ts)
			}
			for c := range w.Columns {
				a, b := w.Columns[c].Numbers[i], g.Columns[c].Numbers[i]
				if math.IsNaN(a) != math.IsNaN(b) || math.Abs(a-b) > 1e-9*max(1, math.Abs(a)) {
					return fmt.Sprintf("group %d at %d: column %d is %v, not %v", group, ts, c, b, a)
				}
			}
		}
	}
	return ""
}

var rollupFunctions = []timeseries.Function{
	timeseries.Avg, timeseries.Min, timeseries.Max, timeseries.Sum, timeseries.Count, timeseries.First, timeseries.Last,
	timeseries.StdDev,
}

func TestRollupsAnswerWhereTheyHoldAndPointsTheRest(t *testing.T) {
	r := newRollupFixture(t, 3)
	points := every(7*second, t0, t0+day, ids(3)...)
	require.NoError(t, r.InsertPoints(t.Context(), r.columns(r.nextVersion(), points...)))
	all := timeseries.Range{FromUS: t0 + 11*minute + 3, ToUS: t0 + day + hour}
	query := func(step time.Duration, zone string) timeseries.AggregateQuery {
		q := timeseries.AggregateQuery{Series: ids(3), Groups: []int{0, 1, 1}, Range: all, Functions: rollupFunctions}
		if step > 0 {
			location, err := time.LoadLocation(zone)
			require.NoError(t, err)
			q.Grid = timeseries.NewGrid(step, location, all.FromUS, all.ToUS)
		}
		return q
	}
	r.requireSame(query(time.Hour, "UTC"), "before the first pass")
	require.Zero(t, r.reads("rollup_1h"))

	r.rollUpFully(t0 + 20*hour + minute)
	for _, c := range []struct {
		step         time.Duration
		zone, source string
	}{
		{time.Hour, "UTC", "rollup_1h"}, {0, "UTC", "rollup_1h"}, {24 * time.Hour, "Europe/Berlin", "rollup_1h"},
		{time.Minute, "UTC", "rollup_1m"}, {time.Hour, "Asia/Kolkata", "rollup_1m"},
		{90 * time.Minute, "America/St_Johns", "rollup_1m"},
		{90 * time.Second, "UTC", "raw"}, {time.Second, "UTC", "raw"},
	} {
		before := r.reads(c.source)
		r.requireSame(query(c.step, c.zone), fmt.Sprint(c.step, c.zone))
		// A query with Raw is counted, too.
		want := map[bool]float64{true: 2, false: 1}[c.source == "raw"]
		require.Equal(t, before+want, r.reads(c.source), "%s in %s", c.step, c.zone)
	}
	q := query(time.Hour, "UTC")
	q.Functions = append(q.Functions, timeseries.P95)
	before := r.reads("raw")
	r.requireSame(q, "a percentile")
	require.Equal(t, before+2, r.reads("raw"))
}

// TestRollupsAnswerForSeriesOfSeveralRetentions checks that the short retention of one series
// does not disable rollups for the others.
func TestRollupsAnswerForSeriesOfSeveralRetentions(t *testing.T) {
	r := newRollupFixture(t, 3)
	require.NoError(t, r.InsertPoints(t.Context(), r.columns(r.nextVersion(), every(7*second, t0, t0+day, ids(3)...)...)))
	r.rollUpFully(t0 + 20*hour + minute)
	q := timeseries.AggregateQuery{Series: ids(3), Groups: []int{0, 1, 1}, Functions: rollupFunctions}
	q.Range = timeseries.Range{
		FromUS: t0 + 11*minute + 3, ToUS: t0 + day + hour,
		KeptFrom: timeseries.KeptFrom{id(1): t0 + 23*hour + 17, id(2): t0 + 5*hour + 29*minute + 1},
	}
	for i, step := range []time.Duration{0, time.Hour, time.Minute} {
		if step > 0 {
			q.Grid = timeseries.NewGrid(step, time.UTC, q.Range.FromUS, q.Range.ToUS)
		}
		r.requireSame(q, step.String())
		require.EqualValues(t, i+1, r.reads("rollup_1h")+r.reads("rollup_1m"), "%s is answered by a rollup", step)
	}
}

// TestSeriesAreCountedByRollups checks that counts from rollups and points together are equal
// to counts from points alone.
func TestSeriesAreCountedByRollups(t *testing.T) {
	r := newRollupFixture(t, 3)
	require.NoError(t, r.InsertPoints(t.Context(), r.columns(
		r.nextVersion(), every(7*second, t0+3, t0+day, ids(3)...)...,
	)))
	kept := timeseries.KeptFrom{id(1): t0 + 23*hour + 17, id(2): t0 + 5*hour + 29*minute + 1}
	before, err := r.SeriesStats(t.Context(), ids(3), nil, kept, nil)
	require.NoError(t, err)
	require.Len(t, before, 3)
	r.rollUpFully(t0 + 20*hour + minute)
	after, err := r.SeriesStats(t.Context(), ids(3), nil, kept, nil)
	require.NoError(t, err)
	require.Equal(t, before, after)

	// Late points are counted, too, and points that were written again are counted once.
	require.NoError(t, r.InsertPoints(t.Context(), r.columns(
		r.nextVersion(), every(5*second, t0+6*hour, t0+7*hour, ids(3)...)...,
	)))
	late, err := r.SeriesStats(t.Context(), ids(3), nil, kept, nil)
	require.NoError(t, err)
	require.Equal(t, before[id(1)], late[id(1)], "all of them are past its retention")
	require.Greater(t, late[id(0)].Count, before[id(0)].Count)
	r.rollUpFully(t0 + 2*day)
	settled, err := r.SeriesStats(t.Context(), ids(3), nil, kept, nil)
	require.NoError(t, err)
	require.Equal(t, late, settled)

	// Hours with valid rollups are not read from points.
	testenv.QueryClickHouse(t, r.URL.String(), "TRUNCATE TABLE "+r.Layout().Stored("points"))
	counted, err := r.SeriesStats(t.Context(), ids(1), nil, nil, nil)
	require.NoError(t, err)
	require.Positive(t, counted[id(0)].Count, "the hours are counted by their rollups")
}

func TestManySeriesAndManyMarksAreRead(t *testing.T) {
	r := newRollupFixture(t, 1)
	clock := int64(t0 + 60*hour)
	require.NoError(t, r.InsertPoints(t.Context(), r.columns(
		r.nextVersion(), every(20*minute, t0, clock, id(0), 5, 6)...,
	)))
	r.rollUpFully(clock)
	q := timeseries.AggregateQuery{Range: timeseries.Range{FromUS: t0 + minute, ToUS: clock}, Functions: rollupFunctions}
	for i := range 20_000 {
		q.Series, q.Groups = append(q.Series, id(i)), append(q.Groups, i%5)
	}
	// One series has few marked hours, one has all, and 10,000 have one.
	late := every(hour, t0, clock, 6)
	for i := range 10_000 {
		late = append(late, point{Series: id(i), TS: t0 + 5*hour, Value: 3.5})
	}
	require.NoError(t, r.InsertPoints(t.Context(), r.columns(r.nextVersion(), late...)))
	q.Series, q.Groups = append(q.Series[:19_998], 5, 6), append(q.Groups[:19_998], 0, 1)
	r.requireSame(q, "20,000 series")
	require.EqualValues(t, 1, r.reads("rollup_1h"))
	q.Series, q.Groups = append(q.Series, 7), append(q.Groups, 0)
	r.requireSame(q, "one more")
	require.EqualValues(t, 1, r.reads("rollup_1h"))
}

// TestAnOldZoneIsReadFromPoints uses an offset with seconds: that of Amsterdam was +00:19:32.
func TestAnOldZoneIsReadFromPoints(t *testing.T) {
	amsterdam := time.FixedZone("Amsterdam", 19*60+32)
	r := newRollupFixture(t, 1)
	require.NoError(t, r.InsertPoints(t.Context(), r.columns(r.nextVersion(), every(7*second, t0, t0+5*hour, id(0))...)))
	r.rollUpFully(t0 + 6*hour)
	all := timeseries.Range{FromUS: t0, ToUS: t0 + 5*hour}
	r.requireSame(timeseries.AggregateQuery{Series: ids(1), Groups: []int{0}, Range: all, Functions: rollupFunctions,
		Grid: timeseries.NewGrid(time.Hour, amsterdam, all.FromUS, all.ToUS)}, "an odd offset")
	require.Zero(t, r.reads("rollup_1m")+r.reads("rollup_1h"))
}

// TestQueriesOfMorePointsThanExpectedAreGroupedByClickHouse stores 150,000 points of a series in 50 minutes: queries of
// them expect one a second.
func TestQueriesOfMorePointsThanExpectedAreGroupedByClickHouse(t *testing.T) {
	r := newRollupFixture(t, 1)
	old := r.columns(r.nextVersion(), every(second, t0, t0+2*hour, id(0))...)
	require.NoError(t, r.InsertPoints(t.Context(), old))
	r.rollUpFully(t0 + 3*hour)
	dense := r.columns(r.nextVersion(), every(20_000, t0+2*hour, t0+2*hour+50*minute, id(0))...)
	require.NoError(t, r.InsertPoints(t.Context(), dense))
	to := int64(t0 + 2*hour + 55*minute)
	for _, c := range []struct {
		from    int64
		buckets int
		rollups float64 // queries that read them
	}{{t0 + 30*second, 170, 1}, {t0 + 2*hour, 50, 0}} {
		q := timeseries.AggregateQuery{
			Series: ids(1), Groups: []int{0}, Range: timeseries.Range{FromUS: c.from, ToUS: to},
			Grid: timeseries.NewGrid(time.Minute, time.UTC, c.from, to), Functions: []timeseries.Function{timeseries.Sum},
		}
		before := r.reads("rollup_1m")
		require.Len(t, r.requireSame(q, "many points")[0].TS, c.buckets)
		require.Equal(t, before+c.rollups, r.reads("rollup_1m"))
	}
}
