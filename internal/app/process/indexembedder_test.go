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

// index is what an indexEmbedder polls, and what it does.
type index struct {
	model                    embed.Model
	away, broken             bool
	starts, stops, forgotten int
}

func (x *index) watch() *indexEmbedder {
	return &indexEmbedder{
		live: func(context.Context) (embed.Model, error) {
			if x.away {
				return embed.Model{}, errors.New("Postgres is away")
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
		stop:   func(context.Context) error { x.stops++; return nil },
		forget: func() { x.forgotten++ },
		logger: slog.New(slog.DiscardHandler), check: time.Millisecond,
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

	x.away = true
	for range 3 {
		o.poll(t.Context())
	}
	require.Zero(t, x.stops, "nothing is known of the index")
	x.away, x.model = false, embed.NewStatic().Model()
	o.poll(t.Context())
	require.Zero(t, x.stops, "searches that found the old index are still under way")
	o.poll(t.Context())
	o.poll(t.Context())
	require.Equal(t, 1, x.stops)
	require.Equal(t, 1, x.forgotten, "its address is another's from now on")
	require.Nil(t, o.at.Load())

	x.model = stores.EmbeddedModel // an index of it has been made again, by another process
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
	x.broken, o.retry = false, time.Time{}
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
	require.True(t, wantsIndexEmbedder(api, static, true))
	require.True(t, wantsIndexEmbedder(&config.Config{Roles: []string{"all"}}, static, true))
	require.False(t, wantsIndexEmbedder(api, static, false), "an installation on servers begins with no engine of its own")
	require.False(t, wantsIndexEmbedder(api, stores.EmbeddedModel, true), "the configured one is of that model")
	require.False(t, wantsIndexEmbedder(index, static, true), "it embeds no query")
}
