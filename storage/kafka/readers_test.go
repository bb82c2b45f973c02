package kafka

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
)

// lags returns the values of a gauge by group and topic.
func lags(t require.TestingT, registry *prometheus.Registry, name string) map[[2]string]float64 {
	families, err := registry.Gather()
	require.NoError(t, err)
	found := map[[2]string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			var key [2]string
			for _, l := range m.GetLabel() {
				switch l.GetName() {
				case "group":
					key[0] = l.GetValue()
				case topicLabel:
					key[1] = l.GetValue()
				}
			}
			found[key] = m.GetGauge().GetValue()
		}
	}
	return found
}

func TestEachReaderOfATopicHasALag(t *testing.T) {
	const (
		records = "livegraph_kafka_reader_lag_records"
		seconds = "livegraph_kafka_reader_lag_seconds"
	)
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	registry := prometheus.NewPedanticRegistry()
	c := openEvents(t, cluster.ListenAddrs(), func(o *Options) {
		o.PointsGroup, o.CommandsGroup, o.AuditGroup, o.EventsGroups = "points", "commands", "audit", []string{
			"lexical", "embeddings",
		}
		o.Metrics = registry
	})
	var changes []Record
	for range 20 {
		changes = append(changes, Record{Workspace: uuid.New(), Value: []byte("change")})
	}
	require.NoError(t, c.ProduceEvents(t.Context(), changes))
	lexical, embeddings := [2]string{"lexical", TopicEvents}, [2]string{"embeddings", TopicEvents}
	requireLags := func(want map[[2]string]float64, message string) {
		t.Helper()
		require.EventuallyWithT(t, func(e *assert.CollectT) {
			assert.Equal(e, want, lags(e, registry, records), message)
		}, 20*time.Second, 50*time.Millisecond)
	}
	all := map[[2]string]float64{
		{"points", TopicPoints}: 0, {"commands", TopicCommands}: 0, {"audit", TopicAudit}: 0, lexical: 20, embeddings: 20,
	}
	requireLags(all, "a group that has committed nothing lags by all records")

	state, err := c.ObserveTopic(t.Context(), TopicEvents)
	require.NoError(t, err)
	read := kadm.Offsets{}
	for p, s := range state.State {
		read.Add(kadm.Offset{Topic: TopicEvents, Partition: int32(p), At: s.End, LeaderEpoch: -1})
	}
	require.NoError(t, c.admin.CommitAllOffsets(t.Context(), "lexical", read))
	all[lexical] = 0
	requireLags(all, "the groups' lags are independent")
	late := lags(t, registry, seconds)
	require.Len(t, late, len(all))
	require.Zero(t, late[lexical])
	require.Positive(t, late[embeddings])
	require.Less(t, late[embeddings], time.Minute.Seconds())
	require.NotContains(t, lags(t, registry, "livegraph_kafka_partition_lag_records"), [2]string{"", TopicEvents},
		"the metric of the topics' main consumers does not include other groups")
}
