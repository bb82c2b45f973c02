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
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// Stores are where the engine looks.
type Stores struct {
	Postgres *stores.DB
	Milvus   *milvus.DB
	Embedder retrieval.QueryEmbedder
}

// NewEngine creates the engine that searches in the stores.
func NewEngine(stores Stores, logger *slog.Logger, metrics *Metrics) *retrieval.Engine {
	return retrieval.New(retrieval.Deps{
		Text: textLane{stores.Postgres, metrics}, Vectors: vectorLane{stores.Postgres, stores.Milvus}, Graph: stores.Postgres,
		Embedder: speaking{stores.Embedder},
		Chunks:   chunksOf, Logger: logger, Observe: metrics.Lane,
	})
}

// speaking embeds queries that have words. A model gives a vector to anything, also to
// a question mark, and everything is near it by chance.
type speaking struct{ retrieval.QueryEmbedder }

// EmbedQuery returns no vector for what has neither letters nor digits.
func (s speaking) EmbedQuery(ctx context.Context, model embed.Model, text string) (embed.Vector, error) {
	if len(lexical.Parse(text).Terms) == 0 {
		return nil, nil
	}
	return s.QueryEmbedder.EmbedQuery(ctx, model, text)
}

// textLane is the words' part of Postgres.
type textLane struct {
	db      *stores.DB
	metrics *Metrics
}

// SearchText finds nodes by their words and names.
func (l textLane) SearchText(
	ctx context.Context, workspace uuid.UUID, text string, f retrieval.Filter, limit, named int,
) (retrieval.TextFindings, error) {
	found, err := l.db.SearchText(ctx, workspace, lexical.Parse(text), f, limit, named)
	if err == nil && found.Cut != retrieval.TextWhole {
		l.metrics.cut.WithLabelValues(string(found.Cut)).Inc()
	}
	return found, err
}

// vectorLane is Milvus; which of its collections answers Postgres knows.
type vectorLane struct {
	db      *stores.DB
	vectors *milvus.DB
}

// LiveIndex reports which index answers.
func (l vectorLane) LiveIndex(ctx context.Context) (retrieval.Index, error) {
	index, err := l.db.LiveIndex(ctx)
	return retrieval.Index{Collection: index.Collection, Model: index.Model}, err
}

// Nearest returns the nearest chunks. A collection that is gone is made again by the
// consumer; until then the lane is unavailable.
func (l vectorLane) Nearest(
	ctx context.Context, index retrieval.Index, workspace uuid.UUID, vector embed.Vector, near retrieval.Near, limit int,
) ([]retrieval.VectorHit, error) {
	hits, err := l.vectors.Search(
		ctx, index.Collection, workspace, vector, milvus.Near{EntityTypes: near.EntityTypes, Nodes: near.Nodes}, limit,
	)
	if errors.Is(err, milvus.ErrNoCollection) {
		return nil, fault.Wrap(err, fault.Unavailable, "The index of vectors is being made again")
	}
	return hits, err
}

// chunksOf cuts a node's text as the index has it.
func chunksOf(n *graph.Node) []retrieval.Chunk {
	description := ""
	if n.Description != nil {
		description = *n.Description
	}
	chunks := chunk.Split(n.Name, description, n.Properties)
	shown := make([]retrieval.Chunk, len(chunks))
	for i, c := range chunks {
		shown[i] = retrieval.Chunk{Index: c.Index, Text: c.Text}
	}
	return shown
}
