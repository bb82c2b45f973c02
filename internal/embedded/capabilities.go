package embedded

import "github.com/livegraph/livegraph/internal/platform/config"

// What the engines that are started here do differently from those on their own machines.
var (
	// KafkaCapabilities are those of kfake.
	KafkaCapabilities = config.KafkaCapabilities{BatchesInMemory: true}
	// MilvusCapabilities are those of milvus-lite.
	MilvusCapabilities = config.MilvusCapabilities{ScansUnflushed: true}
)
