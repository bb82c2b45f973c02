package points

import (
	"context"
	"log/slog"
	"sync"

	"github.com/livegraph/livegraph/internal/platform/outage"
	"github.com/livegraph/livegraph/storage/clickhouse"
)

// rollupWriter stores rollups in the background. No batch waits for them, because they are no part of what it
// makes visible: passes compute those that are not stored. At most one insert runs at a time.
type rollupWriter struct {
	insert  func(context.Context, *clickhouse.Rollups) error
	logger  *slog.Logger
	outage  outage.Log
	running chan struct{}      // has an element while an insert runs
	cancel  context.CancelFunc // of the last insert; nil: there was none
	inserts sync.WaitGroup
}

func newRollupWriter(insert func(context.Context, *clickhouse.Rollups) error, logger *slog.Logger) *rollupWriter {
	return &rollupWriter{
		insert: insert, logger: logger, running: make(chan struct{}, 1),
		outage: outage.Log{
			Failed:    "rollups cannot be stored with points; passes compute them",
			Recovered: "rollups are stored with points again",
		},
	}
}

// store stores rollups. It waits for the insert before, so that rows do not accumulate where ClickHouse is slow.
// When ctx is done meanwhile, it drops them. It must not be called after close.
func (w *rollupWriter) store(ctx context.Context, r *clickhouse.Rollups) {
	select {
	case w.running <- struct{}{}:
	case <-ctx.Done():
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // the batch may end before
	w.cancel = cancel
	w.inserts.Go(func() {
		defer func() { <-w.running }()
		defer cancel()
		w.outage.Note(ctx, w.logger, w.insert(ctx, r))
	})
}

// close ends the insert that is running. It must be called once, after the last batch. A nil writer has none.
func (w *rollupWriter) close() {
	if w == nil || w.cancel == nil {
		return
	}
	w.cancel()
	w.inserts.Wait()
}
