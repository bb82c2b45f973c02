package embedded_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/test/kafkatest"
)

// Start returns the capabilities of the engines that it has started, not of configured ones.
func TestEnginesDeclareTheirCapabilities(t *testing.T) {
	elsewhere := embedded.Addresses{ClickHouseURL: "-", PostgresURL: "-", RedisURL: "-", MilvusAddress: "-"}
	engines, err := embedded.Start(t.Context(), embedded.Options{
		DataDir: t.TempDir(), Configured: elsewhere, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, engines.Stop(context.Background())) }()
	require.Equal(
		t, config.Capabilities{Kafka: config.KafkaCapabilities{BatchesInMemory: true}}, engines.Addresses().Capabilities,
	)
}

func TestKafkaDropsTheOldestBeyondRetentionAlsoAfterARestart(t *testing.T) {
	broker := kafkatest.NewKFake(t)
	client, err := kgo.NewClient(broker.Opts(kgo.DefaultProduceTopic("bounded"),
		kgo.ProducerBatchMaxBytes(2<<20), kgo.ProducerBatchCompression(kgo.NoCompression()))...)
	require.NoError(t, err)
	defer client.Close()
	admin := kadm.NewClient(client)
	bound, segment := "4000000", "1000000"
	_, err = admin.CreateTopic(
		t.Context(), 1, -1, map[string]*string{"retention.bytes": &bound, "segment.bytes": &segment}, "bounded",
	)
	require.NoError(t, err)
	const records = 100
	produce := func() {
		for range records {
			require.NoError(
				t, client.ProduceSync(t.Context(), &kgo.Record{Value: bytes.Repeat([]byte("x"), 100_000)}).FirstErr(),
			)
		}
	}
	offsets := func() (start, end int64) {
		starts, err := admin.ListStartOffsets(t.Context(), "bounded")
		require.NoError(t, err)
		ends, err := admin.ListEndOffsets(t.Context(), "bounded")
		require.NoError(t, err)
		s, _ := starts.Lookup("bounded", 0)
		e, _ := ends.Lookup("bounded", 0)
		return s.Offset, e.Offset
	}
	trimmed := func() bool {
		start, end := offsets()
		return end-start <= 41 && end > start
	}
	produce()
	require.Eventually(t, trimmed, time.Minute, 50*time.Millisecond)

	broker.Stop(t)
	broker.Start(t)
	_, end := offsets()
	require.EqualValues(t, records, end, "offsets go on after a restart")
	produce()
	require.Eventually(t, trimmed, time.Minute, 50*time.Millisecond)
	_, end = offsets()
	require.EqualValues(t, 2*records, end)
}
