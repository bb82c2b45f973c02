package kafka_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/test/kafkatest"
)

// TestTopicsOfThreeBrokersAreCreatedSafelyAndChecked creates topics beside one that an operator created
// with one replica, and kills its broker.
func TestTopicsOfThreeBrokersAreCreatedSafelyAndChecked(t *testing.T) {
	q := kafkatest.NewQuorum(t)
	unlimited, insync := "-1", "1"
	_, err := q.Admin.CreateTopic(
		t.Context(), 1, 1, map[string]*string{"retention.ms": &unlimited, "min.insync.replicas": &insync}, "audit",
	)
	require.NoError(t, err)
	c, err := kafka.Open(context.Background(), kafka.Options{
		Brokers: q.Brokers(), BufferedBytes: 1 << 20, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	require.NoError(t, c.EnsureTopics(ctx, graphSettings(2)))
	const (
		incomplete = "partitions lack in-sync replicas"
		offline    = "partitions without a leader accept and return no records"
		oneReplica = "replication factor 1 in a cluster of 3 brokers: the loss of a broker loses records"
		unclean    = "unclean.leader.election.enable=true: a replica without the last records may become leader, and they " +
			"are lost"
	)
	findings := func() (map[string][]string, error) {
		report, err := kafka.CheckTopics(ctx, q.Admin, "")
		found := map[string][]string{}
		for _, f := range report.Findings {
			found[f.Detail] = f.Topics
		}
		return found, err
	}
	q.AwaitInSync(t, "points", "points.dlq", "graph.commands", "graph.events")
	found, err := findings()
	require.NoError(t, err)
	require.Equal(t, map[string][]string{oneReplica: {"audit"}}, found, "topics with three replicas are safe")

	enabled := "true"
	_, err = q.Admin.AlterTopicConfigs(
		ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "unclean.leader.election.enable", Value: &enabled}},
		"graph.events",
	)
	require.NoError(t, err)
	killed := q.Leader(t, "audit", 0)
	q.Kill(t, killed)
	require.Eventually(t, func() bool {
		found, err := findings()
		return err == nil && slices.Contains(found[incomplete], "points") &&
			slices.Equal(found[offline], []string{"audit"}) && slices.Equal(found[oneReplica], []string{"audit"}) &&
			slices.Equal(found[unclean], []string{"graph.events"})
	}, time.Minute, 100*time.Millisecond, "the broker that is missing and the setting are found")
	_, err = c.ProducePoints(ctx, "req", []pointblock.Message{message(0, "a"), message(1, "b")})
	require.NoError(t, err, "two brokers accept records")

	q.Start(t, killed)
	require.Eventually(t, func() bool {
		found, err := findings()
		return err == nil && found[offline] == nil && found[incomplete] == nil
	}, time.Minute, 100*time.Millisecond)
	requireDefaultOfBrokers(t, q)
}

// requireDefaultOfBrokers requires that new topics have the min.insync.replicas of the brokers if that is
// higher than 2.
func requireDefaultOfBrokers(t *testing.T, q *kafkatest.Quorum) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	three := "3"
	_, err := q.Admin.AlterBrokerConfigs(
		ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "min.insync.replicas", Value: &three}},
	)
	require.NoError(t, err)
	c, err := kafka.Open(ctx, kafka.Options{
		Brokers: q.Brokers(), TopicPrefix: "strict-", BufferedBytes: 1 << 20, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	require.NoError(t, c.EnsureTopics(ctx, graphSettings(1)))
	require.Eventually(t, func() bool {
		report, err := kafka.CheckTopics(ctx, q.Admin, "strict-")
		return err == nil && report.MinInsync == 3
	}, time.Minute, 100*time.Millisecond, "it is not lowered")
}
