package kafkatest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/test/kafkatest"
)

func TestKafkaKeepsRecordsAndItsAddressOverARestart(t *testing.T) {
	broker := kafkatest.NewKFake(t)
	client, err := kgo.NewClient(broker.Opts(kgo.DefaultProduceTopic("topic"),
		kgo.ConsumeTopics("topic"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	require.NoError(t, err)
	defer client.Close()
	_, err = kadm.NewClient(client).CreateTopic(t.Context(), 2, -1, nil, "topic")
	require.NoError(t, err)
	require.NoError(t, client.ProduceSync(t.Context(), kgo.StringRecord("one")).FirstErr())

	before := broker.Brokers()
	broker.Stop(t)
	broker.Start(t)
	require.Equal(t, before, broker.Brokers())

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	fetches := client.PollFetches(ctx)
	require.NoError(t, fetches.Err())
	require.Equal(t, "one", string(fetches.Records()[0].Value))
}
