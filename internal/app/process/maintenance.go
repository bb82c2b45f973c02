package process

import (
	"context"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/consumers/embeddings"
	"github.com/livegraph/livegraph/consumers/maintenance"
	"github.com/livegraph/livegraph/internal/app/stores"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/storage/redis"
)

// addMaintenance adds the background work of role points. Anyone who gives a store
// something of a workspace adds it here: to this list a deleted workspace is
// removed.
func (b *builder) addMaintenance() error {
	work := maintenance.New(maintenance.Deps{
		Registry: b.Postgres, Points: b.ClickHouse, Log: b.Kafka, Logger: b.Logger, Metrics: b.Metrics,
		Stores: []maintenance.Store{
			{Name: "clickhouse", Of: b.ClickHouse},
			{Name: "redis", Of: cache{b.Redis, b.Config}},
			{Name: "milvus", Of: embeddings.Eraser{Graph: b.Postgres, Vectors: b.Milvus}},
			{Name: "postgres", Of: b.Postgres}, // last: by its rows one can see what is not done
		},
		Config: maintenance.Config{
			RetentionEvery: b.Config.Points.RetentionEvery, DeletedNodesFor: b.Config.Graph.DeletedFor,
			LogFor: b.Config.Kafka.Retention,
		},
	})
	b.add("maintenance", work.Run)
	return nil
}

// cache is Redis for as long as a workspace is removed from it: role points has no
// connection of its own, and must not fail where Redis does.
type cache struct {
	redis *redis.DB // nil: it is opened for each call
	cfg   *config.Config
}

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
	if c.redis != nil {
		return work(c.redis)
	}
	db, err := stores.OpenRedis(ctx, c.cfg)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return work(db)
}
