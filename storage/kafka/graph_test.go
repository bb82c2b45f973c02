package kafka_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/test/kafkatest"
)

// openGraph returns a client whose graph topics have four partitions.
func openGraph(tb testing.TB, b *kafkatest.Broker, change func(*kafka.Options)) *kafka.Client {
	tb.Helper()
	c := open(tb, b, change)
	require.NoError(tb, c.EnsureTopics(tb.Context(), graphSettings(4)))
	return c
}

func graphSettings(partitions int32) kafka.TopicSettings {
	s := settings(4)
	s.CommandsPartitions = partitions
	return s
}

func TestAWorkspacesCommandsLandInItsPartitionWithWhoWaits(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, b *kafkatest.Broker) {
		c := openGraph(t, b, nil)
		workspace := uuid.New()
		for i := range 3 {
			require.NoError(t, c.ProduceCommand(t.Context(), kafka.Record{
				Workspace: workspace, Value: []byte(strconv.Itoa(i)), RequestID: "req_1", ReplyTo: "me",
			}))
		}
		for i, r := range consume(t, b, kafka.TopicCommands, 3) {
			require.Equal(t, kafka.WorkspacePartition(workspace, 4), r.Partition)
			require.Equal(t, workspace[:], r.Key)
			require.Equal(t, strconv.Itoa(i), string(r.Value))
			require.Equal(t, "req_1", string(kafka.Header(r, kafka.HeaderRequestID)))
			require.Equal(t, "me", string(kafka.Header(r, kafka.HeaderReplyTo)))
		}
	})
}

func TestTheLargestCommandFitsAndALargerOneIsRefused(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, b *kafkatest.Broker) {
		c := openGraph(t, b, nil)
		const room = 16 + len(kafka.HeaderRequestID)
		record := kafka.Record{Workspace: uuid.New(), Value: make([]byte, kafka.MaxCommandBytes-room)}
		require.NoError(t, c.ProduceCommand(t.Context(), record))
		got := consume(t, b, kafka.TopicCommands, 1)[0]
		require.Len(t, got.Value, len(record.Value))

		record.Value = append(record.Value, 0)
		require.True(t, fault.Is(c.ProduceCommand(t.Context(), record), fault.Internal))
		require.NoError(t, c.ProduceDeadLetters(t.Context(), []kafka.DeadLetter{{Record: got, Reason: "unreadable"}}))
		deadLetter := consume(t, b, kafka.TopicCommands+".dlq", 1)[0]
		require.Equal(t, got.Value, deadLetter.Value)
		require.Nil(t, kafka.Header(deadLetter, kafka.HeaderVersion), "versions are of points")
	})
}

func TestTheCommandsPartitionCountIsFixed(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, b *kafkatest.Broker) {
		openGraph(t, b, nil)
		other, err := kafka.Open(t.Context(), kafka.Options{
			Brokers: b.Brokers(), Security: b.Security(), TopicPrefix: b.Prefix, BufferedBytes: 1 << 20,
		})
		require.NoError(t, err)
		defer other.Close()
		err = other.EnsureTopics(t.Context(), graphSettings(6))
		require.True(t, fault.Is(err, fault.Invalid), "%v", err)
		require.ErrorContains(
			t, err, kafka.TopicCommands+" has 4 partitions, but 6 are configured (--kafka-commands-partitions)",
		)
		require.Error(t, other.ProduceCommand(t.Context(), kafka.Record{Workspace: uuid.New()}), "nothing is produced to it")
		require.NoError(t, other.EnsureTopics(t.Context(), graphSettings(4)))
	})
}

func TestARecreatedCommandsTopicIsAnnouncedBeforeItIsUsed(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, b *kafkatest.Broker) {
		var announced atomic.Int32
		var ready atomic.Bool
		ready.Store(true)
		c := openGraph(t, b, func(o *kafka.Options) {
			o.OnCommandsChange = func(_ context.Context, info kafka.TopicInfo) error {
				announced.Add(1)
				if !ready.Load() {
					return fmt.Errorf("not yet")
				}
				require.Equal(t, b.Prefix+kafka.TopicCommands, info.Name)
				return nil
			}
		})
		old := c.Topic(kafka.TopicCommands)
		require.EqualValues(t, 1, announced.Load())
		require.NotZero(t, old.ID)
		require.NoError(t, c.ProduceCommand(t.Context(), kafka.Record{Workspace: uuid.New()}))

		ready.Store(false)
		b.Recreate(t, b.Prefix+kafka.TopicCommands, 4)
		require.Eventually(t, func() bool { return announced.Load() > 2 }, time.Minute, 10*time.Millisecond)
		require.Equal(t, old, c.Topic(kafka.TopicCommands))
		ready.Store(true)
		require.Eventually(t, func() bool {
			return c.ProduceCommand(t.Context(), kafka.Record{Workspace: uuid.New()}) == nil
		}, time.Minute, 50*time.Millisecond)
		require.NotEqual(t, old.ID, c.Topic(kafka.TopicCommands).ID)
	})
}

func TestEventsOfAWorkspaceAreThereInTheirOrderWithoutAGap(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, b *kafkatest.Broker) {
		c := openGraph(t, b, nil)
		workspaces := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
		const n = 3000
		records := make([]kafka.Record, n)
		for i := range records {
			records[i] = kafka.Record{Workspace: workspaces[i%3], Value: []byte(strconv.Itoa(i)), RequestID: "req"}
		}
		require.NoError(t, c.ProduceEvents(t.Context(), records))
		next := map[uuid.UUID]int{workspaces[0]: 0, workspaces[1]: 1, workspaces[2]: 2}
		for _, r := range consume(t, b, kafka.TopicEvents, n) {
			workspace := uuid.UUID(r.Key)
			require.Equal(t, strconv.Itoa(next[workspace]), string(r.Value))
			next[workspace] += 3
		}
	})
}

// No records of a workspace are written after a batch of it that was refused.
func TestEventsThatFailLeaveNoGap(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	b := kafkatest.BrokerAt(cluster.ListenAddrs(), config.KafkaSecurity{})
	c := openGraph(t, b, nil)
	info := c.Topic(kafka.TopicEvents)
	var requests atomic.Int32
	cluster.ControlKey(int16(kmsg.Produce), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		produce := request.(*kmsg.ProduceRequest)
		if produce.Topics[0].TopicID != info.ID && produce.Topics[0].Topic != info.Name {
			return nil, nil, false
		}
		if n := requests.Add(1); n > 12 || n%3 != 2 { // every third request, starting with the second, fails permanently
			return nil, nil, false
		}
		answer := produce.ResponseKind().(*kmsg.ProduceResponse)
		for _, t := range produce.Topics {
			topic := kmsg.NewProduceResponseTopic()
			topic.Topic, topic.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				partition := kmsg.NewProduceResponseTopicPartition()
				partition.Partition, partition.ErrorCode = p.Partition, kerr.InvalidRecord.Code
				topic.Partitions = append(topic.Partitions, partition)
			}
			answer.Topics = append(answer.Topics, topic)
		}
		return answer, nil, true
	})
	workspace := uuid.New()
	records := make([]kafka.Record, 20_000) // several batches, some of which are in flight while others are buffered
	for i := range records {
		records[i] = kafka.Record{Workspace: workspace, Value: binary.BigEndian.AppendUint32(make([]byte, 96), uint32(i))}
	}
	failed := 0
	for c.ProduceEvents(t.Context(), records) != nil {
		failed++
		require.Less(t, failed, 10)
	}
	require.Positive(t, failed)

	state, err := c.ObserveTopic(t.Context(), kafka.TopicEvents)
	require.NoError(t, err)
	total := int(state.State[kafka.WorkspacePartition(workspace, 4)].End)
	require.Greater(t, total, len(records))
	next := uint32(0)
	for _, r := range consume(t, b, kafka.TopicEvents, total) {
		i := binary.BigEndian.Uint32(r.Value[96:])
		require.LessOrEqual(t, i, next)
		next = max(next, i+1)
	}
	require.EqualValues(t, len(records), next)
}
