package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	decisions "github.com/livegraph/livegraph/consumers/commands"
	"github.com/livegraph/livegraph/consumers/points"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/storage/postgres"
)

func (p *process) openStores(ctx context.Context) (err error) {
	pools, points := postgres.NewMetrics(p.metrics), clickhouse.NewMetrics(p.metrics)
	err = p.await(ctx, "Postgres", func(ctx context.Context) error {
		if p.postgres, err = postgres.Open(
			ctx, p.cfg.Postgres.URL.Reveal(), p.cfg.Postgres.MaxConns, postgres.Measured(pools, "main"),
			postgres.Traced(p.tracing),
		); err != nil {
			return err
		}
		return p.postgres.Migrate(ctx)
	})
	if err != nil {
		return err
	}
	if p.keys, err = postgres.Open(
		ctx, p.cfg.Postgres.URL.Reveal(), keyConns, postgres.Measured(pools, "keys"), postgres.Traced(p.tracing),
	); err != nil {
		return err
	}
	if p.cfg.Has("commands") {
		p.deciding, err = postgres.Open(
			ctx, p.cfg.Postgres.URL.Reveal(), p.cfg.Commands.Connections, postgres.Measured(pools, "commands"),
			postgres.Traced(p.tracing),
		)
		if err != nil {
			return err
		}
	}
	if p.install, err = p.postgres.Installation(ctx); err != nil {
		return err
	}
	err = p.await(ctx, "ClickHouse", func(ctx context.Context) error {
		if p.clickhouse, err = openClickHouse(
			ctx, p.cfg, clickhouse.Measured(points), clickhouse.Traced(p.tracing),
		); err != nil {
			return err
		}
		return p.clickhouse.Migrate(ctx)
	})
	if err != nil {
		return err
	}
	if err := p.openRedis(ctx); err != nil {
		return err
	}
	if p.milvus, err = openMilvus(
		p.cfg.Milvus, milvus.Measured(milvus.NewMetrics(p.metrics)), milvus.Traced(p.tracing),
	); err != nil {
		return err
	}
	return p.openKafka(ctx)
}

func (p *process) openKafka(ctx context.Context) error {
	security, err := kafkaSecurity(&p.cfg.Kafka)
	if err != nil {
		return err
	}
	var client *kafka.Client
	client, err = kafka.Open(ctx, kafka.Options{
		Security: security, BatchesInMemory: p.cfg.Capabilities.Kafka.BatchesInMemory,
		Brokers: p.cfg.Kafka.Brokers, TopicPrefix: p.cfg.Kafka.TopicPrefix, Compression: p.cfg.Kafka.Compression,
		BufferedBytes: p.cfg.Kafka.BufferedBytes, ProduceTimeout: p.cfg.Ingest.ProduceTimeout,
		SessionTimeout: p.cfg.Kafka.SessionTimeout,
		PointsGroup:    p.cfg.Points.Group, CommandsGroup: p.cfg.Commands.Group, AuditGroup: p.cfg.Audit.Group,
		EventsGroups: []string{p.cfg.Lexical.Group, p.cfg.Embeddings.Group}, LogFullThreshold: p.cfg.Ingest.LogFullThreshold,
		Log: p.logger, Metrics: p.metrics, Tracing: p.tracing,
		// Versions of what is produced from then on must be above those of before.
		OnTopicChange: func(ctx context.Context, _ kafka.TopicInfo) error {
			return points.ResolveGenerations(ctx, client, p.postgres, p.logger)
		},
		// What is produced from then on must not be taken for decided.
		OnCommandsChange: func(ctx context.Context, _ kafka.TopicInfo) error {
			return decisions.ResolveOffsets(ctx, client, p.postgres, p.logger)
		},
	})
	if err != nil {
		return fmt.Errorf("opening Kafka: %w", err)
	}
	p.kafka = client
	return p.await(ctx, "Kafka", func(ctx context.Context) error {
		return client.EnsureTopics(ctx, kafka.TopicSettings{
			Partitions: p.cfg.Kafka.PointsPartitions, CommandsPartitions: p.cfg.Kafka.CommandsPartitions,
			Replication: p.cfg.Kafka.Replication, RetentionBytes: p.cfg.Kafka.RetentionBytes,
		})
	})
}

// await tries to open a store until it works: stores and service may start in
// any order. What trying again does not cure ends it at once.
func (p *process) await(ctx context.Context, store string, open func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	for said := false; ; {
		err := open(limited)
		if err == nil || fault.Is(err, fault.Invalid) { // a setting is wrong: waiting is of no use
			return err
		}
		if !said {
			p.logger.Warn("waiting for a store", "store", store, "error", err)
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
