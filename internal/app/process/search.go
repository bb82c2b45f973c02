package process

import (
	"github.com/livegraph/livegraph/api/rag"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/app/stores"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

// SearchRoutes creates the routes of search. Milvus and the embedder may be unavailable;
// requests report which part of a search was not possible.
func SearchRoutes(o *Options, s *stores.Stores) []route.Route {
	metrics := rag.NewMetrics(o.Metrics)
	engine := rag.NewEngine(rag.Stores{Postgres: s.Postgres, Milvus: s.Milvus, Embedder: s.Queries}, o.Logger, metrics)
	return rag.Routes(rag.Deps{
		Engine: engine, Index: s.Postgres, Edges: s.Postgres, Series: s.Postgres, Points: timeseries.New(s.ClickHouse),
		QueryTimeout: o.Config.API.QueryTimeout, Metrics: metrics,
	})
}
