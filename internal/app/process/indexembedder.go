package process

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/livegraph/livegraph/internal/app/stores"
	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

const (
	// indexModelInterval is how often the model of the index is polled.
	indexModelInterval = 10 * time.Second
	// embedderRetryInterval is when an embedder that did not start is started again.
	embedderRetryInterval = time.Minute
	// embedderStartTimeout is how long a process that begins waits for that embedder before it
	// answers requests; searches go without vectors from there to its start.
	embedderStartTimeout = 15 * time.Second
)

// indexEmbedder has the embedded embedder run for as long as the index that is searched is of
// its model and another embedder is configured, so that queries are embedded by it until
// an index of the configured model takes that one's place.
type indexEmbedder struct {
	live   func(context.Context) (embed.Model, error) // that of the index that is searched
	start  func(context.Context) (at string, _ error) // of the embedder
	stop   func(context.Context) error                // likewise
	forget func()                                     // its address
	logger *slog.Logger
	check  time.Duration

	at       *atomic.Pointer[string] // where it runs; nil: it does not
	unneeded bool                    // at the last poll
	retry    time.Time
	polled   chan struct{} // closed after the first poll
	once     sync.Once
}

// wantsIndexEmbedder reports whether this process may have to start the embedded embedder for
// the sake of an index: it embeds queries, by another, and the embedded one has run here
// before. An installation on servers that has never started any is not to begin with it.
func wantsIndexEmbedder(cfg *config.Config, current embed.Model, had bool) bool {
	return cfg.Has("api") && current != stores.EmbeddedModel && had
}

// wantsIndexEmbedder reports whether this process may have to start the embedded embedder.
func (b *builder) wantsIndexEmbedder() bool {
	return b.Queries != nil && b.Engines != nil &&
		wantsIndexEmbedder(b.Config, b.Queries.Model(), b.Engines.HadEmbedder())
}

// addIndexEmbedder has the process keep the embedded embedder while an index needs it. The
// server waits for it before it answers requests.
func (b *builder) addIndexEmbedder() error {
	o := &indexEmbedder{
		live: func(ctx context.Context) (embed.Model, error) {
			index, err := b.Postgres.LiveIndex(ctx)
			return index.Model, err
		},
		start: func(ctx context.Context) (string, error) {
			return b.Engines.StartEmbedder(ctx, embedded.EmbedderSettings{Threads: b.Config.Embedder.Threads})
		},
		stop: b.Engines.StopEmbedder, forget: b.Queries.Close, logger: b.Logger,
		check: indexModelInterval, at: b.EmbeddedAt, polled: make(chan struct{}),
	}
	b.add("index embedder", o.Run)
	serve := b.serve
	b.serve = func(ctx context.Context, listener net.Listener) error {
		o.await(ctx)
		return serve(ctx, listener)
	}
	return nil
}

// Run polls until ctx is done. What runs then ends with the other engines.
func (o *indexEmbedder) Run(ctx context.Context) error {
	tick := time.NewTicker(o.check)
	defer tick.Stop()
	for {
		o.poll(ctx)
		o.once.Do(func() { close(o.polled) })
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// await waits for the first poll, and for the embedder if that starts one, but not long.
func (o *indexEmbedder) await(ctx context.Context) {
	select {
	case <-o.polled:
	case <-ctx.Done():
	case <-time.After(embedderStartTimeout):
	}
}

// poll starts the embedder if the index is of its model, and stops it if that was so and
// is so no longer since the last poll: searches that had found the old index have ended
// by then. While nothing is known of the index all stays as it is.
func (o *indexEmbedder) poll(ctx context.Context) {
	model, err := o.live(ctx)
	if err != nil {
		return
	}
	needed, running := model == stores.EmbeddedModel, o.at.Load() != nil
	switch {
	case needed && !running && !time.Now().Before(o.retry):
		at, err := o.start(ctx)
		if err != nil {
			if ctx.Err() == nil {
				o.logger.Warn("the embedder of the search index's model does not start; searches go by words until an index "+
					"of the configured model is complete", "model", model.String(), "error", err)
			}
			o.retry = time.Now().Add(embedderRetryInterval)
			return
		}
		o.at.Store(&at)
		o.logger.Info(
			"the search index is of another model than the embedder; queries are embedded by that model until a new index is "+
				"complete",
			"model", model.String(),
		)
	case !needed && running && o.unneeded:
		o.at.Store(nil)
		o.forget()
		if err := o.stop(ctx); err != nil {
			o.logger.Warn("stopping the embedder of the index of before", "error", err)
			return
		}
		o.logger.Info("the search index is of the embedder's model; the embedder of the one of before has ended")
	}
	o.unneeded = !needed
}
