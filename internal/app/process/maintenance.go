package process

import (
	"context"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/consumers/maintenance"
	"github.com/livegraph/livegraph/internal/app/stores"
	"github.com/livegraph/livegraph/storage/redis"
)

// newMaintenance makes the background work of role points. Whoever gives a store
// something of a workspace adds it here: to this list a deleted workspace is
// removed.
func (p *Process) newMaintenance() *maintenance.Upkeep {
	return maintenance.New(maintenance.Deps{
		Registry: p.Postgres, Points: p.Clickhouse, Log: p.Kafka, Logger: p.Logger, Metrics: p.Metrics,
		Stores: []maintenance.Store{
			{Name: "clickhouse", Of: p.Clickhouse},
			{Name: "redis", Of: cache{p}},
			{Name: "milvus", Of: p.newEraser()},
			{Name: "postgres", Of: p.Postgres}, // last: by its rows one can see what is not done
		},
		Config: maintenance.Config{
			RetentionEvery: p.Cfg.Points.RetentionEvery, DeletedNodesFor: p.Cfg.Graph.DeletedFor, LogFor: p.Cfg.Kafka.Retention,
		},
	})
}

// cache is Redis for as long as a workspace is removed from it: role points has no
// connection of its own, and must not fail where Redis does.
type cache struct{ p *Process }

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
	if c.p.Redis != nil {
		return work(c.p.Redis)
	}
	db, err := stores.OpenRedis(ctx, c.p.Cfg)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return work(db)
}
