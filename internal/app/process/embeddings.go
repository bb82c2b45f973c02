package process

import (
	"github.com/livegraph/livegraph/consumers/embeddings"
	"github.com/livegraph/livegraph/consumers/lexical"
	"github.com/livegraph/livegraph/consumers/links"
)

// addLexical adds the consumer that maintains the full-text index.
func (b *builder) addLexical() error {
	cfg := b.Config.Lexical
	consumer := lexical.New(lexical.Deps{
		Log: b.Kafka, Graph: b.Postgres, Logger: b.Logger, Metrics: b.Metrics, Tracing: b.Tracing,
		Config: lexical.Config{
			Group: cfg.Group, BatchNodes: cfg.BatchNodes, BatchWait: cfg.BatchWait, FetchBytes: cfg.FetchBytes,
			FillEvery: cfg.FillEvery, Grace: consumerGrace,
		},
	})
	b.add("lexical", consumer.Run)
	return nil
}

// addLinks adds the linker, which derives edges from texts.
func (b *builder) addLinks() error {
	b.add("links", links.New(links.Deps{Log: b.Kafka, Graph: b.Postgres, Logger: b.Logger, Metrics: b.Metrics}).Run)
	return nil
}

// addEmbeddings adds the consumer that maintains the vector index in Milvus.
func (b *builder) addEmbeddings() error {
	cfg := b.Config.Embeddings
	consumer := embeddings.New(embeddings.Deps{
		Log: b.Kafka, Graph: b.Postgres, Vectors: b.Milvus, Embedder: b.Embedder,
		Logger: b.Logger, Metrics: b.Metrics, Tracing: b.Tracing,
		Config: embeddings.Config{
			Group: cfg.Group, BatchNodes: cfg.BatchNodes, BatchWait: cfg.BatchWait, FetchBytes: cfg.FetchBytes,
			EmbedTexts: cfg.BatchTexts, Flush: b.Config.Capabilities.Milvus.ScansUnflushed, Grace: consumerGrace,
		},
	})
	b.add("embeddings", consumer.Run)
	return nil
}
