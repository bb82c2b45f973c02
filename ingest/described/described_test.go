package described_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/ingest/described"
	"github.com/livegraph/livegraph/internal/metricmetadata"
)

// written records what is stored.
type written struct {
	mu    sync.Mutex
	calls [][]metricmetadata.OfWorkspace
	err   error
}

func (w *written) PutMetricMetadata(_ context.Context, list []metricmetadata.OfWorkspace) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	w.calls = append(w.calls, list)
	return nil
}

func (w *written) take() (list []metricmetadata.OfWorkspace) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, call := range w.calls {
		list = append(list, call...)
	}
	w.calls = nil
	return list
}

func (w *written) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
}

// run calls test with a running Writer. Time passes as fast as nothing happens.
func run(t *testing.T, test func(w *described.Writer, store *written)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := &written{}
		w := described.New(store, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = w.Run(ctx) }()
		test(w, store)
		cancel()
		synctest.Wait()
	})
}

var (
	workspace = uuid.MustParse("0198a1b2-0000-7000-8000-000000000001")
	counter   = metricmetadata.Metadata{Metric: "requests", Type: "counter", Help: "Total."}
)

func TestMetadataIsWrittenOnceUntilItChanges(t *testing.T) {
	run(t, func(w *described.Writer, store *written) {
		put := func(ws uuid.UUID, list ...metricmetadata.Metadata) []metricmetadata.OfWorkspace {
			w.Put(ws, list)
			time.Sleep(2 * time.Second)
			return store.take()
		}
		first := metricmetadata.OfWorkspace{Workspace: workspace, Metadata: counter}
		require.Equal(t, []metricmetadata.OfWorkspace{first}, put(workspace, counter, counter))
		require.Empty(t, put(workspace, counter))
		changed := counter
		changed.Help = "Total number."
		require.Empty(t, put(workspace, changed), "a change waits for a minute")
		time.Sleep(time.Minute)
		require.Len(t, put(workspace, changed), 1)
		require.Empty(t, put(workspace, changed))
		require.Len(t, put(uuid.New(), changed), 1, "another workspace's")
		time.Sleep(time.Hour)
		require.Len(t, put(workspace, changed), 1, "the database may have been restored")
	})
}

func TestMetadataIsWrittenAgainAfterAFailure(t *testing.T) {
	run(t, func(w *described.Writer, store *written) {
		store.fail(errors.New("no database"))
		w.Put(workspace, []metricmetadata.Metadata{counter})
		time.Sleep(2 * time.Second)
		store.fail(nil)
		time.Sleep(2 * time.Second)
		require.Empty(t, store.take(), "the client sends it again")
		w.Put(workspace, []metricmetadata.Metadata{counter})
		time.Sleep(2 * time.Second)
		require.Len(t, store.take(), 1)
	})
}

func TestHostileMetadataIsBounded(t *testing.T) {
	run(t, func(w *described.Writer, store *written) {
		body := []byte("a view into a body")
		w.Put(workspace, []metricmetadata.Metadata{
			{Metric: ""}, {Metric: "\xff"}, {Metric: "a\x00b"}, {Metric: strings.Repeat("x", 257)},
			{Metric: "long", Type: "gauge", Help: strings.Repeat("é", 1000), Unit: strings.Repeat("s", 100)},
			{Metric: "odd", Type: "gauge", Help: "a\xff\x00b"}, {Metric: string(body), Type: "gauge"},
		})
		time.Sleep(2 * time.Second)
		found := map[string]metricmetadata.Metadata{}
		for _, m := range store.take() {
			found[m.Metric] = m.Metadata
		}
		require.Len(t, found, 3)
		require.Equal(t, strings.Repeat("é", 512), found["long"].Help)
		require.Len(t, found["long"].Unit, 64)
		require.Equal(t, "a\ufffdb", found["odd"].Help)
		w.Put(workspace, []metricmetadata.Metadata{
			{Metric: "long", Type: "gauge", Help: strings.Repeat("é", 1000), Unit: strings.Repeat("s", 100)},
			{Metric: "odd", Type: "gauge", Help: "a\xff\x00b"},
		})
		time.Sleep(2 * time.Second)
		require.Empty(t, store.take(), "they are stored already, although not as they were sent")

		var many []metricmetadata.Metadata
		for i := range 12_000 {
			many = append(many, metricmetadata.Metadata{Metric: fmt.Sprint("m", i), Type: "gauge"})
		}
		w.Put(workspace, many)
		time.Sleep(time.Minute)
		store.mu.Lock()
		for _, call := range store.calls {
			require.LessOrEqual(t, len(call), 1000)
		}
		store.mu.Unlock()
		require.Len(t, store.take(), 10_000, "the others were dropped")
		w.Put(workspace, many)
		time.Sleep(time.Minute)
		require.Len(t, store.take(), 2000, "and are written when they are sent again")
	})
}
