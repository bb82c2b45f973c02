package rollups_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/rollups"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/test/testenv"
)

const (
	waitTimeout = time.Minute
	often       = 50 * time.Millisecond
)

// world is a store and a registry of a test's own.
type world struct {
	t        *testing.T
	points   *clickhouse.DB
	registry *stores.DB
}

func newWorld(t *testing.T, store string) *world {
	t.Helper()
	w := &world{t: t}
	var err error
	w.registry, err = stores.Open(t.Context(), testenv.MigratedPostgres(t), 4)
	require.NoError(t, err)
	t.Cleanup(w.registry.Close)
	require.NoError(t, w.registry.Migrate(t.Context()))
	w.points, err = clickhouse.Open(t.Context(), store)
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.points.Close() })
	require.NoError(t, w.points.Migrate(t.Context()))
	return w
}

// worker is one that runs, as in its own process.
type worker struct {
	registry *prometheus.Registry
	stop     func()
}

func (w *world) work() *worker {
	w.t.Helper()
	one := &worker{registry: prometheus.NewRegistry()}
	r := rollups.New(rollups.Deps{
		Points: w.points, Leases: w.registry, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Metrics: one.registry,
		Config: rollups.Config{Quiet: 100 * time.Millisecond, LeaseFor: 20 * time.Second, DoubtFor: 200 * time.Millisecond},
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	stopped := false
	one.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			require.NoError(w.t, err)
		case <-time.After(waitTimeout):
			require.Fail(w.t, "the worker does not stop")
		}
	}
	w.t.Cleanup(one.stop)
	return one
}

// value returns a metric, of a label if there is one.
func (one *worker) value(t *testing.T, name, label string) float64 {
	t.Helper()
	families, err := one.registry.Gather()
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

// store has a series whose points of some hours ago are each a minute apart.
func (w *world) store(hoursAgo int64, version uint64) {
	w.t.Helper()
	c := &clickhouse.PointColumns{}
	from := time.Now().Add(-time.Duration(hoursAgo) * time.Hour).Truncate(time.Hour)
	for i := range 60 {
		c.Append(7, from.Add(time.Duration(i)*time.Minute).UnixMicro(), float64(version), version)
	}
	require.NoError(w.t, w.points.InsertPoints(w.t.Context(), c))
}

func TestOneWorkerComputesAndAnotherTakesOver(t *testing.T) {
	w := newWorld(t, testenv.ClickHouse(t))
	w.store(3, 1)
	workers := []*worker{w.work(), w.work()}
	points := func(i int) float64 { return workers[i].value(t, "livegraph_rollups_points_total", "") }
	require.Eventually(t, func() bool { return points(0)+points(1) == 60 }, waitTimeout, often)
	first, second := 0, 1
	if points(1) > 0 {
		first, second = 1, 0
	}
	require.Zero(t, workers[second].value(t, "livegraph_rollups_passes_total", "done"), "only one has work")

	w.store(3, 2) // late, over those of before
	require.Eventually(t, func() bool { return points(first) == 120 }, waitTimeout, often)
	require.Positive(t, workers[first].value(t, "livegraph_rollups_marks_total", ""))
	require.Zero(t, points(second))

	workers[first].stop()
	w.store(3, 3)
	require.Eventually(t, func() bool { return points(second) == 60 }, waitTimeout, often)
}

func TestAWorkerWithoutClickHouseGoesOnWhenItIsBack(t *testing.T) {
	server := testenv.StoppableClickHouse(t)
	w := newWorld(t, server.Address())
	one := w.work()
	require.Eventually(t, func() bool {
		return one.value(t, "livegraph_rollups_passes_total", "done") > 2
	}, waitTimeout, often)
	require.NoError(t, server.Stop(t.Context()))
	require.NoError(t, server.Start(t.Context()))
	w.store(5, 1)
	require.Eventually(
		t, func() bool { return one.value(t, "livegraph_rollups_points_total", "") == 60 }, waitTimeout, often,
	)
}
