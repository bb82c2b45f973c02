package main

import (
	"context"

	"github.com/livegraph/livegraph/internal/config"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/storage/redis"
)

// openClickHouse connects to the ClickHouse of the settings.
func openClickHouse(ctx context.Context, cfg *config.Config, more ...clickhouse.Option) (*clickhouse.DB, error) {
	files, err := cfg.ClickHouse.TLS.Client("clickhouse-tls")
	if err != nil {
		return nil, err
	}
	return clickhouse.Open(ctx, cfg.ClickHouse.URL.Reveal(), append(more, clickhouse.Verified(files))...)
}

// asksRedis makes a check that logs in to Redis and asks for a sign of life. TLS files
// that cannot be used are an error here.
func asksRedis(cfg config.Redis) (func(context.Context) error, error) {
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

// asksMilvus is the same for Milvus.
func asksMilvus(cfg config.Milvus) (func(context.Context) error, error) {
	files, err := cfg.TLS.Client("milvus-tls")
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		db, err := milvus.Open(ctx, milvus.Options{Address: cfg.Address, Token: cfg.Token.Reveal(), TLS: files})
		if err != nil {
			return err
		}
		return db.Close()
	}, nil
}
