package topiccheck

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
)

// TestAFindingOfSeveralTopicsIsReportedOnce has the findings that the brokers of this process never cause.
func TestAFindingOfSeveralTopicsIsReportedOnce(t *testing.T) {
	partition := func(leader int32, replicas, insync []int32) kadm.PartitionDetail {
		return kadm.PartitionDetail{Leader: leader, Replicas: replicas, ISR: insync}
	}
	all := []int32{1, 2, 3}
	healthy := kadm.TopicDetail{Topic: "points", Partitions: kadm.PartitionDetails{0: partition(1, all, all)}}
	incomplete := kadm.TopicDetail{Topic: "audit", Partitions: kadm.PartitionDetails{
		0: partition(2, all, []int32{2, 3}), 1: partition(1, all, all),
	}}
	offline := kadm.TopicDetail{Topic: "graph.events", Partitions: kadm.PartitionDetails{
		0: partition(1, all, all), 1: partition(-1, all, []int32{3}),
	}}
	groups := kadm.TopicDetail{Topic: groupOffsetsTopic, Partitions: kadm.PartitionDetails{
		0: partition(1, []int32{1}, []int32{1}),
	}}
	meta := kadm.Metadata{
		Brokers: kadm.BrokerDetails{{NodeID: 1}, {NodeID: 2}},
		Topics: kadm.TopicDetails{
			"points": healthy, "audit": incomplete, "graph.events": offline, groupOffsetsTopic: groups,
		},
	}
	brokers := knownBrokers(meta)
	require.Equal(t, 3, brokers, "a broker that is unavailable is counted, because it has replicas")
	batches := map[string]int64{"points": 1 << 20, "audit": 1 << 20, "graph.events": 1 << 20} // not of the groups
	var topics []observedTopic
	for _, detail := range []kadm.TopicDetail{healthy, incomplete, offline, groups} {
		topics = append(topics, newObservedTopic(detail, brokers, batches[detail.Topic]))
	}
	report := newReport(topics)
	require.Equal(t, []Finding{
		{[]string{"graph.events"}, "partitions without a leader accept and return no records", adviceBrokers},
		{[]string{"audit", "graph.events"}, "partitions lack in-sync replicas", adviceBrokers},
		{
			[]string{groupOffsetsTopic},
			"replication factor 1 in a cluster of 3 brokers: without one broker, consumer groups stop", adviceReplicas,
		},
	}, report.Findings)
	require.Equal(t, 3, report.Topics)
	require.Equal(t, 3, report.Replication)
}
