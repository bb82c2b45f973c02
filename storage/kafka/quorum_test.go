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
	"github.com/livegraph/livegraph/test/testenv"
)

// TestTopicsOfThreeBrokersAreCreatedSafelyAndChecked creates topics beside one that an operator created
// with one replica, and kills its broker.
func TestTopicsOfThreeBrokersAreCreatedSafelyAndChecked(t *testing.T) {
	q := testenv.NewKafkaQuorum(t)
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
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, c.EnsureTopics(ctx, graphSettings(2)))
	findings := func() map[string][]string {
		t.Helper()
		report, err := kafka.CheckTopics(ctx, q.Admin, "")
		require.NoError(t, err)
		found := map[string][]string{}
		for _, f := range report.Findings {
			require.NotEmpty(t, f.Advice)
			found[f.Detail] = f.Topics
		}
		return found
	}
	const (
		incomplete = "partitions lack in-sync replicas"
		offline    = "partitions without a leader accept and return no records"
		oneReplica = "replication factor 1 in a cluster of 3 brokers: the loss of a broker loses records"
		unclean    = "unclean.leader.election.enable=true: a replica without the last records may become leader, and they " +
			"are lost"
	)
	q.AwaitInSync(t, "points", "points.dlq", "graph.commands", "graph.events")
	require.Equal(t, map[string][]string{oneReplica: {"audit"}}, findings(), "topics with three replicas are safe")

	enabled := "true"
	_, err = q.Admin.AlterTopicConfigs(
		ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "unclean.leader.election.enable", Value: &enabled}},
		"graph.events",
	)
	require.NoError(t, err)
	killed := q.Leader(t, "audit", 0)
	q.Kill(t, killed)
	require.Eventually(t, func() bool {
		found := findings()
		return slices.Equal(found[offline], []string{"audit"}) && slices.Contains(found[incomplete], "points") &&
			slices.Equal(found[unclean], []string{"graph.events"}) && slices.Equal(found[oneReplica], []string{"audit"})
	}, time.Minute, 100*time.Millisecond, "the broker that is missing and the setting are found")
	_, err = c.ProducePoints(ctx, "req", []pointblock.Message{message(0, "a"), message(1, "b")})
	require.NoError(t, err, "two brokers accept records")

	q.Start(t, killed)
	require.Eventually(t, func() bool {
		found := findings()
		return found[offline] == nil && found[incomplete] == nil
	}, time.Minute, 100*time.Millisecond)
}
