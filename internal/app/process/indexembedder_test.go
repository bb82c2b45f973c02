package process

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/stores"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

// index is a fake of the index and the embedder of an indexEmbedder. It counts calls.
type index struct {
	model                    embed.Model
	unavailable, broken      bool
	starts, stops, forgotten int
}

func (x *index) watch() *indexEmbedder {
	return &indexEmbedder{
		live: func(context.Context) (embed.Model, error) {
			if x.unavailable {
				return embed.Model{}, errors.New("Postgres is unavailable")
			}
			return x.model, nil
		},
		start: func(context.Context) (string, error) {
			x.starts++
			if x.broken {
				return "", errors.New("no Python")
			}
			return "http://:k@127.0.0.1:1/v1", nil
		},
		stop:         func(context.Context) error { x.stops++; return nil },
		closeClients: func() { x.forgotten++ },
		logger:       slog.New(slog.DiscardHandler), interval: time.Millisecond,
		at: new(atomic.Pointer[string]), polled: make(chan struct{}),
	}
}

func TestTheEmbeddedEmbedderRunsWhileTheIndexIsOfItsModel(t *testing.T) {
	x := &index{model: stores.EmbeddedModel}
	o := x.watch()
	for range 3 {
		o.poll(t.Context())
	}
	require.Equal(t, 1, x.starts, "it is started once")
	require.NotNil(t, o.at.Load())

	x.unavailable = true
	for range 3 {
		o.poll(t.Context())
	}
	require.Zero(t, x.stops, "the index cannot be read")
	x.unavailable, x.model = false, embed.NewStatic().Model()
	o.poll(t.Context())
	require.Zero(t, x.stops, "searches of the old index may still run")
	o.poll(t.Context())
	o.poll(t.Context())
	require.Equal(t, 1, x.stops)
	require.Equal(t, 1, x.forgotten, "another process may use its address from now on")
	require.Nil(t, o.at.Load())

	x.model = stores.EmbeddedModel // another process has built an index of this model again
	o.poll(t.Context())
	require.Equal(t, 2, x.starts)
}

func TestAnEmbedderThatDoesNotStartIsTriedOnceAMinute(t *testing.T) {
	x := &index{model: stores.EmbeddedModel, broken: true}
	o := x.watch()
	for range 3 {
		o.poll(t.Context())
	}
	require.Equal(t, 1, x.starts)
	require.Nil(t, o.at.Load())
	x.broken, o.retryAt = false, time.Time{}
	o.poll(t.Context())
	require.NotNil(t, o.at.Load())
}

func TestAProcessWaitsForTheFirstLookAlone(t *testing.T) {
	x := &index{model: stores.EmbeddedModel}
	o := x.watch()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- o.Run(ctx) }()
	o.await(t.Context())
	require.NotNil(t, o.at.Load())
	cancel()
	require.NoError(t, <-ended)
}

func TestOnlyAProcessThatEmbedsQueriesWhereTheEmbeddedOneHasRunWatchesTheIndex(t *testing.T) {
	static := embed.NewStatic().Model()
	api, index := &config.Config{Roles: []string{"api", "points"}}, &config.Config{Roles: []string{"embeddings"}}
	require.True(t, needsIndexEmbedder(api, static, true))
	require.True(t, needsIndexEmbedder(&config.Config{Roles: []string{"all"}}, static, true))
	require.False(t, needsIndexEmbedder(api, static, false), "the embedded embedder has never run here")
	require.False(t, needsIndexEmbedder(api, stores.EmbeddedModel, true), "the configured one is of that model")
	require.False(t, needsIndexEmbedder(index, static, true), "it embeds no query")
}
