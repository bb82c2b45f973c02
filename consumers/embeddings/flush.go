package embeddings

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/milvus"
)

// flushLook is how often it is looked whether something is to be flushed.
const flushLook = time.Second

// flusher has what was written flushed, where Milvus scans what is not
// (config.MilvusCapabilities).
type flusher struct {
	vectors *milvus.DB
	enabled bool
	rows    int
	after   time.Duration
	logger  *slog.Logger

	mu      sync.Mutex
	written map[string]*unflushed // by collection
}

// unflushed is what was written to a collection since it was flushed.
type unflushed struct {
	rows  int
	since time.Time
}

func newFlusher(vectors *milvus.DB, cfg Config, logger *slog.Logger) *flusher {
	return &flusher{
		vectors: vectors, enabled: cfg.Flush, rows: cfg.FlushRows, after: cfg.FlushAfter, logger: logger,
		written: map[string]*unflushed{},
	}
}

// wrote reports that rows were written to a collection.
func (f *flusher) wrote(collection string, rows int) {
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

// due takes the collections that are to be flushed.
func (f *flusher) due() (collections []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, u := range f.written {
		if u.rows >= f.rows || time.Since(u.since) >= f.after {
			collections = append(collections, name)
			delete(f.written, name)
		}
	}
	return collections
}

// run flushes until ctx is done.
func (f *flusher) run(ctx context.Context) {
	for sleep.For(ctx, flushLook) {
		for _, name := range f.due() {
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
