package kafka

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/kafka/marklist"
)

func TestLagInSecondsIsTheAgeOfTheOldestRecordThatIsNotCommitted(t *testing.T) {
	var l lagAges
	now := time.Unix(1_000_000, 0)
	step := func(end, committed int64) time.Duration {
		now = now.Add(time.Second)
		l.observe([]PartitionState{{Start: 0, End: end, Committed: committed}}, now)
		return l.age(0, now)
	}
	require.Zero(t, step(0, -1), "an empty partition")
	require.Zero(t, step(10, 10), "caught up")
	require.Zero(t, step(20, 10), "the oldest record is new")
	require.Equal(t, time.Second, step(30, 10))
	require.Equal(t, 2*time.Second, step(30, 10))
	require.Equal(t, 2*time.Second, step(30, 20), "the second record is the oldest now")
	require.Zero(t, step(30, 30))
	require.Zero(t, step(5, -1), "a recreated topic")
	require.Zero(t, l.age(7, now), "an unknown partition")
}

func TestLagInSecondsIsBoundedInMemoryAndRightInALongOutage(t *testing.T) {
	var l lagAges
	began := time.Unix(1_000_000, 0)
	const seconds = 100_000
	for i := range seconds {
		l.observe([]PartitionState{{End: int64(i+1) * 10, Committed: 0}}, began.Add(time.Duration(i)*time.Second))
		require.LessOrEqual(t, len(l.partitions[0].list), marklist.Max)
	}
	now := began.Add(seconds * time.Second)
	require.Equal(t, seconds*time.Second, l.age(0, now))
	l.observe([]PartitionState{{End: seconds * 10, Committed: seconds * 5}}, now) // half is committed
	require.InDelta(t, seconds/2, l.age(0, now).Seconds(), seconds/50)
}
