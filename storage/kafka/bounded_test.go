package kafka

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

func TestCutsLeaveWhatIsNotConsumedAndNeverEmptyAPartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, 10_000).Draw(t, "kept")
		consumed := rapid.Bool().Draw(t, "has a group")
		state := make([]PartitionState, rapid.IntRange(1, 8).Draw(t, "partitions"))
		total, free := int64(0), true
		for p := range state {
			start := rapid.Int64Range(0, 1_000_000).Draw(t, "start")
			end := start + rapid.Int64Range(0, 5_000).Draw(t, "records")
			state[p] = PartitionState{Start: start, End: end, Committed: rapid.Int64Range(-1, end).Draw(t, "committed")}
			total += end - start
			free = free && (!consumed || state[p].Committed == end)
		}
		offsets := trimOffsets(state, limit, consumed)
		if total <= limit {
			require.Empty(t, offsets)
		}
		remaining := total
		for p, offset := range offsets {
			s := state[p]
			require.Greater(t, offset, s.Start)
			require.Less(t, offset, s.End, "a partition is never emptied")
			if consumed {
				require.LessOrEqual(t, offset, s.Committed, "unconsumed records stay")
			}
			remaining -= offset - s.Start
		}
		if total > limit && free {
			require.LessOrEqual(t, remaining, max(int64(trimTarget*float64(limit))+2*int64(len(state)), int64(len(state))),
				"if everything is consumed, no more than the target remains")
		}
	})
}

func TestRecordsBehindAreTheSumOfPartitions(t *testing.T) {
	state := []PartitionState{
		{Start: 0, End: 100, Committed: 60}, {Start: 10, End: 30, Committed: -1}, {Start: 5, End: 5, Committed: 5},
	}
	require.InDelta(t, 0.6, recordsBehind(state, 100), 1e-9)
	require.Zero(t, recordsBehind(state, 0), "no bound")
}

// openBounded opens a client with a limit of 1,000 records of topic points. inMemory is whether the
// broker keeps batches in memory.
func openBounded(t *testing.T, inMemory bool) *Client {
	t.Helper()
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.DataDir(t.TempDir()))
	require.NoError(t, err)
	t.Cleanup(broker.Close)
	c, err := Open(t.Context(), Options{
		Brokers: broker.ListenAddrs(), BufferedBytes: 64 << 20, PointsGroup: "points", LogFullThreshold: 0.8,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), maxPointsRecords: 1000, BatchesInMemory: inMemory,
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	require.NoError(t, c.EnsureTopics(t.Context(), TopicSettings{
		Partitions: 2, Replication: -1, RetentionBytes: 256 << 20,
	}))
	return c
}

// produce writes n small records to each of the two partitions.
func produce(t *testing.T, c *Client, n int) error {
	t.Helper()
	messages := make([]pointblock.Message, 0, 2*n)
	for i := range 2 * n {
		messages = append(messages, pointblock.Message{Partition: int32(i % 2), Value: []byte("small")})
	}
	_, err := c.ProducePoints(context.Background(), "req", messages)
	return err
}

// startOffsets returns the start offsets of the partitions of topic points.
func startOffsets(t *testing.T, c *Client) [2]int64 {
	t.Helper()
	state, err := c.Observe(t.Context())
	require.NoError(t, err)
	return [2]int64{state.State[0].Start, state.State[1].Start}
}

func commit(t *testing.T, c *Client, offset int64) {
	t.Helper()
	var offsets kadm.Offsets
	offsets.AddOffset(TopicPoints, 0, offset, -1)
	offsets.AddOffset(TopicPoints, 1, offset, -1)
	responses, err := c.admin.CommitOffsets(t.Context(), "points", offsets)
	require.NoError(t, err)
	require.NoError(t, responses.Error())
}

func TestTheEmbeddedBrokerKeepsALimitedNumberOfRecords(t *testing.T) {
	c := openBounded(t, true)
	require.NoError(t, produce(t, c, 700))
	require.Eventually(t, func() bool {
		return c.LogFill() > 1.39 && c.LogFill() < 1.41
	}, time.Minute, 50*time.Millisecond,
		"1,400 of 1,000 are not consumed")
	require.True(t, fault.Is(produce(t, c, 1), fault.Unavailable), "produces are refused")
	c.boundRecords(t.Context(), c.points)
	require.Equal(t, [2]int64{0, 0}, startOffsets(t, c), "unconsumed records stay")

	commit(t, c, 500)
	c.boundRecords(t.Context(), c.points)
	require.Equal(t, [2]int64{250, 250}, startOffsets(t, c), "900 are left")
	require.Eventually(t, func() bool { return c.LogFill() < 0.41 }, time.Minute, 50*time.Millisecond)
	require.NoError(t, produce(t, c, 100))

	commit(t, c, 800)
	require.Eventually(t, func() bool { return c.LogFill() == 0 }, time.Minute, 50*time.Millisecond)
	// On a busy machine, produces are refused until the watcher has seen the commits.
	require.EventuallyWithT(t, func(tick *assert.CollectT) {
		if err := produce(t, c, 100); !fault.Is(err, fault.Unavailable) {
			require.NoError(tick, err)
		}
		state, err := c.Observe(t.Context())
		require.NoError(tick, err)
		commit(t, c, state.State[0].End)
		require.Greater(tick, state.State[0].Start, int64(250))
	}, 40*time.Second, 500*time.Millisecond, "watchTopics trims from time to time")
}

func TestOtherBrokersFollowTheirSettings(t *testing.T) {
	c := openBounded(t, false)
	require.NoError(t, produce(t, c, 2000))
	commit(t, c, 2000)
	require.Eventually(t, func() bool {
		return c.LogFill() == 0
	}, time.Minute, 50*time.Millisecond)
	c.boundRecords(t.Context(), c.points)
	require.Equal(t, [2]int64{0, 0}, startOffsets(t, c))
	require.NoError(t, produce(t, c, 1))
}
