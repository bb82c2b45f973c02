package process

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/livegraph/livegraph/consumers/commands"
	"github.com/livegraph/livegraph/consumers/points"
	"github.com/livegraph/livegraph/internal/app/stores"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/kafka/secure"
	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/replica"
	pgstores "github.com/livegraph/livegraph/storage/postgres/stores"
)

// open opens the stores and migrates their schemas.
func (b *builder) open(ctx context.Context) (err error) {
	if b.Embedders, err = stores.OpenEmbedders(b.Config.Embedder); err != nil {
		return err
	}
	if b.Config.Has("api") {
		if b.Chat, err = stores.OpenChat(&b.Config.Chat); err != nil {
			return err
		}
		if b.Reranker, err = stores.OpenReranker(&b.Config.Rerank); err != nil {
			return err
		}
	}
	points := clickhouse.NewMetrics(b.Metrics)
	if err := b.openPostgres(ctx); err != nil {
		return err
	}
	if b.Installation, err = b.Postgres.Installation(ctx); err != nil {
		return err
	}
	err = b.await(ctx, "ClickHouse", func(ctx context.Context) error {
		if b.ClickHouse, err = stores.OpenClickHouse(
			ctx, b.Config, clickhouse.WithMetrics(points), clickhouse.WithTracing(b.Tracing),
		); err != nil {
			return err
		}
		return b.ClickHouse.Migrate(ctx)
	})
	if err != nil {
		return err
	}
	if err := b.openRedis(ctx); err != nil {
		return err
	}
	if b.Milvus, err = stores.OpenMilvus(
		b.Config.Milvus, milvus.WithMetrics(milvus.NewMetrics(b.Metrics)), milvus.WithTracing(b.Tracing),
	); err != nil {
		return err
	}
	return b.openKafka(ctx)
}

// openPostgres opens the pools of connections to Postgres and migrates its schema.
func (b *builder) openPostgres(ctx context.Context) error {
	cfg, pools := &b.Config.Postgres, postgres.NewMetrics(b.Metrics)
	options := func(pool string) []postgres.Option {
		return []postgres.Option{
			postgres.WithMetrics(pools, pool), postgres.WithTracing(b.Tracing),
			postgres.WithDirectURL(cfg.DirectURL.Reveal()),
		}
	}
	open := func(ctx context.Context, pool string, conns int32) (*pgstores.DB, error) {
		return pgstores.Open(ctx, cfg.URL.Reveal(), conns, options(pool)...)
	}
	err := b.await(ctx, "Postgres", func(ctx context.Context) (err error) {
		if b.Postgres, err = open(ctx, "main", cfg.MaxConns); err != nil {
			return err
		}
		return b.Postgres.Migrate(ctx)
	})
	if err != nil {
		return err
	}
	if b.Keys, err = open(ctx, "keys", keyConns); err != nil {
		return err
	}
	if b.Config.Has("commands") {
		if b.Commands, err = open(ctx, "commands", b.Config.Commands.Connections); err != nil {
			return err
		}
	}
	metrics := replica.NewMetrics(b.Metrics)
	if b.Config.Has("api") {
		b.Replica, err = stores.OpenReplica(ctx, *cfg, b.Keys.DB, metrics, b.Logger, options("replica")...)
	}
	return err
}

func (b *builder) openKafka(ctx context.Context) error {
	security, err := stores.KafkaSecurity(&b.Config.Kafka)
	if err != nil {
		return err
	}
	var client *kafka.Client
	client, err = kafka.Open(ctx, kafka.Options{
		Security: security, BatchesInMemory: b.Config.Capabilities.Kafka.BatchesInMemory,
		Brokers: b.Config.Kafka.Brokers, TopicPrefix: b.Config.Kafka.TopicPrefix, Compression: b.Config.Kafka.Compression,
		BufferedBytes: b.Config.Kafka.BufferedBytes, ProduceTimeout: b.Config.Ingest.ProduceTimeout,
		SessionTimeout: b.Config.Kafka.SessionTimeout,
		PointsGroup:    b.Config.Points.Group, CommandsGroup: b.Config.Commands.Group, AuditGroup: b.Config.Audit.Group,
		EventsGroups:     []string{b.Config.Lexical.Group, b.Config.Embeddings.Group},
		LogFullThreshold: b.Config.Ingest.LogFullThreshold,
		Log:              b.Logger, Metrics: b.Metrics, Tracing: b.Tracing,
		// The versions of points produced from then on must be above the earlier ones.
		OnTopicChange: func(ctx context.Context, _ kafka.TopicInfo) error {
			return points.ResolveGenerations(ctx, client, b.Postgres, b.Logger)
		},
		// Commands produced from then on must not count as executed already.
		OnCommandsChange: func(ctx context.Context, _ kafka.TopicInfo) error {
			return commands.ResolveOffsets(ctx, client, b.Postgres, b.Logger)
		},
	})
	if err != nil {
		return fmt.Errorf("opening Kafka: %w", err)
	}
	b.Kafka = client
	return b.await(ctx, "Kafka", func(ctx context.Context) error {
		return client.EnsureTopics(ctx, kafka.TopicSettings{
			Partitions: b.Config.Kafka.PointsPartitions, CommandsPartitions: b.Config.Kafka.CommandsPartitions,
			Replication: b.Config.Kafka.Replication, MinInsyncReplicas: b.Config.Kafka.MinInsyncReplicas,
			RetentionBytes: b.Config.Kafka.RetentionBytes,
		})
	})
}

// await calls open until it succeeds, because the stores and the service may start in any
// order. It returns at once if a retry cannot help, and stops after storeTimeout.
func (b *builder) await(ctx context.Context, store string, open func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	for logged := false; ; {
		err := open(limited)
		if err == nil || fault.Is(err, fault.Invalid) { // a setting is wrong: a retry does not help
			return err
		}
		if !logged {
			b.Logger.Warn("waiting for a store", "store", store, "error", err)
			logged = true
		}
		if refused := (*secure.AccessError)(nil); errors.As(err, &refused) {
			return fmt.Errorf("%s cannot be used: %w", store, err)
		}
		select {
		case <-limited.Done():
			if ctx.Err() != nil { // the process stops; not a timeout
				return fmt.Errorf("waiting for %s: %w", store, ctx.Err())
			}
			return fmt.Errorf("%s cannot be used: %w (`livegraph doctor` shows details)", store, err)
		case <-time.After(storeRetryInterval):
		}
	}
}

// openRedis connects to Redis if a role needs it.
func (b *builder) openRedis(ctx context.Context) error {
	if !b.Config.Has("api") && !b.Config.Has("commands") {
		return nil
	}
	return b.await(ctx, "Redis", func(ctx context.Context) (err error) {
		b.Redis, err = stores.OpenRedis(ctx, b.Config)
		return err
	})
}
