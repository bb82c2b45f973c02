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
	"github.com/livegraph/livegraph/test/testenv"
)

// hidden returns what queries leave out of series.
func (w *world) hidden(list ...series) timeseries.Hidden {
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

// shown returns what a query shows of a series, as values does, and its newest point.
func (w *world) shown(s series) (points, latest string) {
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

// TestNobodyWaitsForADeletion holds up what deletes points: the log is stored all the
// same, and no query shows what was deleted.
func TestNobodyWaitsForADeletion(t *testing.T) {
	testenv.EachKafka(t, func(t *testing.T, broker *testenv.Broker) {
		w := newWorld(t, broker)
		w.deleting = true // by nobody
		w.consumeOnly()
		a, b := w.number(uuid.New(), "m"), w.number(uuid.New(), "m")
		w.produce(w.write(a, at(0, 1, 2, 3), []float64{0, 1, 2, 3}), w.write(b, at(0), []float64{0}))
		w.settledWithin(time.Minute)
		w.produce(w.deletion(pointblock.Deletion{Source: a.source, FromUS: t0 + 2*second, HasFrom: true}))
		w.produce(w.write(a, at(2), []float64{22}), w.write(b, at(1), []float64{1}))
		w.settledWithin(time.Minute)
		require.Equal(t, "0=0 1=1 2=22 3=3", w.values(a), "nothing was deleted in the store yet")
		points, latest := w.shown(a)
		require.Equal(t, " 0=0 1=1 2=22", points)
		require.Equal(t, "2=22", latest)
		points, latest = w.shown(b)
		require.Equal(t, " 0=0 1=1", points)
		require.Equal(t, "1=1", latest)

		// What deletes begins, twice as if it had died in between, and in two processes.
		w.deleting, w.settleAfter = false, 300*time.Millisecond
		w.delete()
		w.deleting = false
		w.delete()
		require.Eventually(t, func() bool { return len(w.hidden(a)) == 0 }, time.Minute, 10*time.Millisecond, "it settles")
		require.Equal(t, "0=0 1=1 2=22", w.values(a))
		points, latest = w.shown(a)
		require.Equal(t, " 0=0 1=1 2=22", points)
		require.Equal(t, "2=22", latest)
	})
}

// TestADeletionIsHiddenWhereAnInsertOfBeforeEndsLate has rows inserted behind the first
// execution, as a process that died may have left them: they are never shown.
func TestADeletionIsHiddenWhereAnInsertOfBeforeEndsLate(t *testing.T) {
	w := newWorld(t, testenv.NewKFake(t))
	s := w.number(uuid.New(), "m")
	w.consume()
	w.produce(w.write(s, at(0), []float64{0}))
	w.settled()
	w.produce(w.deletion(pointblock.Deletion{Source: s.source}))
	w.settled()
	require.NoError(t, w.points.InsertPoints(t.Context(), &clickhouse.PointColumns{
		Series: native.RunsOf(s.ref(w).ID), TS: at(0), Values: []float64{0}, Versions: native.RunsOf(1 << 48),
	}))
	points, latest := w.shown(s)
	require.Equal(t, "0=0", w.values(s))
	require.Empty(t, points+latest)
	w.age()
	for deadline := time.Now().Add(time.Minute); len(w.hidden(s)) > 0; {
		points, latest := w.shown(s)
		require.Empty(t, points+latest)
		require.True(t, time.Now().Before(deadline), "it settles")
	}
	require.Empty(t, w.values(s))
}

// consumeOnly runs a consumer without what deletes points.
func (w *world) consumeOnly() *running {
	w.tb.Helper()
	return w.run(newConsumer(w))
}

// BenchmarkFreshnessBesideADeletion deletes a million points of one workspace by 20
// requests, and measures how long points of another one take from the log into answers:
// p95-before and p95-during, and their ratio.
func BenchmarkFreshnessBesideADeletion(b *testing.B) {
	const sources, requests, each, samples = 20, 50, 1000, 100
	if b.N > 1 {
		b.Skip("one round says it all: -benchtime 1x")
	}
	w := newWorld(b, testenv.NewKFake(b))
	w.config.BatchWait = 100 * time.Millisecond
	victim, other := uuid.New(), uuid.New()
	w.workspace = victim
	all := make([]series, sources)
	ts, values := make([]int64, each), make([]float64, each)
	for i := range all {
		all[i] = w.number(uuid.UUID{byte(i), 3}, "m")
	}
	w.consume()
	for r := range requests {
		for _, s := range all {
			for i := range ts {
				ts[i], values[i] = t0+int64(r*each+i)*second, float64(i)
			}
			w.produce(w.write(s, ts, values))
		}
	}
	w.settledWithin(5 * time.Minute)
	fresh := func(do func(sample int)) time.Duration {
		took := make([]time.Duration, samples)
		for i := range took {
			do(i)
			took[i] = w.freshness(other, i)
		}
		slices.Sort(took)
		return took[samples*95/100]
	}
	before := fresh(func(int) {})
	b.ResetTimer()
	during := fresh(func(sample int) {
		w.workspace = victim
		if sample%(samples/sources) == 0 {
			w.produce(w.deletion(pointblock.Deletion{Source: all[sample*sources/samples].source}))
		}
	})
	b.StopTimer()
	w.executed()
	require.Equal(b, "0", w.ask(fmt.Sprintf(
		"SELECT count() FROM points WHERE series IN (SELECT id FROM series WHERE workspace = '%s')", victim,
	)))
	b.ReportMetric(float64(before.Milliseconds()), "p95-before-ms")
	b.ReportMetric(float64(during.Milliseconds()), "p95-during-ms")
	b.ReportMetric(float64(during)/float64(before), "ratio")
}

// freshness returns how long a point takes until the watermark has passed it.
func (w *world) freshness(workspace uuid.UUID, i int) time.Duration {
	w.tb.Helper()
	w.workspace = workspace
	s := w.number(uuid.UUID{9, byte(i % 7)}, "m")
	positions := w.produce(w.write(s, at(int64(i)), []float64{1}))
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

// TestALeaseKeepsDeletionsToOneProcess has another process hold the lease.
func TestALeaseKeepsDeletionsToOneProcess(t *testing.T) {
	w := newWorld(t, testenv.NewKFake(t))
	s := w.number(uuid.New(), "m")
	holder := uuid.New()
	held, err := w.registry.TakeLease(t.Context(), "deletions", holder, time.Hour)
	require.NoError(t, err)
	require.True(t, held)
	require.NoError(t, w.registry.AddTombstones(t.Context(), []registry.Tombstone{
		{RecordVersion: 1, Workspace: w.workspace, Source: s.source, Ceiling: 1},
	}))
	w.delete()
	time.Sleep(300 * time.Millisecond)
	waiting, _, err := w.registry.UnexecutedDeletions(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, waiting)
	require.NoError(t, w.registry.GiveLease(t.Context(), "deletions", holder))
	w.executed()
}
