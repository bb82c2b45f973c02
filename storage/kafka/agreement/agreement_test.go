package agreement

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestBrokersAgreeIfTheyHaveTheSameViewOfATopic(t *testing.T) {
	view := func(change func(*kmsg.MetadataResponse)) *kmsg.MetadataResponse {
		v := kmsg.NewPtrMetadataResponse()
		v.Brokers = make([]kmsg.MetadataResponseBroker, 2)
		topic := kmsg.NewMetadataResponseTopic()
		topic.TopicID = [16]byte{1}
		for p := range int32(2) {
			partition := kmsg.NewMetadataResponseTopicPartition()
			partition.Partition, partition.Leader, partition.LeaderEpoch = p, p, 7
			topic.Partitions = append(topic.Partitions, partition)
		}
		v.Topics = append(v.Topics, topic)
		change(v)
		return v
	}
	same := view(func(*kmsg.MetadataResponse) {})
	require.True(t, agree([]*kmsg.MetadataResponse{same, view(func(v *kmsg.MetadataResponse) {
		parts := v.Topics[0].Partitions
		parts[0], parts[1] = parts[1], parts[0]
	})}))
	for name, change := range map[string]func(*kmsg.MetadataResponse){
		"another leader": func(v *kmsg.MetadataResponse) { v.Topics[0].Partitions[1].Leader = 0 },
		"another epoch":  func(v *kmsg.MetadataResponse) { v.Topics[0].Partitions[0].LeaderEpoch = 6 },
		"another topic":  func(v *kmsg.MetadataResponse) { v.Topics[0].TopicID[0]++ },
		"one more broker": func(v *kmsg.MetadataResponse) {
			v.Brokers = append(v.Brokers, kmsg.MetadataResponseBroker{})
		},
		"fewer partitions": func(v *kmsg.MetadataResponse) { v.Topics[0].Partitions = v.Topics[0].Partitions[:1] },
	} {
		require.False(t, agree([]*kmsg.MetadataResponse{same, view(change)}), name)
	}
	require.False(t, agree([]*kmsg.MetadataResponse{same}), "the other broker did not respond")
}
