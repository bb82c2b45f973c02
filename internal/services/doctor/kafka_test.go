package doctor_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/services/doctor"
)

// TestTopicsThatAreTooWeakForTheirClusterAreReported has topics of three brokers: one that is safe, one
// with a replica, and one that accepts records with a replica.
func TestTopicsThatAreTooWeakForTheirClusterAreReported(t *testing.T) {
	brokers, err := kfake.NewCluster(kfake.NumBrokers(3))
	require.NoError(t, err)
	t.Cleanup(brokers.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers.ListenAddrs()...))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	admin := kadm.NewClient(client)
	target := doctor.Target{KafkaBrokers: brokers.ListenAddrs(), TopicPrefix: "eu-", PointsTopic: "eu-points"}
	require.NotContains(t, byName(t, doctor.Check(t.Context(), target)), "topics", "they are created by the first start")

	create := func(topic string, replication int16, insync string) {
		unlimited, bytes, largest := "-1", "1073741824", "12582912"
		_, err := admin.CreateTopic(t.Context(), 1, replication, map[string]*string{
			"retention.ms": &unlimited, "retention.bytes": &bytes, "max.message.bytes": &largest, "min.insync.replicas": &insync,
		}, topic)
		require.NoError(t, err)
	}
	create("eu-points", 3, "2")
	found := byName(t, doctor.Check(t.Context(), target))["topics"]
	require.Equal(t, doctor.OK, found.Status, found.Detail)
	require.Equal(t, "1 topic, replication factor 3, min.insync.replicas 2", found.Detail)

	create("eu-graph.commands", 1, "1")
	create("eu-graph.events", 3, "1")
	create("eu-audit", 3, "1")
	create("points", 1, "1") // of another installation
	results := doctor.Check(t.Context(), target)
	found = byName(t, results)["topics"]
	require.Equal(t, doctor.Warning, found.Status)
	require.Contains(t, found.Detail, "4 topics, replication factor 1; eu-graph.commands: replication factor 1 in a "+
		"cluster of 3 brokers: the loss of a broker loses records; eu-graph.events, eu-audit: min.insync.replicas=1: ")
	require.Contains(t, found.Advice, "set min.insync.replicas=2")
	require.Contains(t, found.Advice, "docs/operations.md, Kafka with three brokers")
}
