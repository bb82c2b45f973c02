package process

import (
	"github.com/livegraph/livegraph/api/idempotency"
	"github.com/livegraph/livegraph/api/rag"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/app/stores"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

// SearchRoutes creates the routes of search. Milvus and the embedder may be unavailable;
// requests report which part of a search was not possible. The chat model and the reranker are optional.
func SearchRoutes(o *Options, s *stores.Stores, keys *idempotency.Manager) []route.Route {
	metrics := rag.NewMetrics(o.Metrics)
	reads := s.GraphReads()
	searched := rag.Stores{
		Texts: s.Postgres.Texts, Graph: reads, Milvus: s.Milvus, Embedder: s.Queries,
		MaxPrompt: o.Config.Chat.MaxPromptBytes,
		MaxRerank: o.Config.Rerank.MaxCandidates, MaxRerankText: o.Config.Rerank.MaxTextBytes,
	}
	if s.Chat != nil {
		searched.Chat = s.Chat
	}
	if s.Reranker != nil {
		searched.Reranker = s.Reranker
	}
	engine := rag.NewEngine(searched, o.Logger, metrics)
	return rag.Routes(rag.Deps{
		Engine: engine, Index: s.Postgres, Edges: reads, Series: s.Postgres, Points: timeseries.New(s.ClickHouse),
		Queries: s.Postgres, Keys: keys, QueryTimeout: o.Config.API.QueryTimeout, Metrics: metrics,
	})
}
