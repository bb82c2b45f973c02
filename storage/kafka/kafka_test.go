package kafka_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/test/kafkatest"
)

const retention = 16 << 20

func settings(partitions int32) kafka.TopicSettings {
	return kafka.TopicSettings{Partitions: partitions, Replication: -1, RetentionBytes: retention}
}

// open returns a client and creates its topics.
func open(tb testing.TB, b *kafkatest.Broker, change func(*kafka.Options)) *kafka.Client {
	tb.Helper()
	opts := kafka.Options{
		Brokers: b.Brokers(), Security: b.Security(), TopicPrefix: b.Prefix, BufferedBytes: 64 << 20,
		PointsGroup: b.Prefix + "points",
	}
	if change != nil {
		change(&opts)
	}
	c, err := kafka.Open(context.Background(), opts)
	require.NoError(tb, err)
	tb.Cleanup(c.Close)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	require.NoError(tb, c.EnsureTopics(ctx, settings(4)))
	return c
}

func message(partition int32, text string) pointblock.Message {
	return pointblock.Message{Partition: partition, Key: []byte("key"), Value: []byte(text)}
}

// requireUnavailable requires an error that the API answers with 503 and Retry-After.
func requireUnavailable(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, fault.Unavailable, fault.KindOf(err), err.Error())
	var fe *fault.Error
	require.ErrorAs(t, err, &fe)
	require.Positive(t, fe.RetryAfter)
}

// consume returns the records of the topic and requires at least n.
func consume(t *testing.T, b *kafkatest.Broker, topic string, n int) []*kgo.Record {
	t.Helper()
	records := kafkatest.Records(t, b, b.Prefix+topic)
	require.GreaterOrEqual(t, len(records), n)
	return records
}

func TestRecordsLandInTheirPartitionWithTheRequestID(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, b *kafkatest.Broker) {
		c := open(t, b, nil)
		require.EqualValues(t, 4, c.PointsTopic().Partitions)
		require.NotZero(t, c.PointsTopic().ID)

		positions, err := c.ProducePoints(context.Background(), "req_1", []pointblock.Message{
			message(3, "a"), message(0, "b"), message(3, "c"),
		})
		require.NoError(t, err)
		require.Equal(
			t, []pointblock.Position{{Partition: 3, Offset: 0}, {Partition: 0, Offset: 0}, {Partition: 3, Offset: 1}}, positions,
		)

		for _, r := range consume(t, b, "points", 3) {
			require.Equal(t, "req_1", string(kafka.Header(r, kafka.HeaderRequestID)))
			require.Equal(t, map[string]int32{"a": 3, "b": 0, "c": 3}[string(r.Value)], r.Partition)
		}
	})
}

func TestTopicsAreCreatedWithTheirSettingsAndKeptWhenTheyExist(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, b *kafkatest.Broker) {
		c := open(t, b, func(o *kafka.Options) { o.TopicPrefix += "eu-" })
		for topic, largest := range map[string]string{"eu-points": "1048588", "eu-points.dlq": "2097152"} {
			admin := b.Admin(t)
			var config kadm.ResourceConfig
			require.Eventually(t, func() bool { // the broker receives a new topic's metadata after a short time
				configs, err := admin.DescribeTopicConfigs(t.Context(), b.Prefix+topic)
				require.NoError(t, err)
				config, err = configs.On(b.Prefix+topic, nil)
				require.NoError(t, err)
				return config.Err == nil
			}, time.Minute, 10*time.Millisecond)
			configs := map[string]string{}
			for _, c := range config.Configs {
				configs[c.Key] = c.MaybeValue()
			}
			require.Equal(t, strconv.Itoa(retention), configs["retention.bytes"])
			require.Equal(t, "-1", configs["retention.ms"])
			require.Equal(t, largest, configs["max.message.bytes"])
		}

		require.NoError(t, c.EnsureTopics(context.Background(), kafka.TopicSettings{
			Partitions: 9, Replication: -1, RetentionBytes: 1,
		}))
		require.EqualValues(t, 4, c.Partitions())
	})
}

func TestWithTheBrokerGoneAProduceIsRefusedAtOnceAndRecovers(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, b *kafkatest.Broker) {
		c := open(t, b, nil)
		b.Stop(t)
		require.Eventually(t, func() bool { return !c.Healthy() }, time.Minute, 10*time.Millisecond)
		began := time.Now()
		_, err := c.ProducePoints(context.Background(), "req_1", []pointblock.Message{message(0, "a")})
		requireUnavailable(t, err)
		require.Less(t, time.Since(began), 4*time.Second, "it does not wait for the produce timeout, 5 s")

		b.Start(t)
		require.Eventually(t, c.Healthy, time.Minute, 10*time.Millisecond)
		_, err = c.ProducePoints(context.Background(), "req_1", []pointblock.Message{message(0, "b")})
		require.NoError(t, err)
	})
}

func TestABrokerThatHangsIsDetectedInASecondAndCallersReturn(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, b *kafkatest.Broker) {
		var frozen atomic.Bool
		c := open(t, b, func(o *kafka.Options) { o.Dial = freezable(&frozen) })
		_, err := c.ProducePoints(context.Background(), "req_1", []pointblock.Message{message(0, "a")})
		require.NoError(t, err)

		frozen.Store(true)
		began := time.Now()
		_, err = c.ProducePoints(context.Background(), "req_1", []pointblock.Message{message(0, "b")})
		requireUnavailable(t, err)
		require.Less(t, time.Since(began), 4*time.Second)
		require.False(t, c.Healthy())
		frozen.Store(false)
		require.Eventually(t, func() bool {
			_, err = c.ProducePoints(context.Background(), "req_1", []pointblock.Message{message(0, "c")})
			return err == nil
		}, time.Minute, 100*time.Millisecond)
	})
}

// freezable dials connections that neither send nor receive while frozen.
func freezable(frozen *atomic.Bool) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, host string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, host)
		return &frozenConn{Conn: conn, frozen: frozen}, err
	}
}

type frozenConn struct {
	net.Conn
	frozen *atomic.Bool
}

func (c *frozenConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	for c.frozen.Load() {
		time.Sleep(5 * time.Millisecond)
	}
	return n, err
}

func TestAFullBufferIsRefusedAtOnce(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, b *kafkatest.Broker) {
		var frozen atomic.Bool
		c := open(t, b, func(o *kafka.Options) { o.Dial = freezable(&frozen); o.BufferedBytes = 1 << 20 })
		big := pointblock.Message{Partition: 0, Value: make([]byte, 700<<10)}
		_, err := c.ProducePoints(context.Background(), "req_1", []pointblock.Message{big})
		require.NoError(t, err)
		frozen.Store(true)
		waiting := make(chan error, 1)
		go func() {
			_, err := c.ProducePoints(context.Background(), "req_1", []pointblock.Message{big})
			waiting <- err
		}()
		time.Sleep(50 * time.Millisecond)
		began := time.Now()
		_, err = c.ProducePoints(context.Background(), "req_2", []pointblock.Message{big})
		requireUnavailable(t, err)
		require.Contains(t, err.Error(), "buffers are full")
		require.Less(t, time.Since(began), 4*time.Second, "it does not wait for the produce timeout, 5 s")
		frozen.Store(false)
		t.Log("the one that waited:", <-waiting)
	})
}

// TestSequenceNumbersForgottenInARestartDoNotStopTheProducer uses kfake: only kfake loses sequence
// numbers.
func TestSequenceNumbersForgottenInARestartDoNotStopTheProducer(t *testing.T) {
	b := kafkatest.NewKFake(t)
	c := open(t, b, nil)
	for round := range 3 {
		for i := range 20 {
			require.Eventually(t, func() bool {
				_, err := c.ProducePoints(context.Background(), "req", []pointblock.Message{message(0, fmt.Sprint(round, i))})
				return err == nil
			}, time.Minute, 10*time.Millisecond)
		}
		b.Stop(t)
		forgetProducers(t, filepath.Join(b.Dir, "log"))
		b.Start(t)
		require.Eventually(t, c.Healthy, time.Minute, 10*time.Millisecond)
	}
	require.GreaterOrEqual(t, len(consume(t, b, "points", 60)), 60)
}

// forgetProducers removes the broker's producer state, as a crash does.
func forgetProducers(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		switch e.Name() {
		case "pids.log", "seq_windows.json", "session_state.json", "pids.json":
			require.NoError(t, os.Remove(dir+"/"+e.Name()))
		}
	}
}

func TestARecreatedTopicIsAdoptedAfterItsChangeWasAnnounced(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, b *kafkatest.Broker) {
		var announced atomic.Int32
		var ready atomic.Bool
		ready.Store(true)
		c := open(t, b, func(o *kafka.Options) {
			o.OnTopicChange = func(context.Context, kafka.TopicInfo) error {
				announced.Add(1)
				if !ready.Load() {
					return fmt.Errorf("not yet")
				}
				return nil
			}
		})
		old := c.PointsTopic()
		_, err := c.ProducePoints(context.Background(), "req", []pointblock.Message{message(0, "old")})
		require.NoError(t, err)

		ready.Store(false)
		b.Recreate(t, b.Prefix+"points", 6)
		require.Eventually(t, func() bool { return announced.Load() > 2 }, time.Minute, 10*time.Millisecond)
		require.Equal(t, old, c.PointsTopic(), "no change takes effect before it is prepared")
		ready.Store(true)
		require.Eventually(t, func() bool { return c.PointsTopic().ID != old.ID }, time.Minute, 10*time.Millisecond)
		require.EqualValues(t, 6, c.Partitions())
		require.Eventually(t, func() bool {
			positions, err := c.ProducePoints(context.Background(), "req", []pointblock.Message{message(5, "new")})
			return err == nil && positions[0].Offset == 0
		}, time.Minute, 50*time.Millisecond)
	})
}

func TestLogFillIsTheLagOfTheGroupAndLossesAreDetected(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, b *kafkatest.Broker) {
		c := open(t, b, func(o *kafka.Options) { o.LogFullThreshold = 0.8 })
		value := make([]byte, 512<<10)
		produce := func(n int) (err error) {
			for range n {
				if _, err = c.ProducePoints(
					context.Background(), "req", []pointblock.Message{{Partition: 1, Value: value}},
				); err != nil {
					return err
				}
			}
			return nil
		}
		require.NoError(t, produce(16)) // 8 of 16 MiB
		require.Eventually(t, func() bool {
			return c.LogFill() > 0.45 && c.LogFill() < 0.55
		}, time.Minute, 50*time.Millisecond, "half full")

		group := commitAt(t, c, b, 8)
		require.Eventually(t, func() bool {
			return c.LogFill() < 0.3
		}, time.Minute, 50*time.Millisecond, "caught up by half")
		group.Leave()

		requireUnavailable(t, produce(20)) // 18 of them would be 13 MiB
		require.Eventually(t, func() bool {
			return c.LogFill() > 0.75 && c.LogFill() < 1
		}, time.Minute, 50*time.Millisecond)

		b.Trim(t, b.Prefix+"points", 1, 20)
		require.Eventually(t, func() bool { return c.LostRecords() == 12 }, time.Minute, 50*time.Millisecond)
	})
}

// commitAt joins the group and commits an offset of partition 1.
func commitAt(t *testing.T, c *kafka.Client, b *kafkatest.Broker, at int64) *kafka.Group {
	t.Helper()
	g, err := c.Join(kafka.GroupOptions{
		Topic: b.Prefix + "points", Group: b.Prefix + "points", FetchBytes: 1 << 20,
		Start:   func(context.Context, map[int32]int64) (map[int32]int64, error) { return nil, nil },
		Revoked: func([]int32, bool) {},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err = g.Poll(ctx, 1)
	require.NoError(t, err)
	require.NoError(t, g.Commit(ctx, map[int32]kgo.EpochOffset{1: {Epoch: -1, Offset: at}}))
	g.AllowRebalance()
	return g
}

func TestADeadLetterContainsTheRecordAndTheFailure(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, b *kafkatest.Broker) {
		c := open(t, b, nil)
		largest := make([]byte, pointblock.MaxRecordBytes)
		_, err := c.ProducePoints(context.Background(), "req_9", []pointblock.Message{
			{Partition: 2, Key: []byte("k"), Value: largest},
		})
		require.NoError(t, err)
		record := consume(t, b, "points", 1)[0]

		require.NoError(t, c.ProduceDeadLetters(context.Background(), []kafka.DeadLetter{
			{Record: record, Version: 1 << 48, Reason: "unreadable"},
		}))
		letter := consume(t, b, "points.dlq", 1)[0]
		require.Equal(t, record.Value, letter.Value)
		require.Equal(t, record.Key, letter.Key)
		for name, want := range map[string]string{
			kafka.HeaderError: "unreadable", kafka.HeaderTopic: b.Prefix + "points", kafka.HeaderPartition: "2",
			kafka.HeaderOffset:  "0",
			kafka.HeaderVersion: "281474976710656", kafka.HeaderRequestID: "req_9",
		} {
			require.Equal(t, want, string(kafka.Header(letter, name)), name)
		}
	})
}
