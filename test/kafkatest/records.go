package kafkatest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// recordsTimeout bounds the wait for records that the broker reports to have.
const recordsTimeout = time.Minute

// Records returns all records that the topics contain at the time of the call; without
// arguments, those of all topics. It reads to the end offsets that the broker reports. A
// timeout without new records would miss some on a busy machine.
func Records(t *testing.T, b *Broker, topics ...string) []*kgo.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), recordsTimeout)
	defer cancel()
	client, err := kgo.NewClient(b.Opts()...)
	require.NoError(t, err)
	defer client.Close()
	admin := kadm.NewClient(client)
	if len(topics) == 0 {
		listed, err := admin.ListTopics(ctx)
		require.NoError(t, err)
		topics = listed.Names()
	}
	starts, err := admin.ListStartOffsets(ctx, topics...)
	require.NoError(t, err)
	require.NoError(t, starts.Error())
	ends, err := admin.ListEndOffsets(ctx, topics...)
	require.NoError(t, err)
	require.NoError(t, ends.Error())

	remaining := int64(0)
	from := map[string]map[int32]kgo.Offset{}
	ends.Each(func(end kadm.ListedOffset) {
		start, _ := starts.Lookup(end.Topic, end.Partition)
		remaining += end.Offset - start.Offset
		if from[end.Topic] == nil {
			from[end.Topic] = map[int32]kgo.Offset{}
		}
		from[end.Topic][end.Partition] = kgo.NewOffset().At(start.Offset)
	})
	client.AddConsumePartitions(from)
	records := []*kgo.Record{}
	for remaining > 0 {
		fetches := client.PollFetches(ctx)
		require.NoError(t, fetches.Err())
		records = append(records, fetches.Records()...)
		remaining -= int64(fetches.NumRecords())
	}
	return records
}
