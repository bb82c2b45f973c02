package main

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

const (
	// oldModelCheck is how often it is looked of which model the index is.
	oldModelCheck = 10 * time.Second
	// oldModelRetry is when an embedder that did not start is started again.
	oldModelRetry = time.Minute
	// oldModelStart is how long a process that begins waits for that embedder before it
	// answers requests; searches go without vectors from there to its start.
	oldModelStart = 15 * time.Second
)

// embeddedModel is that of the embedded embedder.
var embeddedModel = embed.Model{Name: embedded.EmbedderModel, Dimensions: embedded.EmbedderDimensions}

// oldModel has the embedded embedder run for as long as the index that is searched is of
// its model and another embedder is configured, so that queries are embedded by it until
// an index of the configured model takes that one's place.
type oldModel struct {
	live   func(context.Context) (embed.Model, error) // that of the index that is searched
	start  func(context.Context) (at string, _ error) // of the embedder
	stop   func(context.Context) error                // likewise
	forget func()                                     // its address
	logger *slog.Logger
	check  time.Duration

	at       *atomic.Pointer[string] // where it runs; nil: it does not
	unneeded bool                    // when it was looked the last time
	retry    time.Time
	looked   chan struct{} // closed when it has been looked once
	once     sync.Once
}

// wantsOldModel reports whether this process may have to start the embedded embedder for
// the sake of an index: it embeds queries, by another, and the embedded one has run here
// before. An installation on servers that has never started any is not to begin with it.
func wantsOldModel(cfg *config.Config, current embed.Model, had bool) bool {
	return cfg.Has("api") && current != embeddedModel && had
}

// watchOldModel has the process keep the embedded embedder if an index needs it.
func (p *process) watchOldModel(engines *embedded.Engines) {
	if p.queries == nil || !wantsOldModel(p.cfg, p.queries.Model(), engines.HadEmbedder()) {
		return
	}
	p.oldModel = &oldModel{
		live: func(ctx context.Context) (embed.Model, error) {
			index, err := p.postgres.LiveIndex(ctx)
			return index.Model, err
		},
		start: func(ctx context.Context) (string, error) {
			return engines.StartEmbedder(ctx, embedded.EmbedderSettings{Threads: p.cfg.Embedder.Threads})
		},
		stop: engines.StopEmbedder, forget: p.queries.Close, logger: p.logger,
		check: oldModelCheck, at: p.embeddedAt, looked: make(chan struct{}),
	}
}

// Run looks until ctx is done. What runs then ends with the other engines.
func (o *oldModel) Run(ctx context.Context) error {
	tick := time.NewTicker(o.check)
	defer tick.Stop()
	for {
		o.look(ctx)
		o.once.Do(func() { close(o.looked) })
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// await waits for the first look, and for the embedder if it starts one, but not long.
// Without an oldModel there is nothing to wait for.
func (o *oldModel) await(ctx context.Context) {
	if o == nil {
		return
	}
	select {
	case <-o.looked:
	case <-ctx.Done():
	case <-time.After(oldModelStart):
	}
}

// look starts the embedder if the index is of its model, and stops it if that was so and
// is so no longer since the last look: searches that had found the old index have ended
// by then. While nothing is known of the index all stays as it is.
func (o *oldModel) look(ctx context.Context) {
	model, err := o.live(ctx)
	if err != nil {
		return
	}
	needed, running := model == embeddedModel, o.at.Load() != nil
	switch {
	case needed && !running && !time.Now().Before(o.retry):
		at, err := o.start(ctx)
		if err != nil {
			if ctx.Err() == nil {
				o.logger.Warn("the embedder of the search index's model does not start; searches go by words until an index "+
					"of the configured model is complete", "model", model.String(), "error", err)
			}
			o.retry = time.Now().Add(oldModelRetry)
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
