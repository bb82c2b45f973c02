package main

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/consumers/embeddings"
)

// newIndex makes the consumer that keeps the search index in Milvus.
func (p *process) newIndex() *embeddings.Consumer {
	cfg := p.cfg.Embeddings
	return embeddings.New(embeddings.Deps{
		Log: p.kafka, Graph: p.postgres, Vectors: p.milvus, Embedder: p.embedder,
		Logger: p.logger, Metrics: p.metrics, Tracing: p.tracing,
		Config: embeddings.Config{
			Group: cfg.Group, BatchNodes: cfg.BatchNodes, BatchWait: cfg.BatchWait, FetchBytes: cfg.FetchBytes,
			EmbedTexts: cfg.BatchTexts, Flush: p.cfg.Capabilities.Milvus.ScansUnflushed, Grace: consumerGrace,
		},
	})
}

// newEraser makes what removes a deleted workspace from the search indexes.
func (p *process) newEraser() embeddings.Eraser {
	return embeddings.Eraser{Graph: p.postgres, Vectors: p.milvus}
}

// runIndex runs the consumer.
func (p *process) runIndex(ctx context.Context, group *errgroup.Group) {
	if p.index != nil {
		group.Go(func() error { return p.index.Run(ctx) })
	}
}
