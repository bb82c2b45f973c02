package kafka

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/kafka/topiccheck"
)

// clusterOf starts a cluster of brokers in this process. It replicates nothing, but has the metadata and
// the settings of a cluster.
func clusterOf(t *testing.T, brokers int) []string {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(brokers))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	return cluster.ListenAddrs()
}

// openLogging returns a client of a cluster and the text that it logs.
func openLogging(t *testing.T, addresses []string) (*Client, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	c, err := Open(t.Context(), Options{
		Brokers: addresses, TopicPrefix: "eu-", BufferedBytes: 1 << 20,
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c, &log
}

func ensure(t *testing.T, c *Client, replication, minInsync int16) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return c.EnsureTopics(ctx, TopicSettings{
		Partitions: 2, CommandsPartitions: 2, Replication: replication, MinInsyncReplicas: minInsync, RetentionBytes: 1 << 30,
	})
}

func TestNewTopicsRequireTwoReplicasIfTheyHaveThree(t *testing.T) {
	for name, c := range map[string]struct {
		brokers                int
		replication, minInsync int16
		want                   string
	}{
		"three replicas":            {3, 3, 0, "2"},
		"three by default":          {3, -1, 0, "2"},
		"two replicas":              {3, 2, 0, "1"},
		"one broker":                {1, -1, 0, "1"},
		"as configured":             {3, 3, 1, "1"},
		"three, as configured":      {3, -1, 3, "3"},
		"the brokers' default":      {3, 3, -1, "1"},
		"two of two, as configured": {2, 2, 2, "2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, _ := openLogging(t, clusterOf(t, c.brokers))
			require.NoError(t, ensure(t, client, c.replication, c.minInsync))
			configs, err := client.admin.DescribeTopicConfigs(t.Context(), "eu-points", "eu-audit.dlq")
			require.NoError(t, err)
			require.Len(t, configs, 2)
			for _, topic := range configs {
				for _, setting := range topic.Configs {
					if setting.Key == topiccheck.MinInsync {
						require.Equal(t, c.want, setting.MaybeValue(), topic.Name)
					}
				}
			}
		})
	}
}

func TestTopicsThatWouldAcceptNoRecordAreNotCreated(t *testing.T) {
	client, _ := openLogging(t, clusterOf(t, 1))
	err := ensure(t, client, -1, 2)
	require.Equal(t, fault.Invalid, fault.KindOf(err), "%v", err)
	require.ErrorContains(t, err, "lower --kafka-min-insync-replicas")
	topics, err := client.admin.ListTopics(t.Context())
	require.NoError(t, err)
	require.Empty(t, topics.Names())
}

func TestSettingsOfTopicsThatEndangerRecordsAreFoundAndLogged(t *testing.T) {
	for name, c := range map[string]struct {
		brokers     int
		replication int16
		settings    map[string]string
		want        []string // parts of the details, in order
		advice      string
	}{
		"safe": {3, 3, map[string]string{"min.insync.replicas": "2"}, nil, ""},
		"safe with five replicas": {
			5, 5, map[string]string{"min.insync.replicas": "3", "max.message.bytes": "9000000"}, nil, "",
		},
		"one broker": {1, 1, nil, nil, ""},
		"one replica": {
			3, 1, nil, []string{"replication factor 1 in a cluster of 3 brokers: the loss of a broker"}, "three replicas",
		},
		"two replicas": {
			3, 2, nil, []string{"factor 2 in a cluster of 3 brokers: the loss of 2 brokers", "min.insync.replicas=1: "},
			"three replicas",
		},
		"two of two brokers": {
			2, 2, map[string]string{"min.insync.replicas": "2"},
			[]string{"min.insync.replicas=2 with 2 replicas: no record is accepted while one broker"}, "three brokers",
		},
		"acknowledged by one": {3, 3, nil, []string{"min.insync.replicas=1: a record"}, "set min.insync.replicas=2"},
		"all must be in sync": {
			3, 3, map[string]string{"min.insync.replicas": "3"},
			[]string{"min.insync.replicas=3 with 3 replicas: no record is accepted while"}, "set min.insync.replicas=2",
		},
		"more than exist": {
			1, 1, map[string]string{"min.insync.replicas": "2"},
			[]string{"min.insync.replicas=2 with 1 replica: no record is accepted"}, "three brokers",
		},
		"unclean": {
			1, 1, map[string]string{"unclean.leader.election.enable": "true"}, []string{"unclean.leader.election.enable=true"},
			"set unclean.leader.election.enable=false",
		},
		"compacted": {
			1, 1, map[string]string{"cleanup.policy": "compact,delete"}, []string{"cleanup.policy=compact,delete: "},
			"set cleanup.policy=delete",
		},
		"removed by age": {
			1, 1, map[string]string{"retention.ms": "604800000"}, []string{"retention.ms=604800000: "}, "set retention.ms=-1",
		},
		"small records only": {
			1, 1, map[string]string{"max.message.bytes": "1000000"}, []string{"max.message.bytes=1000000: larger records"},
			"set max.message.bytes=1048588",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addresses := clusterOf(t, c.brokers)
			client, log := openLogging(t, addresses)
			settings := map[string]string{"retention.ms": "-1", "retention.bytes": "1073741824"}
			for key, value := range c.settings {
				settings[key] = value
			}
			_, err := client.admin.CreateTopic(t.Context(), 2, c.replication, pointers(settings), "eu-points")
			require.NoError(t, err)
			require.NoError(t, ensure(t, client, int16(min(c.brokers, 3)), -1))
			report, err := CheckTopics(t.Context(), client.admin, "eu-")
			require.NoError(t, err)
			require.Equal(t, 8, report.Topics)
			client.Close() // logs no more
			var found []topiccheck.Finding
			for _, f := range report.Findings {
				for _, topic := range f.Topics {
					if topic == "eu-points" {
						found = append(found, f)
					}
				}
			}
			require.Len(t, found, len(c.want), "%+v", found)
			for i, f := range found {
				require.Contains(t, f.Detail, c.want[i])
				require.Contains(t, f.Advice, c.advice)
			}
			for _, f := range report.Findings {
				require.Equal(t, 1, strings.Count(log.String(), `msg="`+f.Detail+`"`), "a warning for each at the start")
			}
		})
	}
}
