// Package stores opens the stores and the embedder by the settings, for the server and for
// the command line.
package stores

import (
	"context"
	"sync/atomic"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/storage/redis"
)

// Stores are open connections. Those that are not needed are nil.
type Stores struct {
	Postgres   *stores.DB
	Keys       *stores.DB // their own connections: slow work elsewhere must not hold up a key's check
	Commands   *stores.DB // of the commands consumer alone: reads must not hold up commands
	ClickHouse *clickhouse.DB
	Kafka      *kafka.Client
	Redis      *redis.DB
	Milvus     *milvus.DB // nil, too, without an address
	Embedders             // none, if no role needs one and none is configured

	Installation access.Installation
}

// Close closes what is open.
func (s *Stores) Close() {
	s.Embedders.Close()
	if s.Kafka != nil {
		s.Kafka.Close()
	}
	if s.ClickHouse != nil {
		_ = s.ClickHouse.Close()
	}
	if s.Redis != nil {
		_ = s.Redis.Close()
	}
	if s.Milvus != nil {
		_ = s.Milvus.Close()
	}
	for _, db := range []*stores.DB{s.Keys, s.Commands, s.Postgres} {
		if db != nil {
			db.Close()
		}
	}
}

// OpenClickHouse connects to the ClickHouse of the settings.
func OpenClickHouse(ctx context.Context, cfg *config.Config, more ...clickhouse.Option) (*clickhouse.DB, error) {
	files, err := cfg.ClickHouse.TLS.Client("clickhouse-tls")
	if err != nil {
		return nil, err
	}
	return clickhouse.Open(ctx, cfg.ClickHouse.URL.Reveal(), append(more, clickhouse.Verified(files))...)
}

// openEmbedder makes what turns texts into vectors by the settings; nil when none is
// configured and none was started.
func openEmbedder(cfg config.Embedder) (embed.Embedder, error) {
	switch {
	case cfg.Static():
		return embed.NewStatic(), nil
	case !cfg.Remote():
		return nil, nil
	}
	files, err := cfg.TLS.Client("embedder-tls")
	if err != nil {
		return nil, err
	}
	return embed.NewRemote(embed.Options{
		URL: cfg.At, Key: cfg.Key.Reveal(), Model: embed.Model{Name: cfg.Model, Dimensions: cfg.Dimensions},
		AllowPrivateAddresses: cfg.AllowPrivateAddresses, Batch: cfg.Batch, Timeout: cfg.Timeout, Retries: cfg.Retries,
		TLS: files,
	})
}

// Embedders are the ways to turn text into vectors: in batches, which nobody waits for,
// and queries, which somebody does.
type Embedders struct {
	Embedder embed.Embedder // nil: none is configured and none was started
	Queries  *embed.Queries // nil likewise
	asked    embed.Embedder // by queries
	// EmbeddedAt is where the embedded embedder runs for the sake of an index of its
	// model, beside the configured one.
	EmbeddedAt *atomic.Pointer[string]
}

// OpenEmbedders makes them by the settings.
func OpenEmbedders(cfg config.Embedder) (e Embedders, err error) {
	if e.Embedder, err = openEmbedder(cfg); err != nil || e.Embedder == nil {
		return e, err
	}
	e.asked = e.Embedder
	if cfg.Remote() {
		if e.asked, err = openEmbedder(cfg.ForQueries()); err != nil {
			return e, err
		}
	}
	embeddedAt := new(atomic.Pointer[string])
	e.EmbeddedAt = embeddedAt
	e.Queries = embed.NewQueries(
		embed.QueryOptions{Embedder: e.asked, Timeout: cfg.QueryTimeout, Other: func(m embed.Model) (embed.Embedder, bool) {
			return previousEmbedder(cfg, embeddedAt.Load(), m)
		}},
	)
	return e, nil
}

// previousEmbedder makes an embedder of the model that an index is of which was made
// before the settings changed: the one inside the binary, the one that the settings name
// as the previous one, or the embedded one, if it runs.
func previousEmbedder(cfg config.Embedder, embeddedAt *string, model embed.Model) (embed.Embedder, bool) {
	if static := embed.NewStatic(); static.Model() == model {
		return static, true
	}
	previous := cfg.Previous()
	ofModel := func() bool {
		return previous.Remote() && embed.Model{Name: previous.Model, Dimensions: previous.Dimensions} == model
	}
	if !ofModel() && embeddedAt != nil {
		previous.UseEmbedded(*embeddedAt, embedded.EmbedderModel, embedded.EmbedderDimensions)
	}
	if !ofModel() {
		return nil, false
	}
	e, err := openEmbedder(previous.ForQueries())
	return e, err == nil
}

// Close lets go of the connections.
func (e *Embedders) Close() {
	if e.Queries != nil {
		e.Queries.Close()
		e.asked.Close()
	}
	if e.Embedder != nil {
		e.Embedder.Close()
	}
}

// RedisCheck makes a check that logs in to Redis and asks for a sign of life. TLS files
// that cannot be used are an error here.
func RedisCheck(cfg config.Redis) (func(context.Context) error, error) {
	files, err := cfg.TLS.Client("redis-tls")
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		db, err := redis.Open(ctx, redis.Options{URL: cfg.URL.Reveal(), TLS: files})
		if err != nil {
			return err
		}
		return db.Close()
	}, nil
}

// OpenMilvus makes the connection to Milvus of the settings, which is made when it is
// first used: nothing but search needs it. It is nil without an address.
func OpenMilvus(cfg config.Milvus, options ...milvus.Option) (*milvus.DB, error) {
	if cfg.Address == "" {
		return nil, nil
	}
	files, err := cfg.TLS.Client("milvus-tls")
	if err != nil {
		return nil, err
	}
	return milvus.New(milvus.Options{Address: cfg.Address, Token: cfg.Token.Reveal(), TLS: files}, options...)
}

// OpenRedis connects to the Redis of the settings.
func OpenRedis(ctx context.Context, cfg *config.Config) (*redis.DB, error) {
	files, err := cfg.Redis.TLS.Client("redis-tls")
	if err != nil {
		return nil, err
	}
	return redis.Open(ctx, redis.Options{URL: cfg.Redis.URL.Reveal(), TLS: files})
}

// EmbeddedModel is that of the embedded embedder.
var EmbeddedModel = embed.Model{Name: embedded.EmbedderModel, Dimensions: embedded.EmbedderDimensions}
