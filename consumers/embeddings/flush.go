package embeddings

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/milvus"
)

// flushInterval is the interval at which the flusher checks for collections to flush.
const flushInterval = time.Second

// flusher flushes collections after writes, for versions of Milvus that scan unflushed rows
// (config.MilvusCapabilities).
type flusher struct {
	vectors *milvus.DB
	enabled bool
	maxRows int
	maxAge  time.Duration
	logger  *slog.Logger

	mu      sync.Mutex
	written map[string]*unflushed // by collection
}

// unflushed contains the rows written to a collection since its last flush.
type unflushed struct {
	rows  int
	since time.Time
}

func newFlusher(vectors *milvus.DB, cfg Config, logger *slog.Logger) *flusher {
	return &flusher{
		vectors: vectors, enabled: cfg.Flush, maxRows: cfg.FlushRows, maxAge: cfg.FlushAfter, logger: logger,
		written: map[string]*unflushed{},
	}
}

// addRows records that rows were written to a collection.
func (f *flusher) addRows(collection string, rows int) {
	if rows == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	u := f.written[collection]
	if u == nil {
		u = &unflushed{since: time.Now()}
		f.written[collection] = u
	}
	u.rows += rows
}

// popDue removes and returns the collections that are due for a flush.
func (f *flusher) popDue() (collections []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, u := range f.written {
		if u.rows >= f.maxRows || time.Since(u.since) >= f.maxAge {
			collections = append(collections, name)
			delete(f.written, name)
		}
	}
	return collections
}

// run flushes until ctx is done.
func (f *flusher) run(ctx context.Context) {
	for sleep.For(ctx, flushInterval) {
		for _, name := range f.popDue() {
			if err := f.flush(ctx, name); err != nil && ctx.Err() == nil {
				f.logger.Debug(
					"a collection could not be flushed; it will be with what is written next", "collection", name, "error", err,
				)
			}
		}
	}
}

func (f *flusher) flush(ctx context.Context, collection string) error {
	if !f.enabled {
		return nil
	}
	return f.vectors.Flush(ctx, collection)
}
