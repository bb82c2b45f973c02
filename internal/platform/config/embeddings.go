package config

import "time"

// Embeddings holds the settings of the consumer that maintains the vector index in Milvus,
// which role embeddings runs.
type Embeddings struct {
	Group      string        `help:"Consumer group." default:"livegraph-embeddings" env:"LIVEGRAPH_EMBEDDINGS_GROUP"`
	BatchNodes int           `help:"Touched nodes after which a batch is indexed." default:"1000" env:"LIVEGRAPH_EMBEDDINGS_BATCH_NODES"`
	BatchWait  time.Duration `help:"Age at which a batch is indexed however small it is." default:"100ms" env:"LIVEGRAPH_EMBEDDINGS_BATCH_WAIT"`
	BatchTexts int           `help:"Most texts that the embedder is asked for at once, 32 KiB of them at most. A search waits until it has answered." default:"64" env:"LIVEGRAPH_EMBEDDINGS_BATCH_TEXTS"`
	FetchBytes int32         `help:"Most bytes of one fetch." default:"8388608" env:"LIVEGRAPH_EMBEDDINGS_FETCH_BYTES"`
}

func (e Embeddings) validate(invalid func(setting, format string, args ...any)) {
	for _, s := range []struct {
		name  string
		value int64
	}{
		{"embeddings-batch-nodes", int64(e.BatchNodes)}, {"embeddings-batch-wait", int64(e.BatchWait)},
		{"embeddings-batch-texts", int64(e.BatchTexts)}, {"embeddings-fetch-bytes", int64(e.FetchBytes)},
	} {
		if s.value <= 0 {
			invalid(s.name, "must be above zero")
		}
	}
}
