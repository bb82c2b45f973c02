package main

import (
	"github.com/livegraph/livegraph/api/rag"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

// searchRoutes makes the routes of search. Milvus and the embedder may be away: what
// needs them says so.
func (p *process) searchRoutes() []route.Route {
	metrics := rag.NewMetrics(p.metrics)
	engine := rag.NewEngine(rag.Stores{Postgres: p.postgres, Milvus: p.milvus, Embedder: p.queries}, p.logger, metrics)
	return rag.Routes(rag.Deps{
		Engine: engine, Index: p.postgres, Edges: p.postgres, Series: p.postgres, Points: timeseries.New(p.clickhouse),
		QueryTimeout: p.cfg.API.QueryTimeout, Metrics: metrics,
	})
}
