package process

import (
	"github.com/livegraph/livegraph/api/rag"
	"github.com/livegraph/livegraph/api/route"
)

// SearchRoutes makes the routes of search. Milvus and the embedder may be away: what
// needs them says so.
func (p *Process) SearchRoutes() []route.Route {
	metrics := rag.NewMetrics(p.Metrics)
	engine := rag.NewEngine(rag.Stores{Postgres: p.Postgres, Milvus: p.Milvus, Embedder: p.Queries}, p.Logger, metrics)
	return rag.Routes(rag.Deps{
		Engine: engine, Index: p.Postgres, Edges: p.Postgres, Series: p.Postgres, Points: p.Clickhouse,
		QueryTimeout: p.Cfg.API.QueryTimeout, Metrics: metrics,
	})
}
