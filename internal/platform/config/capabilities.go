package config

// Capabilities are what the engines of an installation do differently from the editions that
// run on their own machines. Who starts an engine declares them; nothing else asks which
// edition it talks to. The zero value is that of a Kafka and a Milvus cluster.
type Capabilities struct {
	Kafka  KafkaCapabilities  `json:"kafka,omitzero"`
	Milvus MilvusCapabilities `json:"milvus,omitzero"`
}

// KafkaCapabilities are those of the brokers.
type KafkaCapabilities struct {
	// BatchesInMemory says that the broker keeps about a hundred bytes in memory for each
	// batch of its log, and a small request is a batch: bounded by bytes alone, as topics
	// are, hundreds of small requests a second would come to gigabytes within a day. So the
	// records of its topics are bounded as well, and segments are small.
	BatchesInMemory bool `json:"batchesInMemory,omitempty"`
}

// MilvusCapabilities are those of Milvus.
type MilvusCapabilities struct {
	// ScansUnflushed says that a query is compared with each row that is not flushed, one by
	// one, so that what was written is flushed soon. Otherwise Milvus flushes by itself, and
	// does it better when it is left alone.
	ScansUnflushed bool `json:"scansUnflushed,omitempty"`
}
