package config

import "time"

// Embeddings holds the settings of the consumer that maintains the vector index in Milvus,
// which role embeddings runs.
type Embeddings struct {
	Group      string        `help:"Consumer group." default:"livegraph-embeddings" env:"LIVEGRAPH_EMBEDDINGS_GROUP"`
	BatchNodes int           `help:"Number of touched nodes at which a batch is indexed." default:"1000" env:"LIVEGRAPH_EMBEDDINGS_BATCH_NODES"`
	BatchWait  time.Duration `help:"Maximum age of a batch before it is indexed, regardless of its size." default:"100ms" env:"LIVEGRAPH_EMBEDDINGS_BATCH_WAIT"`
	BatchTexts int           `help:"Maximum number of texts in one call of the embedder; their maximum total size is 32 KiB. A concurrent search waits for the end of the call." default:"64" env:"LIVEGRAPH_EMBEDDINGS_BATCH_TEXTS"`
	FetchBytes int32         `help:"Maximum size of one fetch in bytes." default:"8388608" env:"LIVEGRAPH_EMBEDDINGS_FETCH_BYTES"`
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
