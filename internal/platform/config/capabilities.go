package config

// Capabilities are the differences of the engines of an installation from Kafka and Milvus
// clusters, which are the zero value. The code that starts an engine sets them. No other code
// checks which edition of an engine is in use.
type Capabilities struct {
	Kafka  KafkaCapabilities  `json:"kafka,omitzero"`
	Milvus MilvusCapabilities `json:"milvus,omitzero"`
}

// KafkaCapabilities are the capabilities of the brokers.
type KafkaCapabilities struct {
	// BatchesInMemory reports that the broker keeps about 100 bytes in memory for each batch
	// of its log. A small request is one batch. With a limit of bytes only, hundreds of small
	// requests per second would use gigabytes of memory within a day. The number of records
	// of its topics is therefore limited, too, and segments are small.
	BatchesInMemory bool `json:"batchesInMemory,omitempty"`
}

// MilvusCapabilities are the capabilities of Milvus.
type MilvusCapabilities struct {
	// ScansUnflushed reports that a query scans all rows that are not flushed. Writes are
	// therefore flushed soon. Otherwise Milvus flushes by itself, which is more efficient.
	ScansUnflushed bool `json:"scansUnflushed,omitempty"`
}
