package embedded

import "github.com/livegraph/livegraph/internal/platform/config"

// The capabilities of the embedded engines.
var (
	// KafkaCapabilities are the capabilities of kfake.
	KafkaCapabilities = config.KafkaCapabilities{BatchesInMemory: true}
	// MilvusCapabilities are the capabilities of milvus-lite.
	MilvusCapabilities = config.MilvusCapabilities{ScansUnflushed: true}
)
