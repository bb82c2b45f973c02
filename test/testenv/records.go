package testenv

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// recordsPatience bounds the wait for records that the broker says it has.
const recordsPatience = time.Minute

// Records returns every record that topics hold at the time of the call; without topics, those
// of all there are. It goes by the ends that the broker tells, not by how long nothing comes:
// on a busy machine that would find fewer.
func Records(t *testing.T, b *Broker, topics ...string) []*kgo.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), recordsPatience)
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

	left := int64(0)
	from := map[string]map[int32]kgo.Offset{}
	ends.Each(func(end kadm.ListedOffset) {
		start, _ := starts.Lookup(end.Topic, end.Partition)
		left += end.Offset - start.Offset
		if from[end.Topic] == nil {
			from[end.Topic] = map[int32]kgo.Offset{}
		}
		from[end.Topic][end.Partition] = kgo.NewOffset().At(start.Offset)
	})
	client.AddConsumePartitions(from)
	records := []*kgo.Record{}
	for left > 0 {
		fetches := client.PollFetches(ctx)
		require.NoError(t, fetches.Err())
		records = append(records, fetches.Records()...)
		left -= int64(fetches.NumRecords())
	}
	return records
}
