package process

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/stores"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

var (
	minilm = embed.Model{Name: "all-MiniLM-L6-v2", Dimensions: 384}
	other  = embed.Model{Name: "multilingual-e5-small", Dimensions: 384}
)

// index is a fake of the index and the embedder of an indexEmbedder. It counts calls.
type index struct {
	model                    embed.Model
	started                  string // the model
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
		models: []embed.Model{minilm, other},
		start: func(_ context.Context, model string) (string, error) {
			x.starts, x.started = x.starts+1, model
			if x.broken {
				return "", errors.New("no Python")
			}
			return "http://:k@127.0.0.1:1/v1", nil
		},
		stop:         func(context.Context, string) error { x.stops++; return nil },
		closeClients: func() { x.forgotten++ },
		logger:       slog.New(slog.DiscardHandler), interval: time.Millisecond,
		running: new(atomic.Pointer[stores.RunningEmbedder]), polled: make(chan struct{}),
	}
}

func TestTheEmbeddedEmbedderRunsWhileTheIndexIsOfItsModel(t *testing.T) {
	x := &index{model: minilm}
	o := x.watch()
	for range 3 {
		o.poll(t.Context())
	}
	require.Equal(t, 1, x.starts, "it is started once")
	require.NotNil(t, o.running.Load())

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
	require.Nil(t, o.running.Load())

	x.model = minilm // another process has built an index of this model again
	o.poll(t.Context())
	require.Equal(t, 2, x.starts)
}

func TestAnEmbedderThatDoesNotStartIsTriedOnceAMinute(t *testing.T) {
	x := &index{model: minilm, broken: true}
	o := x.watch()
	for range 3 {
		o.poll(t.Context())
	}
	require.Equal(t, 1, x.starts)
	require.Nil(t, o.running.Load())
	x.broken, o.retryAt = false, time.Time{}
	o.poll(t.Context())
	require.NotNil(t, o.running.Load())
}

func TestAProcessWaitsForTheFirstLookAlone(t *testing.T) {
	x := &index{model: minilm}
	o := x.watch()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- o.Run(ctx) }()
	o.await(t.Context())
	require.NotNil(t, o.running.Load())
	cancel()
	require.NoError(t, <-ended)
}

func TestTheEmbedderOfAnotherIndexReplacesTheRunningOne(t *testing.T) {
	x := &index{model: minilm}
	o := x.watch()
	o.poll(t.Context())
	require.Equal(t, minilm.Name, x.started)
	x.model = other
	o.poll(t.Context())
	require.Equal(t, minilm.Name, o.running.Load().Model.Name, "searches of the old index may still run")
	o.poll(t.Context())
	require.Equal(t, 1, x.stops)
	require.Equal(t, other.Name, x.started)
	require.Equal(t, "query: ", o.running.Load().Model.QueryPrefix)
}

func TestTheConfiguredModelIsNotStartedASecondTime(t *testing.T) {
	x := &index{model: minilm}
	o := x.watch()
	o.models = []embed.Model{other}
	o.poll(t.Context())
	require.Zero(t, x.starts)
	x.model = embed.Model{Name: other.Name, Dimensions: 1024}
	o.poll(t.Context())
	require.Zero(t, x.starts, "an API has another model of the name")
}

func TestOnlyAProcessThatEmbedsQueriesWhereAnEmbeddedModelHasRunWatchesTheIndex(t *testing.T) {
	static := embed.NewStatic().Model()
	api, index := &config.Config{Roles: []string{"api", "points"}}, &config.Config{Roles: []string{"embeddings"}}
	ran := func(names ...string) func(string) bool {
		return func(model string) bool { return slices.Contains(names, model) }
	}
	require.Equal(t, []embed.Model{minilm}, indexModels(api, static, ran(minilm.Name)))
	all := &config.Config{Roles: []string{"all"}}
	require.Equal(t, []embed.Model{minilm, other}, indexModels(all, static, ran(other.Name, minilm.Name)))
	require.Empty(t, indexModels(api, static, ran()), "no embedded model has ever run here")
	require.Empty(t, indexModels(api, minilm, ran(minilm.Name)), "it is the configured one")
	require.Equal(t, []embed.Model{other}, indexModels(api, minilm, ran(minilm.Name, other.Name)))
	require.Empty(t, indexModels(index, static, ran(minilm.Name)), "it embeds no query")
}
