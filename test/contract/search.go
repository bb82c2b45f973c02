package contract

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/idempotency"
	"github.com/livegraph/livegraph/api/rag"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/consumers/embeddings"
	"github.com/livegraph/livegraph/consumers/lexical"
	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/test/chtest"
	"github.com/livegraph/livegraph/test/testenv"
)

// Search is the group of the search routes, with its stores and its consumers. Group
// creates what is nil.
type Search struct {
	// WithoutIndexes leaves out Milvus, ClickHouse and the consumers: requests are refused, or
	// Milvus is unavailable.
	WithoutIndexes bool
	Log            *kafka.Client // the log of the commands, whose changes are indexed
	Points         *clickhouse.DB
	Milvus         string              // address; empty: the one of testenv
	Embedder       embed.Embedder      // nil: a Switch with the static model
	Chat           retrieval.ChatModel // nil: no chat model is configured
	Reranker       retrieval.Reranker  // nil: no reranker is configured
}

// MaxRerank is the maximum number of results that a search may have reranked.
const MaxRerank = 50

// SwitchableEmbedder is an embedder that can be unavailable.
type SwitchableEmbedder struct {
	embed.Embedder
	Unavailable atomic.Bool
}

// Embed embeds the texts, or fails if the embedder is unavailable.
func (s *SwitchableEmbedder) Embed(ctx context.Context, texts []string) ([]embed.Vector, error) {
	if s.Unavailable.Load() {
		return nil, fault.New(fault.Unavailable, "The embedder is away")
	}
	return s.Embedder.Embed(ctx, texts)
}

// unreachable is an address on which nothing listens.
const unreachable = "127.0.0.1:1"

// Group creates the routes.
func (g *Search) Group(t testing.TB, s *Server) []route.Route {
	t.Helper()
	if g.Embedder == nil {
		g.Embedder = &SwitchableEmbedder{Embedder: embed.NewStatic()}
	}
	switch {
	case g.WithoutIndexes:
		g.Milvus = unreachable
	case g.Milvus == "":
		g.Milvus = testenv.Milvus(t)
	}
	vectors, err := milvus.New(milvus.Options{Address: g.Milvus})
	require.NoError(t, err)
	t.Cleanup(func() { _ = vectors.Close() })
	metrics := rag.NewMetrics(s.Metrics)
	queries := embed.NewQueries(embed.QueryOptions{Embedder: g.Embedder, Timeout: time.Minute}) // slow is not unavailable
	t.Cleanup(queries.Close)
	searched := rag.Stores{
		Texts: s.DB.Texts, Graph: s.DB, Milvus: vectors, Embedder: queries, Chat: g.Chat, MaxPrompt: 16 << 10,
		Reranker: g.Reranker, MaxRerank: MaxRerank, MaxRerankText: 2 << 10,
	}
	deps := rag.Deps{
		Engine: rag.NewEngine(searched, slog.Default(), metrics),
		Index:  s.DB, Edges: s.DB, Series: s.DB, QueryTimeout: 10 * time.Second, Metrics: metrics,
		Queries: s.DB, Keys: idempotency.New(s.DB, slog.Default(), nil),
	}
	if g.Points != nil {
		deps.Points = timeseries.New(g.Points)
	}
	if !g.WithoutIndexes {
		if g.Points == nil {
			g.Points, err = chtest.Open(t.Context(), chtest.Migrated(t))
			require.NoError(t, err)
			t.Cleanup(func() { _ = g.Points.Close() })
		}
		deps.Points = timeseries.New(g.Points)
		g.index(t, s, vectors)
	}
	return rag.Routes(deps)
}

// index runs the consumers until the test ends, with collections that only this test uses.
func (g *Search) index(t testing.TB, s *Server, vectors *milvus.DB) {
	t.Helper()
	prefix := fmt.Sprintf("contract_%x", time.Now().UnixNano())
	consumer := embeddings.New(embeddings.Deps{
		Log: g.Log, Graph: s.DB, Vectors: vectors, Embedder: g.Embedder, Logger: slog.Default(),
		Config: embeddings.Config{
			Group: "embeddings", Collections: prefix, BatchWait: 20 * time.Millisecond, CheckEvery: time.Second,
			Grace: time.Second, Flush: embedded.MilvusCapabilities.ScansUnflushed,
		},
	})
	background(t, consumer.Run)
	lexicalConsumer := lexical.New(lexical.Deps{
		Log: g.Log, Graph: s.DB, Logger: slog.Default(),
		Config: lexical.Config{
			Group: "lexical", BatchWait: 20 * time.Millisecond, FetchBytes: 8 << 20, FillEvery: time.Second, Grace: time.Second,
		},
	})
	background(t, lexicalConsumer.Run)
}
