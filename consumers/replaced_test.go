package consumers

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres"
)

func TestWhatWasReplacedIsKnownUntilItIsRecorded(t *testing.T) {
	var r Replaced
	require.Empty(t, r.Offsets())
	r.Remove(nil)
	r.Add(1, 10)
	r.Add(2, 20)
	r.Add(3, -1) // the offset is unknown
	known := r.Offsets()
	require.Equal(t, map[int32]int64{1: 10, 2: 20}, known)

	r.Add(0, 0)
	r.Add(2, 15) // while the known ones are recorded
	r.Remove(known)
	require.Equal(t, map[int32]int64{0: 0, 2: 15}, r.Offsets())
}

func TestTheStateOfATopicHasTheReplacedRecords(t *testing.T) {
	seen := kafka.TopicState{
		TopicInfo: kafka.TopicInfo{ID: [16]byte{7}},
		State:     []kafka.PartitionState{{Start: 1, End: 5}, {Start: 0, End: 9}, {}},
	}
	require.Equal(t, postgres.LogState{TopicID: [16]byte{7}, Partitions: []postgres.LogPartition{
		{Start: 1, End: 5, ReplacedFrom: -1}, {Start: 0, End: 9, ReplacedFrom: 4}, {ReplacedFrom: 0},
	}}, LogState(seen, map[int32]int64{1: 4, 2: 0, 8: 3}))
	require.Empty(t, LogState(kafka.TopicState{}, nil).Partitions)
}
