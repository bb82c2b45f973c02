package points_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/native"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/storage/postgres/registry"
	"github.com/livegraph/livegraph/test/kafkatest"
)

// hidden returns the deletions that queries of these series hide.
func (w *fixture) hidden(list ...series) timeseries.Hidden {
	w.tb.Helper()
	deletions, err := w.registry.UnsettledDeletions(context.Background(), w.workspace)
	require.NoError(w.tb, err)
	hidden := timeseries.Hidden{}
	for _, s := range list {
		for _, d := range deletions {
			if d.Source == s.source && (d.Metric == nil || *d.Metric == s.metric) {
				hidden.Add(s.ref(w).ID, clickhouse.Deletion{FromUS: d.FromUS, ToUS: d.ToUS, Ceiling: d.Ceiling}, d.Executed)
			}
		}
	}
	return hidden
}

// queryPoints returns the points of a series as a query returns them, in the format of
// values, and its newest point.
func (w *fixture) queryPoints(s series) (points, latest string) {
	w.tb.Helper()
	ctx, id, hidden := context.Background(), s.ref(w).ID, w.hidden(s)
	found, _, err := timeseries.New(w.points).RawPoints(ctx, timeseries.RawQuery{
		Numbers: []uint64{id}, Range: timeseries.Range{ToUS: math.MaxInt64 / 4, Hidden: hidden}, Limit: 1000})
	require.NoError(w.tb, err)
	if p := found[id]; p != nil {
		for i, ts := range p.TS {
			points += fmt.Sprintf(" %d=%v", (ts-t0)/second, p.Columns[0].Numbers[i])
		}
	}
	newest, err := timeseries.New(w.points).LatestPoints(ctx, timeseries.LatestQuery{
		Workspace: w.workspace, Series: []timeseries.LatestSeries{{ID: id, Source: s.source}}, Hidden: hidden})
	require.NoError(w.tb, err)
	if newest[0] != nil {
		latest = fmt.Sprintf("%d=%v", (newest[0].TS[0]-t0)/second, newest[0].Columns[0].Numbers[0])
	}
	return points, latest
}

// TestNobodyWaitsForADeletion checks that the log is stored while maintenance does not run,
// and that queries hide deleted points.
func TestNobodyWaitsForADeletion(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w := newFixture(t, broker)
		w.maintenanceRuns = true // do not start it
		w.consumeOnly()
		a, b := w.numberSeries(uuid.New(), "m"), w.numberSeries(uuid.New(), "m")
		w.produce(w.numberMessages(a, times(0, 1, 2, 3), []float64{0, 1, 2, 3}), w.numberMessages(b, times(0), []float64{0}))
		w.waitConsumedWithin(time.Minute)
		w.produce(w.deletionMessages(pointblock.Deletion{Source: a.source, FromUS: t0 + 2*second, HasFrom: true}))
		w.produce(w.numberMessages(a, times(2), []float64{22}), w.numberMessages(b, times(1), []float64{1}))
		w.waitConsumedWithin(time.Minute)
		require.Equal(t, "0=0 1=1 2=22 3=3", w.values(a), "nothing was deleted in the store yet")
		points, latest := w.queryPoints(a)
		require.Equal(t, " 0=0 1=1 2=22", points)
		require.Equal(t, "2=22", latest)
		points, latest = w.queryPoints(b)
		require.Equal(t, " 0=0 1=1", points)
		require.Equal(t, "1=1", latest)

		// Maintenance starts twice, as in two processes.
		w.maintenanceRuns, w.settleAfter = false, 300*time.Millisecond
		w.runMaintenance()
		w.maintenanceRuns = false
		w.runMaintenance()
		require.Eventually(t, func() bool { return len(w.hidden(a)) == 0 }, time.Minute, 10*time.Millisecond, "it settles")
		require.Equal(t, "0=0 1=1 2=22", w.values(a))
		points, latest = w.queryPoints(a)
		require.Equal(t, " 0=0 1=1 2=22", points)
		require.Equal(t, "2=22", latest)
	})
}

// TestADeletionIsHiddenWhereAnInsertOfBeforeEndsLate inserts rows after the first execution of
// a deletion, as a process that was killed may have done. Queries never show them.
func TestADeletionIsHiddenWhereAnInsertOfBeforeEndsLate(t *testing.T) {
	w := newFixture(t, kafkatest.NewKFake(t))
	s := w.numberSeries(uuid.New(), "m")
	w.consume()
	w.produce(w.numberMessages(s, times(0), []float64{0}))
	w.waitSettled()
	w.produce(w.deletionMessages(pointblock.Deletion{Source: s.source}))
	w.waitSettled()
	require.NoError(t, w.points.InsertPoints(t.Context(), &clickhouse.PointColumns{
		Series: native.RunsOf(s.ref(w).ID), TS: times(0), Values: []float64{0}, Versions: native.RunsOf(1 << 48),
	}))
	points, latest := w.queryPoints(s)
	require.Equal(t, "0=0", w.values(s))
	require.Empty(t, points+latest)
	w.ageDeletions()
	for deadline := time.Now().Add(time.Minute); len(w.hidden(s)) > 0; {
		points, latest := w.queryPoints(s)
		require.Empty(t, points+latest)
		require.True(t, time.Now().Before(deadline), "it settles")
	}
	require.Empty(t, w.values(s))
}

// consumeOnly runs a consumer without maintenance.
func (w *fixture) consumeOnly() *runningConsumer {
	w.tb.Helper()
	return w.run(newConsumer(w))
}

// BenchmarkFreshnessBesideADeletion deletes a million points of one workspace with 20
// requests. It measures how long points of another workspace take from the log until they
// are visible: p95-before and p95-during, and their ratio.
func BenchmarkFreshnessBesideADeletion(b *testing.B) {
	const sources, requests, each, samples = 20, 50, 1000, 100
	if b.N > 1 {
		b.Skip("one iteration is enough: -benchtime 1x")
	}
	w := newFixture(b, kafkatest.NewKFake(b))
	w.config.BatchWait = 100 * time.Millisecond
	victim, other := uuid.New(), uuid.New()
	w.workspace = victim
	all := make([]series, sources)
	ts, values := make([]int64, each), make([]float64, each)
	for i := range all {
		all[i] = w.numberSeries(uuid.UUID{byte(i), 3}, "m")
	}
	w.consume()
	for r := range requests {
		for _, s := range all {
			for i := range ts {
				ts[i], values[i] = t0+int64(r*each+i)*second, float64(i)
			}
			w.produce(w.numberMessages(s, ts, values))
		}
	}
	w.waitConsumedWithin(5 * time.Minute)
	fresh := func(do func(sample int)) time.Duration {
		took := make([]time.Duration, samples)
		for i := range took {
			do(i)
			took[i] = w.measureFreshness(other, i)
		}
		slices.Sort(took)
		return took[samples*95/100]
	}
	before := fresh(func(int) {})
	b.ResetTimer()
	during := fresh(func(sample int) {
		w.workspace = victim
		if sample%(samples/sources) == 0 {
			w.produce(w.deletionMessages(pointblock.Deletion{Source: all[sample*sources/samples].source}))
		}
	})
	b.StopTimer()
	w.waitExecuted()
	require.Equal(b, "0", w.query(fmt.Sprintf(
		"SELECT count() FROM points WHERE series IN (SELECT id FROM series WHERE workspace = '%s')", victim,
	)))
	b.ReportMetric(float64(before.Milliseconds()), "p95-before-ms")
	b.ReportMetric(float64(during.Milliseconds()), "p95-during-ms")
	b.ReportMetric(float64(during)/float64(before), "ratio")
}

// measureFreshness returns the time until the watermark has passed a new point.
func (w *fixture) measureFreshness(workspace uuid.UUID, i int) time.Duration {
	w.tb.Helper()
	w.workspace = workspace
	s := w.numberSeries(uuid.UUID{9, byte(i % 7)}, "m")
	positions := w.produce(w.numberMessages(s, times(int64(i)), []float64{1}))
	began := time.Now()
	state, err := w.log.Observe(context.Background())
	require.NoError(w.tb, err)
	for {
		marks, err := w.registry.Watermarks(context.Background(), state.ID)
		require.NoError(w.tb, err)
		if !slices.ContainsFunc(positions, func(p pointblock.Position) bool { return marks[p.Partition] <= p.Offset }) {
			return time.Since(began)
		}
		require.Less(w.tb, time.Since(began), time.Minute, "it is not stored")
		time.Sleep(time.Millisecond)
	}
}

// TestALeaseKeepsDeletionsToOneProcess checks that no deletion is executed while another
// process holds the lease.
func TestALeaseKeepsDeletionsToOneProcess(t *testing.T) {
	w := newFixture(t, kafkatest.NewKFake(t))
	s := w.numberSeries(uuid.New(), "m")
	holder := uuid.New()
	held, err := w.registry.AcquireLease(t.Context(), "deletions", holder, time.Hour)
	require.NoError(t, err)
	require.True(t, held)
	require.NoError(t, w.registry.AddTombstones(t.Context(), []registry.Tombstone{
		{RecordVersion: 1, Workspace: w.workspace, Source: s.source, Ceiling: 1},
	}))
	w.runMaintenance()
	time.Sleep(300 * time.Millisecond)
	waiting, _, err := w.registry.UnexecutedDeletions(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, waiting)
	require.NoError(t, w.registry.ReleaseLease(t.Context(), "deletions", holder))
	w.waitExecuted()
}
