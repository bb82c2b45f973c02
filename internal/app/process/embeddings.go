package process

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/consumers/embeddings"
)

// newIndex makes the consumer that keeps the search index in Milvus.
func (p *Process) newIndex() *embeddings.Consumer {
	cfg := p.Cfg.Embeddings
	return embeddings.New(embeddings.Deps{
		Log: p.Kafka, Graph: p.Postgres, Vectors: p.Milvus, Embedder: p.Embedder,
		Logger: p.Logger, Metrics: p.Metrics, Tracing: p.tracing,
		Config: embeddings.Config{
			Group: cfg.Group, BatchNodes: cfg.BatchNodes, BatchWait: cfg.BatchWait, FetchBytes: cfg.FetchBytes,
			EmbedTexts: cfg.BatchTexts, Grace: consumerGrace,
		},
	})
}

// newEraser makes what removes a deleted workspace from the search indexes.
func (p *Process) newEraser() embeddings.Eraser {
	return embeddings.Eraser{Graph: p.Postgres, Vectors: p.Milvus}
}

// runIndex runs the consumer.
func (p *Process) runIndex(ctx context.Context, group *errgroup.Group) {
	if p.index != nil {
		group.Go(func() error { return p.index.Run(ctx) })
	}
}
