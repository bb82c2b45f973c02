package process

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/livegraph/livegraph/internal/app/stores"
	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

const (
	// indexModelInterval is the interval at which the model of the index is polled.
	indexModelInterval = 10 * time.Second
	// embedderRetryInterval is the time between two attempts to start the embedder.
	embedderRetryInterval = time.Minute
	// embedderStartTimeout bounds how long a starting process waits for the embedder before
	// it answers requests. After the timeout, searches use no vectors until it has started.
	embedderStartTimeout = 15 * time.Second
)

// indexEmbedder runs an embedded embedder while the live index was built with its model
// and another embedder is configured. Queries are embedded with that model until an index
// of the configured model replaces the live one.
type indexEmbedder struct {
	live         func(context.Context) (embed.Model, error)                   // returns the model of the live index
	models       []embed.Model                                                // that may have to run
	start        func(ctx context.Context, model string) (at string, _ error) // starts the embedder and returns its URL
	stop         func(ctx context.Context, model string) error                // stops the embedder
	closeClients func()                                                       // drops clients of the stopped embedder
	logger       *slog.Logger
	interval     time.Duration

	running     *atomic.Pointer[stores.RunningEmbedder] // nil: none does
	wasUnneeded bool                                    // the last poll found that no index needs the running embedder
	retryAt     time.Time
	polled      chan struct{} // closed after the first poll
	once        sync.Once
}

// indexModels returns the embedded models that this process may have to start for an index:
// the process embeds queries with another embedder, and they have run here before. An
// installation that uses only external engines must not start one.
func indexModels(cfg *config.Config, current embed.Model, ranBefore func(model string) bool) (list []embed.Model) {
	if !cfg.Has("api") {
		return nil
	}
	for _, m := range config.EmbeddedModels {
		if model := (embed.Model{Name: m.Name, Dimensions: m.Dimensions}); model != current && ranBefore(m.Name) {
			list = append(list, model)
		}
	}
	return list
}

// indexModels returns the embedded models that this process may have to start.
func (b *builder) indexModels() []embed.Model {
	if b.Queries == nil || b.Engines == nil {
		return nil
	}
	return indexModels(b.Config, b.Queries.Model(), b.Engines.HadEmbedder)
}

// addIndexEmbedder adds the component that runs the embedded embedder while an index needs
// it. The server waits for its first poll before it answers requests.
func (b *builder) addIndexEmbedder() error {
	o := &indexEmbedder{
		live: func(ctx context.Context) (embed.Model, error) {
			index, err := b.Postgres.LiveIndex(ctx)
			return index.Model, err
		},
		models: b.indexModels(),
		start: func(ctx context.Context, model string) (string, error) {
			return b.Engines.StartEmbedder(ctx, embedded.EmbedderSettings{Model: model, Threads: b.Config.Embedder.Threads})
		},
		stop: b.Engines.StopEmbedder, closeClients: b.Queries.Close, logger: b.Logger,
		interval: indexModelInterval, running: b.Beside, polled: make(chan struct{}),
	}
	b.add("index embedder", o.Run)
	serve := b.serve
	b.serve = func(ctx context.Context, listener net.Listener) error {
		o.await(ctx)
		return serve(ctx, listener)
	}
	return nil
}

// Run polls until ctx is done. It does not stop the embedder at the end, which is stopped
// with the other engines.
func (o *indexEmbedder) Run(ctx context.Context) error {
	tick := time.NewTicker(o.interval)
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

// await waits for the first poll, which may start the embedder, until embedderStartTimeout
// or the end of ctx.
func (o *indexEmbedder) await(ctx context.Context) {
	select {
	case <-o.polled:
	case <-ctx.Done():
	case <-time.After(embedderStartTimeout):
	}
}

// poll starts the embedder of the live index's model, if it is one of the models. It stops
// the running embedder when two polls in a row find an index of another model, so that
// searches of the old index have ended by then. It changes nothing if the index cannot be read.
func (o *indexEmbedder) poll(ctx context.Context) {
	index, err := o.live(ctx)
	if err != nil {
		return
	}
	running := o.running.Load()
	unneeded := running != nil && running.Model.Name != index.Name
	if unneeded && o.wasUnneeded {
		o.end(ctx, running.Model.Name)
	}
	o.wasUnneeded = unneeded
	if o.running.Load() == nil && slices.Contains(o.models, index) && !time.Now().Before(o.retryAt) {
		o.begin(ctx, index)
	}
}

// begin starts the embedder of the live index's model.
func (o *indexEmbedder) begin(ctx context.Context, index embed.Model) {
	model, _ := stores.FindEmbeddedModel(index)
	at, err := o.start(ctx, model.Name)
	if err != nil {
		if ctx.Err() == nil {
			o.logger.Warn("the embedder of the search index's model does not start; searches use only words until an "+
				"index of the configured model is complete", "model", index.String(), "error", err)
		}
		o.retryAt = time.Now().Add(embedderRetryInterval)
		return
	}
	o.running.Store(&stores.RunningEmbedder{URL: at, Model: model})
	o.logger.Info(
		"the model of the search index differs from that of the embedder; queries are embedded with the index's model "+
			"until a new index is complete",
		"model", index.String(),
	)
}

// end stops the running embedder.
func (o *indexEmbedder) end(ctx context.Context, model string) {
	o.running.Store(nil)
	o.closeClients()
	if err := o.stop(ctx, model); err != nil {
		o.logger.Warn("stopping the embedder of the previous search index", "error", err)
		return
	}
	o.logger.Info("the search index has another model; the embedder of the previous index has stopped")
}
