package kafka_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/test/kafkatest"
)

// large is the size of a large record. The retention of a partition is 32 of them.
const large = 512 << 10

func refusesWhenFull(o *kafka.Options) { o.LogFullThreshold = 0.8 }

// send produces up to n records to partition 1, until one is refused, and returns how many were
// acknowledged.
func send(t *testing.T, c *kafka.Client, n, bytes int) int {
	t.Helper()
	value := make([]byte, bytes)
	for i := range n {
		if _, err := c.ProducePoints(
			context.Background(), "req", []pointblock.Message{{Partition: 1, Value: value}},
		); err != nil {
			requireUnavailable(t, err)
			return i
		}
	}
	return n
}

func TestABurstBetweenTwoMeasurementsDoesNotOverfillTheLog(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, b *kafkatest.Broker) {
		c := open(t, b, refusesWhenFull)
		sent := send(t, c, 100, large)
		require.Less(t, sent, 32, "retention removes unconsumed records")
		require.Greater(t, sent, 18)
	})
}

func TestLargeRecordsBehindManySmallOnesAreCountedByTheirBytes(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, b *kafkatest.Broker) {
		c := open(t, b, refusesWhenFull)
		const small = 2000
		require.Equal(t, small, send(t, c, small, 100))
		commitAt(t, c, b, small).Leave()
		require.Eventually(t, func() bool { return c.LogFill() == 0 }, time.Minute, 50*time.Millisecond)
		require.Equal(t, 16, send(t, c, 16, large))
		require.Eventually(t, func() bool {
			return c.LogFill() > 0.45 && c.LogFill() < 0.6
		}, time.Minute, 50*time.Millisecond,
			"8 of 16 MiB, in 16 of 2016 records")
		require.Less(t, send(t, c, 100, large), 12)
	})
}

func TestRaisingTheRetentionAllowsMoreProduces(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, b *kafkatest.Broker) {
		c := open(t, b, refusesWhenFull)
		require.Less(t, send(t, c, 100, large), 32)
		raised := "67108864"
		changed, err := b.Admin(t).AlterTopicConfigs(t.Context(),
			[]kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.bytes", Value: &raised}}, b.Prefix+"points")
		require.NoError(t, err)
		require.NoError(t, changed[0].Err)
		require.Eventually(t, func() bool { return send(t, c, 1, large) == 1 }, time.Minute, 50*time.Millisecond)
	})
}

func TestRecordsThatTheConsumerHasStoredDoNotFillTheLog(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, b *kafkatest.Broker) {
		c := open(t, b, refusesWhenFull)
		commitAt(t, c, b, int64(send(t, c, 100, large))).Leave()
		require.Eventually(t, func() bool { return send(t, c, 1, large) == 1 }, time.Minute, 50*time.Millisecond)
		require.Greater(t, send(t, c, 100, large), 18)
	})
}
