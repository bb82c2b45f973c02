package main

import (
	"context"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/consumers/maintenance"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/storage/redis"
)

// newUpkeep makes the background work of role points. Whoever gives a store
// something of a workspace adds it here: to this list a deleted workspace is
// removed.
func (p *process) newUpkeep() *maintenance.Upkeep {
	return maintenance.New(maintenance.Deps{
		Registry: p.postgres, Points: p.clickhouse, Log: p.kafka, Logger: p.logger, Metrics: p.metrics,
		Stores: []maintenance.Store{
			{Name: "clickhouse", Of: p.clickhouse},
			{Name: "redis", Of: cache{p}},
			{Name: "milvus", Of: p.newEraser()},
			{Name: "postgres", Of: p.postgres}, // last: by its rows one can see what is not done
		},
		Config: maintenance.Config{
			RetentionEvery: p.cfg.Points.RetentionEvery, DeletedNodesFor: p.cfg.Graph.DeletedFor, LogFor: p.cfg.Kafka.Retention,
		},
	})
}

// cache is Redis for as long as a workspace is removed from it: role points has no
// connection of its own, and must not fail where Redis does.
type cache struct{ p *process }

func (c cache) WorkspaceRows(ctx context.Context, workspace uuid.UUID) (keys int64, err error) {
	err = c.with(ctx, func(db *redis.DB) (err error) {
		keys, err = db.WorkspaceRows(ctx, workspace)
		return err
	})
	return keys, err
}

func (c cache) EraseWorkspace(ctx context.Context, workspace uuid.UUID, gone func(int64) error) error {
	return c.with(ctx, func(db *redis.DB) error { return db.EraseWorkspace(ctx, workspace, gone) })
}

func (c cache) with(ctx context.Context, work func(*redis.DB) error) error {
	if c.p.redis != nil {
		return work(c.p.redis)
	}
	db, err := dialRedis(ctx, c.p.cfg)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return work(db)
}

func dialRedis(ctx context.Context, cfg *config.Config) (*redis.DB, error) {
	files, err := cfg.Redis.TLS.Client("redis-tls")
	if err != nil {
		return nil, err
	}
	return redis.Open(ctx, redis.Options{URL: cfg.Redis.URL.Reveal(), TLS: files})
}
