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

// addMaintenance adds the background work of role points. Stores lists all stores from
// which a deleted workspace is removed; a new store of workspace data must be added there.
func (b *builder) addMaintenance() error {
	work := maintenance.New(maintenance.Deps{
		Registry: b.Postgres, Points: b.ClickHouse, Log: b.Kafka, Logger: b.Logger, Metrics: b.Metrics,
		Stores: []maintenance.Store{
			{Name: "clickhouse", Eraser: b.ClickHouse, Forget: b.ClickHouse.ForgetWorkspace},
			{Name: "redis", Eraser: redisEraser{b.Redis, b.Config}},
			{Name: "milvus", Eraser: embeddings.Eraser{Texts: b.Postgres.Texts, Vectors: b.Milvus}},
			{Name: "postgres", Eraser: b.Postgres}, // last: its rows show which work is not done
		},
		Config: maintenance.Config{
			RetentionEvery: b.Config.Points.RetentionEvery, DeletedNodesFor: b.Config.Graph.DeletedFor,
			LogFor: b.Config.Kafka.Retention,
		},
	})
	b.add("maintenance", work.Run)
	return nil
}

// redisEraser removes a workspace from Redis. Without a connection it opens one for each
// call: role points has no connection to Redis, and must not fail when Redis does.
type redisEraser struct {
	redis *redis.DB // nil: it is opened for each call
	cfg   *config.Config
}

func (c redisEraser) WorkspaceRows(ctx context.Context, workspace uuid.UUID) (keys int64, err error) {
	err = c.with(ctx, func(db *redis.DB) (err error) {
		keys, err = db.WorkspaceRows(ctx, workspace)
		return err
	})
	return keys, err
}

func (c redisEraser) EraseWorkspace(ctx context.Context, workspace uuid.UUID, onErased func(int64) error) error {
	return c.with(ctx, func(db *redis.DB) error { return db.EraseWorkspace(ctx, workspace, onErased) })
}

func (c redisEraser) with(ctx context.Context, work func(*redis.DB) error) error {
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
