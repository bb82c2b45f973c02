package kafkatest

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OutOfRange returns the response of a broker whose log contains none of the requested offsets.
func OutOfRange(fetch *kmsg.FetchRequest) kmsg.Response {
	response := fetch.ResponseKind().(*kmsg.FetchResponse)
	for _, asked := range fetch.Topics {
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic, topic.TopicID = asked.Topic, asked.TopicID
		for _, p := range asked.Partitions {
			partition := kmsg.NewFetchResponseTopicPartition()
			partition.Partition, partition.ErrorCode = p.Partition, kerr.OffsetOutOfRange.Code
			topic.Partitions = append(topic.Partitions, partition)
		}
		response.Topics = append(response.Topics, topic)
	}
	return response
}
