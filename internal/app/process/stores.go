package process

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/livegraph/livegraph/internal/app/stores"

	decisions "github.com/livegraph/livegraph/consumers/commands"
	"github.com/livegraph/livegraph/consumers/points"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/storage/postgres"
)

func (p *Process) openStores(ctx context.Context) (err error) {
	pools, points := postgres.NewMetrics(p.Metrics), clickhouse.NewMetrics(p.Metrics)
	err = p.await(ctx, "Postgres", func(ctx context.Context) error {
		if p.Postgres, err = postgres.Open(
			ctx, p.Cfg.Postgres.URL.Reveal(), p.Cfg.Postgres.MaxConns, postgres.Measured(pools, "main"),
			postgres.Traced(p.tracing),
		); err != nil {
			return err
		}
		return p.Postgres.Migrate(ctx)
	})
	if err != nil {
		return err
	}
	if p.keys, err = postgres.Open(
		ctx, p.Cfg.Postgres.URL.Reveal(), keyConns, postgres.Measured(pools, "keys"), postgres.Traced(p.tracing),
	); err != nil {
		return err
	}
	if p.Cfg.Has("commands") {
		p.deciding, err = postgres.Open(
			ctx, p.Cfg.Postgres.URL.Reveal(), p.Cfg.Commands.Connections, postgres.Measured(pools, "commands"),
			postgres.Traced(p.tracing),
		)
		if err != nil {
			return err
		}
	}
	if p.Install, err = p.Postgres.Installation(ctx); err != nil {
		return err
	}
	err = p.await(ctx, "ClickHouse", func(ctx context.Context) error {
		if p.Clickhouse, err = stores.OpenClickHouse(
			ctx, p.Cfg, clickhouse.Measured(points), clickhouse.Traced(p.tracing),
		); err != nil {
			return err
		}
		return p.Clickhouse.Migrate(ctx)
	})
	if err != nil {
		return err
	}
	if err := p.openRedis(ctx); err != nil {
		return err
	}
	if p.Milvus, err = stores.OpenMilvus(
		p.Cfg.Milvus, milvus.Measured(milvus.NewMetrics(p.Metrics)), milvus.Traced(p.tracing),
	); err != nil {
		return err
	}
	return p.openKafka(ctx)
}

func (p *Process) openKafka(ctx context.Context) error {
	security, err := stores.KafkaSecurity(&p.Cfg.Kafka)
	if err != nil {
		return err
	}
	var client *kafka.Client
	client, err = kafka.Open(ctx, kafka.Options{
		Security: security,
		Brokers:  p.Cfg.Kafka.Brokers, TopicPrefix: p.Cfg.Kafka.TopicPrefix, Compression: p.Cfg.Kafka.Compression,
		BufferedBytes: p.Cfg.Kafka.BufferedBytes, ProduceTimeout: p.Cfg.Ingest.ProduceTimeout,
		SessionTimeout: p.Cfg.Kafka.SessionTimeout,
		PointsGroup:    p.Cfg.Points.Group, CommandsGroup: p.Cfg.Commands.Group, AuditGroup: p.Cfg.Audit.Group,
		EventsGroups: []string{p.Cfg.Lexical.Group, p.Cfg.Embeddings.Group}, LogFullThreshold: p.Cfg.Ingest.LogFullThreshold,
		Log: p.Logger, Metrics: p.Metrics, Tracing: p.tracing,
		// Versions of what is produced from then on must be above those of before.
		OnTopicChange: func(ctx context.Context, _ kafka.TopicInfo) error {
			return points.ResolveGenerations(ctx, client, p.Postgres, p.Logger)
		},
		// What is produced from then on must not be taken for decided.
		OnCommandsChange: func(ctx context.Context, _ kafka.TopicInfo) error {
			return decisions.ResolveOffsets(ctx, client, p.Postgres, p.Logger)
		},
	})
	if err != nil {
		return fmt.Errorf("opening Kafka: %w", err)
	}
	p.Kafka = client
	return p.await(ctx, "Kafka", func(ctx context.Context) error {
		return client.EnsureTopics(ctx, kafka.TopicSettings{
			Partitions: p.Cfg.Kafka.PointsPartitions, CommandsPartitions: p.Cfg.Kafka.CommandsPartitions,
			Replication: p.Cfg.Kafka.Replication, RetentionBytes: p.Cfg.Kafka.RetentionBytes,
		})
	})
}

// await tries to open a store until it works: stores and service may start in
// any order. What trying again does not cure ends it at once.
func (p *Process) await(ctx context.Context, store string, open func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	for said := false; ; {
		err := open(limited)
		if err == nil || fault.Is(err, fault.Invalid) { // a setting is wrong: waiting is of no use
			return err
		}
		if !said {
			p.Logger.Warn("waiting for a store", "store", store, "error", err)
			said = true
		}
		if refused := (*kafka.Refused)(nil); errors.As(err, &refused) {
			return fmt.Errorf("%s cannot be used: %w", store, err)
		}
		select {
		case <-limited.Done():
			if ctx.Err() != nil { // told to end, not waited long enough
				return fmt.Errorf("waiting for %s: %w", store, ctx.Err())
			}
			return fmt.Errorf("%s cannot be used: %w (`livegraph doctor` says more)", store, err)
		case <-time.After(storeRetry):
		}
	}
}
