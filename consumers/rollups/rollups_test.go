package rollups_test

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/rollups"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/test/chtest"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

const pollInterval = 50 * time.Millisecond

// fixture is a store and a registry that no other test uses.
type fixture struct {
	t        *testing.T
	points   *clickhouse.DB
	registry *stores.DB
}

func newFixture(t *testing.T, store string) *fixture {
	t.Helper()
	w := &fixture{t: t}
	var err error
	w.registry, err = stores.Open(t.Context(), pgtest.Migrated(t), 4)
	require.NoError(t, err)
	t.Cleanup(w.registry.Close)
	require.NoError(t, w.registry.Migrate(t.Context()))
	w.points, err = chtest.Open(t.Context(), store)
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.points.Close() })
	require.NoError(t, w.points.Migrate(t.Context()))
	return w
}

// worker is a running Worker, as in its own process.
type worker struct {
	registry *prometheus.Registry
	stop     func()
}

func (w *fixture) startWorker() *worker {
	w.t.Helper()
	started := &worker{registry: prometheus.NewRegistry()}
	r := rollups.New(rollups.Deps{
		Points: w.points, Leases: w.registry, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Metrics: started.registry,
		Config:  rollups.Config{Quiet: 100 * time.Millisecond, LeaseFor: 20 * time.Second, DoubtFor: 200 * time.Millisecond},
	})
	started.stop = testenv.RunInBackground(w.t, r.Run)
	return started
}

// value returns the value of a metric, with the given label unless it is empty.
func (started *worker) value(t *testing.T, name, label string) float64 {
	t.Helper()
	families, err := started.registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.Metric {
			if label == "" || m.Label[0].GetValue() == label {
				return m.Counter.GetValue()
			}
		}
	}
	return 0
}

// insertPoints stores an hour of points of a series, a minute apart, that begins some hours ago.
func (w *fixture) insertPoints(hoursAgo int64, version uint64) {
	w.t.Helper()
	c := &clickhouse.PointColumns{}
	from := time.Now().Add(-time.Duration(hoursAgo) * time.Hour).Truncate(time.Hour)
	for i := range 60 {
		c.Append(7, from.Add(time.Duration(i)*time.Minute).UnixMicro(), float64(version), version)
	}
	require.NoError(w.t, w.points.InsertPoints(w.t.Context(), c))
}

func TestOneWorkerComputesAndAnotherTakesOver(t *testing.T) {
	w := newFixture(t, chtest.Migrated(t))
	w.insertPoints(3, 1)
	workers := []*worker{w.startWorker(), w.startWorker()}
	points := func(i int) float64 { return workers[i].value(t, "livegraph_rollups_points_total", "") }
	require.Eventually(t, func() bool { return points(0)+points(1) == 60 }, testenv.WaitTimeout, pollInterval)
	first, second := 0, 1
	if points(1) > 0 {
		first, second = 1, 0
	}
	require.Zero(t, workers[second].value(t, "livegraph_rollups_passes_total", "done"), "only one has work")

	w.insertPoints(3, 2) // late points that overwrite the earlier ones
	require.Eventually(t, func() bool { return points(first) == 120 }, testenv.WaitTimeout, pollInterval)
	require.Positive(t, workers[first].value(t, "livegraph_rollups_marks_total", ""))
	require.Zero(t, points(second))

	workers[first].stop()
	w.insertPoints(3, 3)
	require.Eventually(t, func() bool { return points(second) == 60 }, testenv.WaitTimeout, pollInterval)
}

func TestAWorkerContinuesWhenClickHouseIsAvailableAgain(t *testing.T) {
	server := testenv.StoppableClickHouse(t)
	w := newFixture(t, server.Address())
	started := w.startWorker()
	require.Eventually(t, func() bool {
		return started.value(t, "livegraph_rollups_passes_total", "done") > 2
	}, testenv.WaitTimeout, pollInterval)
	require.NoError(t, server.Stop(t.Context()))
	require.NoError(t, server.Start(t.Context()))
	w.insertPoints(5, 1)
	require.Eventually(t, func() bool {
		return started.value(t, "livegraph_rollups_points_total", "") == 60
	}, testenv.WaitTimeout, pollInterval)
}
