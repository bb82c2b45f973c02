package kafka_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/test/kafkatest"
)

func TestTheLogIsTrimmedByTimeAsFarAsItIsCommitted(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, b *kafkatest.Broker) {
		c := open(t, b, nil)
		admin := b.Admin(t)
		name := b.Prefix + "points"
		produce := func(n int) {
			for range n {
				_, err := c.ProducePoints(t.Context(), "req_1", []pointblock.Message{message(0, "a"), message(1, "b")})
				require.NoError(t, err)
			}
		}
		commit := func(partition int32, at int64) {
			offsets := kadm.Offsets{}
			offsets.Add(kadm.Offset{Topic: name, Partition: partition, At: at, LeaderEpoch: -1})
			require.NoError(t, admin.CommitAllOffsets(t.Context(), b.Prefix+"points", offsets))
		}
		trim := func(at time.Time, removed int64, starts ...int64) {
			t.Helper()
			n, err := c.TrimBefore(t.Context(), kafka.TopicPoints, at)
			require.NoError(t, err)
			require.Equal(t, removed, n)
			state, err := c.Observe(t.Context())
			require.NoError(t, err)
			for p, start := range starts {
				require.Equal(t, start, state.State[p].Start, "partition %d", p)
			}
		}
		produce(5)
		require.Eventually(t, func() bool { // the broker may have to create the topic of group offsets first
			_, err := c.Observe(t.Context())
			return err == nil
		}, time.Minute, 50*time.Millisecond)
		later := time.Now().Add(time.Hour)
		trim(later, 0, 0, 0) // nothing is committed
		commit(0, 3)
		trim(later, 3, 3, 0)
		trim(later, 0, 3, 0)
		commit(0, 5)
		commit(1, 5)
		trim(time.Now().Add(-time.Hour), 0, 3, 0)
		trim(later, 1+4, 4, 4) // the last record of each partition stays
		time.Sleep(20 * time.Millisecond)
		between := time.Now()
		time.Sleep(20 * time.Millisecond)
		produce(2)
		commit(0, 7)
		commit(1, 6)
		trim(between, 2, 5, 5) // by time, up to the first newer record
		trim(later, 1+1, 6, 6)
		produce(2)
		commit(0, 1000) // of a deleted topic of the same name: the group has consumed nothing of this one
		trim(later, 0, 6, 6)
		require.Zero(t, c.LostRecords(), "no uncommitted records are removed")
		_, err := c.TrimBefore(t.Context(), "nothing", later)
		require.Error(t, err)
	})
}
