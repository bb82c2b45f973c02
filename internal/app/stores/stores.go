// Package stores opens the configured stores and embedder, for the server and for the
// command line.
package stores

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval/chat"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
	"github.com/livegraph/livegraph/internal/retrieval/rerank"
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
	Keys       *stores.DB // separate connections, so that slow queries do not delay the check of a key
	Commands   *stores.DB // only for the commands consumer, so that reads do not delay commands
	Replica    *Replica   // nil: none is configured
	ClickHouse *clickhouse.DB
	Kafka      *kafka.Client
	Redis      *redis.DB
	Milvus     *milvus.DB // also nil without an address
	Embedders             // zero if no role needs an embedder and none is configured
	// Chat writes the texts of answers; nil: no chat model is configured, or no role needs it.
	Chat *chat.Client
	// Reranker orders results again; nil: none is configured, or no role needs it.
	Reranker *rerank.Client

	Installation access.Installation
}

// Close closes the open connections.
func (s *Stores) Close() {
	s.Embedders.Close()
	if s.Chat != nil {
		s.Chat.Close()
	}
	if s.Reranker != nil {
		s.Reranker.Close()
	}
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
	if s.Replica != nil {
		s.Replica.db.Close()
	}
	for _, db := range []*stores.DB{s.Keys, s.Commands, s.Postgres} {
		if db != nil {
			db.Close()
		}
	}
}

// OpenClickHouse connects to the configured ClickHouse.
func OpenClickHouse(ctx context.Context, cfg *config.Config, more ...clickhouse.Option) (*clickhouse.DB, error) {
	files, err := cfg.ClickHouse.TLS.Client("clickhouse-tls")
	if err != nil {
		return nil, err
	}
	more = append(more, clickhouse.WithTLS(files), clickhouse.WithCluster(cfg.ClickHouse.Cluster))
	return clickhouse.Open(ctx, cfg.ClickHouse.URL.Reveal(), more...)
}

// openEmbedder creates the configured embedder, which sends the prefix before each text. It returns nil if none is
// configured and none was started.
func openEmbedder(cfg config.Embedder, prefix string) (embed.Embedder, error) {
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
		URL: cfg.Address, Key: cfg.Key.Reveal(), Model: embed.Model{Name: cfg.Model, Dimensions: cfg.Dimensions},
		Prefix: prefix, AllowPrivateAddresses: cfg.AllowPrivateAddresses, Batch: cfg.Batch, Timeout: cfg.Timeout,
		Retries: cfg.Retries, TLS: files,
	})
}

// Embedders turn text into vectors: Embedder in batches in the background, Queries for
// searches that wait for the result.
type Embedders struct {
	Embedder      embed.Embedder // nil: none is configured and none was started
	Queries       *embed.Queries // nil likewise
	queryEmbedder embed.Embedder // used by Queries
	textsEmbedder embed.Embedder // used by Queries
	// Beside is the embedded embedder that runs beside the configured embedder, for an index
	// of its model; nil: none does.
	Beside *atomic.Pointer[RunningEmbedder]
}

// RunningEmbedder is an embedded embedder that runs.
type RunningEmbedder struct {
	URL   string // with its key
	Model config.EmbeddedModel
}

// OpenEmbedders creates the configured embedders.
func OpenEmbedders(cfg config.Embedder) (e Embedders, err error) {
	if e.Embedder, err = openEmbedder(cfg, cfg.PassagePrefix); err != nil || e.Embedder == nil {
		return e, err
	}
	e.queryEmbedder, e.textsEmbedder = e.Embedder, e.Embedder
	if cfg.Remote() {
		if e.queryEmbedder, err = openEmbedder(cfg.ForQueries(), cfg.QueryPrefix); err != nil {
			return e, err
		}
		if e.textsEmbedder, err = openEmbedder(cfg.ForTexts(), cfg.PassagePrefix); err != nil {
			return e, err
		}
	}
	beside := new(atomic.Pointer[RunningEmbedder])
	e.Beside = beside
	e.Queries = embed.NewQueries(embed.QueryOptions{
		Embedder: e.queryEmbedder, Texts: e.textsEmbedder, Timeout: cfg.QueryTimeout,
		Other: func(m embed.Model) (embed.Embedder, bool) {
			return previousEmbedder(cfg, beside.Load(), m)
		},
	})
	return e, nil
}

// previousEmbedder creates an embedder for the model of an index that was built before the
// settings changed: the static one of the binary, the one that is configured as the
// previous one, or the embedded one if it runs. It returns false if none has the model.
func previousEmbedder(cfg config.Embedder, beside *RunningEmbedder, model embed.Model) (embed.Embedder, bool) {
	if static := embed.NewStatic(); static.Model() == model {
		return static, true
	}
	previous := cfg.Previous()
	ofModel := func() bool {
		return previous.Remote() && embed.Model{Name: previous.Model, Dimensions: previous.Dimensions} == model
	}
	if !ofModel() && beside != nil {
		previous.UseEmbedded(beside.URL, beside.Model)
	}
	if !ofModel() {
		return nil, false
	}
	e, err := openEmbedder(previous.ForQueries(), previous.QueryPrefix)
	return e, err == nil
}

// Close closes the connections.
func (e *Embedders) Close() {
	if e.Queries != nil {
		e.Queries.Close()
		e.queryEmbedder.Close()
		e.textsEmbedder.Close()
	}
	if e.Embedder != nil {
		e.Embedder.Close()
	}
}

// OpenChat creates the client of the configured chat model. It returns nil if none is configured.
func OpenChat(cfg *config.Chat) (*chat.Client, error) {
	if !cfg.Enabled() {
		return nil, nil
	}
	files, err := cfg.TLS.Client("chat-tls")
	if err != nil {
		return nil, err
	}
	return chat.New(chat.Options{
		URL: cfg.URL, Key: cfg.Key.Reveal(), Model: cfg.Model, AllowPrivateAddresses: cfg.AllowPrivateAddresses,
		Timeout: cfg.Timeout, IdleTimeout: cfg.IdleTimeout, MaxTokens: cfg.MaxTokens, Concurrency: cfg.Concurrency,
		Retries: cfg.Retries, TLS: files,
	})
}

// OpenReranker creates the client of the configured reranker. It returns nil if none is configured.
func OpenReranker(cfg *config.Rerank) (*rerank.Client, error) {
	if !cfg.Enabled() {
		return nil, nil
	}
	files, err := cfg.TLS.Client("rerank-tls")
	if err != nil {
		return nil, err
	}
	return rerank.New(rerank.Options{
		URL: cfg.URL, Key: cfg.Key.Reveal(), Model: cfg.Model, AllowPrivateAddresses: cfg.AllowPrivateAddresses,
		Timeout: cfg.Timeout, Concurrency: cfg.Concurrency, TLS: files,
	})
}

// RedisCheck returns a function that logs in to Redis and pings it, in a Cluster each primary. It
// returns an error if the TLS files cannot be used.
func RedisCheck(cfg config.Redis) (func(context.Context) error, error) {
	options, err := redisOptions(cfg)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		db, err := openRedis(ctx, options)
		if err != nil {
			return err
		}
		return errors.Join(db.Ping(ctx), db.Close())
	}, nil
}

// OpenMilvus creates a client of the configured Milvus, or returns nil without an address.
// The client connects at first use, because only search needs it.
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

// OpenRedis connects to the configured Redis.
func OpenRedis(ctx context.Context, cfg *config.Config) (*redis.DB, error) {
	options, err := redisOptions(cfg.Redis)
	if err != nil {
		return nil, err
	}
	return openRedis(ctx, options)
}

// openRedis connects to Redis. Its error for a URL that is not valid names the setting.
func openRedis(ctx context.Context, options redis.Options) (*redis.DB, error) {
	db, err := redis.Open(ctx, options)
	if fault.Is(err, fault.Invalid) {
		err = fmt.Errorf("--redis-url: %w", err)
	}
	return db, err
}

// redisOptions returns the options of connections to the configured Redis.
func redisOptions(cfg config.Redis) (redis.Options, error) {
	files, err := cfg.TLS.Client("redis-tls")
	return redis.Options{
		URL: cfg.URL.Reveal(), TLS: files,
		SentinelUsername: cfg.Sentinel.Username, SentinelPassword: cfg.Sentinel.Password.Reveal(),
	}, err
}

// FindEmbeddedModel returns the embedded model of an index. It returns false if the model is another one.
func FindEmbeddedModel(index embed.Model) (config.EmbeddedModel, bool) {
	if index.Name == "" {
		return config.EmbeddedModel{}, false
	}
	m, ok := config.FindEmbeddedModel(index.Name)
	return m, ok && m.Dimensions == index.Dimensions
}
