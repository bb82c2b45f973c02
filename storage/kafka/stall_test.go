package kafka_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/test/kafkatest"
)

// stallLimit is the limit of these tests. It is longer than a fetch waits for records.
const stallLimit = 2 * time.Second

// openForStalls returns a client whose topic of points has records of partitions 0 and 1.
func openForStalls(t *testing.T, b *kafkatest.Broker, records int) *kafka.Client {
	t.Helper()
	c := open(t, b, func(o *kafka.Options) { o.StallLimit = stallLimit })
	produceTo(t, c, records, 0, 1)
	return c
}

func produceTo(t *testing.T, c *kafka.Client, records int, partitions ...int32) {
	t.Helper()
	for range records {
		for _, p := range partitions {
			_, err := c.ProducePoints(t.Context(), "req_1", []pointblock.Message{message(p, "a")})
			require.NoError(t, err)
		}
	}
}

func TestAnAssignmentThatHasStoppedFetchingReadsToTheEnd(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, b *kafkatest.Broker) {
		const records = 20
		c := openForStalls(t, b, records)
		a, err := c.Assign(kafka.AssignOptions{
			Topic: b.Prefix + "points", Name: "test", FetchBytes: 1 << 20,
			Spans: map[int32]kafka.Span{0: {To: records}, 1: {From: 5, To: records}},
		})
		require.NoError(t, err)
		defer a.Close()
		a.StopFetching(0, 1)
		offsets := map[int32][]int64{}
		for began := time.Now(); ; {
			read, err := a.Poll(t.Context(), 7)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			for _, r := range read {
				offsets[r.Partition] = append(offsets[r.Partition], r.Offset)
			}
			if len(read) > 0 && len(offsets[0])+len(offsets[1]) < records {
				a.StopFetching(1) // once more, in the middle
			}
			require.Less(t, time.Since(began), time.Minute)
		}
		requireRange(t, offsets[0], 0, records)
		requireRange(t, offsets[1], 5, records)
	})
}

// requireRange requires all offsets from one to another, in order and each once.
func requireRange(t *testing.T, offsets []int64, from, to int64) {
	t.Helper()
	require.Len(t, offsets, int(to-from))
	for i, offset := range offsets {
		require.Equal(t, from+int64(i), offset)
	}
}

func TestATailThatHasStoppedFetchingContinues(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, b *kafkatest.Broker) {
		c := openForStalls(t, b, 3)
		tail, err := c.TailPoints(map[int32]int64{0: 0, 1: 3}, 1<<20)
		require.NoError(t, err)
		defer func() { tail.Close() }()
		offsets := map[int32][]int64{}
		await := func(partition int32, n int) {
			t.Helper()
			require.Eventually(t, func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond) // as the streams poll
				defer cancel()
				read, err := tail.Poll(ctx, 10)
				require.NoError(t, err)
				for _, r := range read {
					offsets[r.Partition] = append(offsets[r.Partition], r.Offset)
				}
				return len(offsets[partition]) == n
			}, time.Minute, time.Millisecond)
		}
		await(0, 3)
		tail.StopFetching(1)
		produceTo(t, c, 2, 1)
		await(1, 2)
		requireRange(t, offsets[1], 3, 5)
	})
}

func TestAMemberThatHasStoppedFetchingMustLeave(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, b *kafkatest.Broker) {
		c := openForStalls(t, b, 3)
		start := func(_ context.Context, committed map[int32]int64) (map[int32]int64, error) {
			for p, offset := range committed {
				committed[p] = max(offset, 0)
			}
			return committed, nil
		}
		g, err := c.Join(kafka.GroupOptions{
			Topic: b.Prefix + "points", Group: b.Prefix + "points", FetchBytes: 1 << 20, Start: start,
			Revoked: func([]int32, bool) {},
		})
		require.NoError(t, err)
		defer g.Leave()
		poll := func(until time.Duration) (records int, err error) {
			for began := time.Now(); err == nil && time.Since(began) < until; {
				fetches, failure := g.Poll(t.Context(), 10)
				records, err = records+fetches.NumRecords(), failure
				g.AllowRebalance()
			}
			return records, err
		}
		require.Eventually(t, func() bool {
			n, err := poll(time.Millisecond)
			require.NoError(t, err)
			return n > 0
		}, time.Minute, time.Millisecond)
		_, err = poll(2 * stallLimit)
		require.NoError(t, err, "a member that has read everything is not stalled")

		g.Pause(0, true)
		produceTo(t, c, 1, 0)
		_, err = poll(2 * stallLimit)
		require.NoError(t, err, "a paused partition is not stalled")
		g.Pause(0, false)
		require.Eventually(t, func() bool {
			n, err := poll(time.Millisecond)
			require.NoError(t, err)
			return n == 1
		}, time.Minute, time.Millisecond)

		g.StopFetching(1)
		produceTo(t, c, 1, 0, 1)
		_, err = poll(4 * stallLimit)
		require.ErrorIs(t, err, kafka.ErrStalled)
		require.ErrorContains(t, err, "partition 1 from offset 3 on")
	})
}
