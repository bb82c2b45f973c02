package stores

import (
	"context"
	"log/slog"

	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/replica"
)

// Replica is the configured replica of Postgres.
type Replica struct {
	*replica.Router
	db *postgres.DB
}

// OpenReplica opens the configured replica, which need not respond yet, or returns nil if none is configured. primary
// is used for small statements. The options are those of the other pools.
func OpenReplica(
	ctx context.Context, cfg config.Postgres, primary *postgres.DB, metrics *replica.Metrics, logger *slog.Logger,
	options ...postgres.Option,
) (*Replica, error) {
	if cfg.Replica.URL == "" {
		return nil, nil
	}
	db, err := postgres.Open(ctx, cfg.Replica.URL.Reveal(), cfg.MaxConns, append(options, postgres.AsReplica())...)
	if err != nil {
		return nil, err
	}
	router := replica.New(replica.Options{
		Primary: primary, Replica: db, MaxLag: cfg.Replica.MaxLag, Logger: logger, Metrics: metrics,
	})
	return &Replica{Router: router, db: db}, nil
}

// GraphReads returns the store for reads of the graph that decide no write.
func (s *Stores) GraphReads() *replica.Graph {
	var router *replica.Router
	if s.Replica != nil {
		router = s.Replica.Router
	}
	return replica.NewGraph(s.Postgres.GraphRead, router)
}
