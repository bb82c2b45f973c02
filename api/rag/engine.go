package rag

import (
	"context"
	"errors"
	"log/slog"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/internal/retrieval/chunk"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
	"github.com/livegraph/livegraph/internal/retrieval/lexical"
	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

// Stores are the stores that the engine searches.
type Stores struct {
	Texts    *textindex.Store
	Graph    retrieval.Graph
	Milvus   *milvus.DB
	Embedder retrieval.QueryEmbedder
	// Chat writes the texts of answers; nil: no chat model is configured.
	Chat      retrieval.ChatModel
	MaxPrompt int // bytes of a prompt for it
	// Reranker orders results again; nil: none is configured.
	Reranker                 retrieval.Reranker
	MaxRerank, MaxRerankText int // see retrieval.Deps
}

// NewEngine creates an engine that searches the stores.
func NewEngine(stores Stores, logger *slog.Logger, metrics *Metrics) *retrieval.Engine {
	texts := stores.Texts
	deps := retrieval.Deps{
		Text: textLane{texts, metrics}, Vectors: vectorLane{texts, stores.Milvus}, Graph: stores.Graph,
		Embedder: wordsOnly{stores.Embedder},
		Chunks:   chunksOf, Logger: logger, Observe: metrics.ObserveLane, Chat: stores.Chat, MaxPrompt: stores.MaxPrompt,
		MaxRerank: stores.MaxRerank, MaxRerankText: stores.MaxRerankText,
	}
	if stores.Reranker != nil {
		deps.Reranker = measuredReranker{stores.Reranker, metrics}
	}
	return retrieval.New(deps)
}

// wordsOnly embeds only queries that have words. A model returns a vector even for a
// question mark, and its nearest neighbors would be random.
type wordsOnly struct{ retrieval.QueryEmbedder }

// EmbedQuery returns nil for a text without letters and digits.
func (s wordsOnly) EmbedQuery(ctx context.Context, model embed.Model, text string) (embed.Vector, error) {
	if len(lexical.Parse(text).Terms) == 0 {
		return nil, nil
	}
	return s.QueryEmbedder.EmbedQuery(ctx, model, text)
}

// textLane is the full-text search of Postgres.
type textLane struct {
	texts   *textindex.Store
	metrics *Metrics
}

// SearchText returns nodes by their words and names.
func (l textLane) SearchText(
	ctx context.Context, workspace uuid.UUID, text string, f retrieval.Filter, limit, named int,
) (retrieval.TextFindings, error) {
	found, err := l.texts.SearchText(ctx, workspace, lexical.Parse(text), f, limit, named)
	if err == nil && found.Truncation != retrieval.TextComplete {
		l.metrics.textCut.WithLabelValues(string(found.Truncation)).Inc()
	}
	return found, err
}

// vectorLane is the vector search of Milvus. Postgres has the name of the live collection.
type vectorLane struct {
	texts   *textindex.Store
	vectors *milvus.DB
}

// LiveIndex returns the index that searches use.
func (l vectorLane) LiveIndex(ctx context.Context) (retrieval.Index, error) {
	index, err := l.texts.LiveIndex(ctx)
	return retrieval.Index{Collection: index.Collection, Model: index.Model}, err
}

// Nearest returns the nearest chunks. If the collection was deleted, the consumer creates it
// again; until then, Nearest returns an Unavailable error.
func (l vectorLane) Nearest(
	ctx context.Context, index retrieval.Index, workspace uuid.UUID, vector embed.Vector, near retrieval.VectorFilter,
	limit int,
) ([]retrieval.VectorHit, error) {
	hits, err := l.vectors.Search(
		ctx, index.Collection, workspace, vector, milvus.Filter{EntityTypes: near.EntityTypes, Nodes: near.Nodes}, limit,
	)
	if errors.Is(err, milvus.ErrNoCollection) {
		return nil, fault.Wrap(err, fault.Unavailable, "The vectors are missing; role embeddings rebuilds the index")
	}
	return hits, err
}

// chunksOf splits the text of a node into chunks like the index.
func chunksOf(n *graph.Node) []retrieval.Chunk {
	description := ""
	if n.Description != nil {
		description = *n.Description
	}
	chunks := chunk.Split(n.Name, description, n.Properties)
	result := make([]retrieval.Chunk, len(chunks))
	for i, c := range chunks {
		result[i] = retrieval.Chunk{Index: c.Index, Text: c.Text, From: c.From, To: c.To}
	}
	return result
}
