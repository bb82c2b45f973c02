package milvus_test

import (
	"context"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/test/testenv"
)

// recoveryTimeout is the maximum time until a killed server works again. Milvus standalone takes half
// a minute to load a collection.
const recoveryTimeout = 2 * time.Minute

func TestEntriesSurviveAKillAndAreFoundWithoutARestartOfTheClient(t *testing.T) {
	server := testenv.StoppableMilvus(t)
	db := open(t, server.Address())
	const name = "kept"
	require.NoError(t, db.CreateCollection(t.Context(), name, 4))
	workspace := uuid.New()
	flushed, unflushed := entry(workspace, 1, 0, 0, 0), entry(workspace, 0, 1, 0, 0)
	require.NoError(t, db.Upsert(t.Context(), name, []milvus.Entry{flushed}))
	require.NoError(t, db.Flush(t.Context(), name))
	require.NoError(t, db.Upsert(t.Context(), name, []milvus.Entry{unflushed}))

	require.NoError(t, server.Signal(syscall.SIGKILL))
	require.Eventually(t, func() bool {
		hits, err := db.Search(t.Context(), name, workspace, []float32{1, 0, 0, 0}, milvus.Filter{}, 10)
		if err != nil {
			require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
		}
		return err == nil && len(hits) == 2
	}, recoveryTimeout, 50*time.Millisecond)
	requireCount(t, db, name, 2)
	require.NoError(t, db.CreateCollection(t.Context(), name, 4))
	require.NoError(t, db.Upsert(t.Context(), name, []milvus.Entry{entry(workspace, 0, 0, 1, 0)}))
	requireCount(t, db, name, 3)
	require.NoError(t, db.Delete(t.Context(), name, []milvus.EntryID{flushed.ID()}))
	requireCount(t, db, name, 2)
}

func TestAnUnavailableServerIsReportedAtOnce(t *testing.T) {
	server := testenv.StoppableMilvus(t)
	db := open(t, server.Address())
	const name = "away"
	workspace, query := uuid.New(), []float32{1, 0}
	require.NoError(t, db.CreateCollection(t.Context(), name, 2))
	require.NoError(t, db.Upsert(t.Context(), name, []milvus.Entry{entry(workspace, query...)}))
	awaitHits(t, db, name, workspace, query, milvus.Filter{}, 1)
	require.NoError(t, server.Stop(t.Context()))

	calls := map[string]func() error{
		"search": func() error { _, err := db.Search(t.Context(), name, workspace, query, milvus.Filter{}, 1); return err },
		"upsert": func() error { return db.Upsert(t.Context(), name, []milvus.Entry{entry(workspace, query...)}) },
		"delete": func() error { return db.Delete(t.Context(), name, []milvus.EntryID{{Workspace: workspace}}) },
		"has":    func() error { _, err := db.HasCollection(t.Context(), name); return err },
		"create": func() error { return db.CreateCollection(t.Context(), name, 2) },
		"load":   func() error { return db.LoadCollection(t.Context(), name) },
		"drop":   func() error { return db.DropCollection(t.Context(), name) },
		"alias":  func() error { return db.SetAlias(t.Context(), "other", name) },
		"count":  func() error { _, err := db.Count(t.Context(), name); return err },
		"flush":  func() error { return db.Flush(t.Context(), name) },
	}
	for what, call := range calls {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // much longer than three attempts take
		err := call()
		require.NoError(t, ctx.Err(), "%s does not end", what)
		cancel()
		var public *fault.Error
		require.ErrorAs(t, err, &public, what)
		require.Equal(t, fault.Unavailable, public.Kind, "%s: %v", what, err)
		require.NotErrorIs(t, err, milvus.ErrNoCollection)
		require.NotContains(t, public.Message, server.Address())
		require.Positive(t, public.RetryAfter)
	}
	require.Error(t, db.Ping(t.Context()))

	require.NoError(t, server.Start(t.Context()))
	require.Eventually(t, func() bool {
		hits, err := db.Search(t.Context(), name, workspace, query, milvus.Filter{}, 1)
		return err == nil && len(hits) == 1
	}, recoveryTimeout, 50*time.Millisecond)
	require.NoError(t, db.Ping(t.Context()))
}

func TestCallsToAServerThatHangsEndInTime(t *testing.T) {
	server := testenv.StoppableMilvus(t)
	db := open(t, server.Address())
	require.NoError(t, db.CreateCollection(t.Context(), "hung", 2))
	testenv.Pause(t, server)
	defer func() { _ = server.Signal(syscall.SIGCONT) }()
	_, err := db.Search(t.Context(), "hung", uuid.New(), []float32{1, 0}, milvus.Filter{}, 1)
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = db.Search(ctx, "hung", uuid.New(), []float32{1, 0}, milvus.Filter{}, 1)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	testenv.Resume(t, server)
	require.Eventually(t, func() bool {
		_, err := db.Search(t.Context(), "hung", uuid.New(), []float32{1, 0}, milvus.Filter{}, 1)
		return err == nil
	}, recoveryTimeout, 50*time.Millisecond)
}

func TestNewDoesNotWaitForTheServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	db, err := milvus.New(milvus.Options{Address: address})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	_, err = db.HasCollection(t.Context(), "any")
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)

	later, err := milvus.New(milvus.Options{Address: testenv.Milvus(t)})
	require.NoError(t, err)
	defer func() { require.NoError(t, later.Close()) }()
	exists, err := later.HasCollection(t.Context(), "never_made")
	require.NoError(t, err)
	require.False(t, exists)
}

func TestOperationsAreMeasuredAndTraced(t *testing.T) {
	registry, spans := prometheus.NewRegistry(), tracetest.NewSpanRecorder()
	provider := trace.NewTracerProvider(trace.WithSpanProcessor(spans))
	db := open(t, testenv.Milvus(t), milvus.WithMetrics(milvus.NewMetrics(registry)), milvus.WithTracing(provider))
	name := newCollection(t, db, 2)
	ctx, span := provider.Tracer("test").Start(t.Context(), "work")
	e := entry(uuid.New(), 1, 0)
	require.NoError(t, db.Upsert(ctx, name, []milvus.Entry{e, e}))
	_, err := db.Search(ctx, name, e.Workspace, e.Vector, milvus.Filter{}, 1)
	require.NoError(t, err)
	_, err = db.Count(ctx, "never_made")
	require.Error(t, err)
	span.End()

	var names []string
	for _, s := range spans.Ended() {
		names = append(names, s.Name())
		for _, a := range s.Attributes() {
			require.NotContains(t, a.Value.String(), name)
			require.NotContains(t, a.Value.String(), e.Workspace.String())
		}
	}
	require.Equal(t, []string{"upsert", "search", "count", "work"}, names)
	value := func(name string, labels map[string]string) float64 {
		t.Helper()
		families, err := registry.Gather()
		require.NoError(t, err)
		for _, family := range families {
			if family.GetName() != name {
				continue
			}
		metrics:
			for _, m := range family.GetMetric() {
				for _, l := range m.GetLabel() {
					if labels[l.GetName()] != l.GetValue() {
						continue metrics
					}
				}
				return m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
		t.Fatalf("no %s%v", name, labels)
		return 0
	}
	require.EqualValues(t, 1, value(
		"livegraph_milvus_operation_duration_seconds", map[string]string{"operation": "upsert"},
	))
	require.EqualValues(t, 1, value("livegraph_milvus_entries_total", map[string]string{"operation": "upsert"}))
	require.EqualValues(t, 1, value("livegraph_milvus_errors_total", map[string]string{
		"operation": "count", "kind": "missing",
	}))
	require.EqualValues(t, 0, value("livegraph_milvus_errors_total", map[string]string{
		"operation": "search", "kind": "unavailable",
	}))
}
