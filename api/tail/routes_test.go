package tail_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/tail"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/registry"
	"github.com/livegraph/livegraph/test/testenv"
)

// grown is how many partitions the topic has when more were added.
const grown = 7

// mover makes a source whose points go to the partition when there are as few partitions
// as at first, and to another one when there are more.
func (w *world) mover(partition int32) uuid.UUID {
	w.t.Helper()
	for {
		id := uuid.New()
		if pointblock.Partition(id, partitions) == partition && pointblock.Partition(id, grown) != partition {
			return w.create(id)
		}
	}
}

// routed is a record of one point of the source, sent when the topic had so many
// partitions.
func (w *world) routed(source uuid.UUID, value float64, of int32) pointblock.Message {
	w.t.Helper()
	m := w.message(source, value)
	m.Partition = pointblock.Partition(source, of)
	return m
}

func (w *world) grow(k *testenv.Broker) {
	w.t.Helper()
	_, err := k.Admin(w.t).UpdatePartitions(w.t.Context(), grown, k.Prefix+"points")
	require.NoError(w.t, err)
	require.Eventually(w.t, func() bool { return w.log.Partitions() == grown }, 20*time.Second, 10*time.Millisecond)
}

// caughtUp opens a stream at a position and returns what it has missed.
func (w *world) caughtUp(source uuid.UUID, after tail.Position) (s *tail.Stream, values []float64) {
	w.t.Helper()
	s, err := w.hub.Open(w.t.Context(), tail.Opening{
		Workspace: w.workspace, Key: uuid.New(), Filter: registry.SeriesFilter{Sources: []uuid.UUID{source}}, After: &after,
	})
	require.NoError(w.t, err)
	require.NoError(w.t, s.CatchUp(w.t.Context(), func(list []tail.Delivery) error {
		for i := range list {
			for _, b := range list[i].Blocks {
				values = append(values, b.Numbers...)
			}
		}
		return nil
	}))
	return s, values
}

// TestAStreamHearsLateRecordsOfEarlierRoutes sends what another process had divided among
// the partitions before more were added.
func TestAStreamHearsLateRecordsOfEarlierRoutes(t *testing.T) {
	testenv.EachKafka(t, func(t *testing.T, k *testenv.Broker) {
		w := newWorld(t, k)
		moved, beside := w.mover(0), w.source(1)
		w.grow(k)
		s := w.open(registry.SeriesFilter{Sources: []uuid.UUID{moved}})
		require.Len(t, s.Position().Next, 2, "as many partitions as the source has had")
		w.send(w.routed(moved, 1, grown))
		require.Equal(t, []float64{1}, w.values(s, 1))
		w.send(w.routed(beside, 2, partitions), w.routed(moved, 3, partitions))
		require.Equal(t, []float64{3}, w.values(s, 1), "late")
		position := s.Position()
		s.Close()

		w.send(w.routed(moved, 4, partitions), w.routed(moved, 5, grown))
		s, missed := w.caughtUp(moved, position)
		defer s.Close()
		require.Empty(t, s.Missed())
		require.ElementsMatch(t, []float64{4, 5}, missed)
		w.send(w.routed(moved, 6, partitions))
		require.Equal(t, []float64{6}, w.values(s, 1))
	})
}

// TestAStreamHearsEveryPartitionUntilItsRouteIsRecorded has points come by a route that is
// recorded after the topic was seen: another process may have seen fewer partitions.
func TestAStreamHearsEveryPartitionUntilItsRouteIsRecorded(t *testing.T) {
	w := prepareWorld(t, testenv.NewKFake(t), false)
	w.start(tail.Deps{Log: w.log})
	a := w.source(0)
	s := w.open(registry.SeriesFilter{Sources: []uuid.UUID{a}})
	defer s.Close()
	m := w.message(a, 1)
	m.Partition = 3
	w.send(m)
	require.Equal(t, []float64{1}, w.values(s, 1))
	position := s.Position()

	require.NoError(t, w.recordRoutes(t.Context()))
	w.send(w.message(a, 2))
	known, missed := w.caughtUp(a, position)
	defer known.Close()
	require.Empty(t, known.Missed())
	require.Equal(t, []float64{2}, missed)
	require.Len(t, known.Position().Next, 1)
}

func TestAStreamEndsWhenPartitionsAreAdded(t *testing.T) {
	k := testenv.NewKFake(t)
	w := newWorld(t, k)
	moved := w.mover(0)
	s := w.open(registry.SeriesFilter{Sources: []uuid.UUID{moved}})
	defer s.Close()
	w.grow(k)
	select {
	case <-s.Ready():
	case <-time.After(20 * time.Second):
		require.FailNow(t, "the stream goes on")
	}
	_, dropped := s.Take()
	require.Equal(t, tail.LogChanged, dropped)
	again, _ := w.caughtUp(moved, s.Position())
	defer again.Close()
	require.Equal(t, tail.LogChanged, again.Missed())
}

// stuck is a log whose changes are not seen any more.
type stuck struct {
	*kafka.Client
	topic kafka.TopicInfo
	seen  time.Time
}

func (s stuck) PointsTopic() kafka.TopicInfo { return s.topic }
func (s stuck) PointsSeen() time.Time        { return s.seen }

// TestAStreamVouchesForNothingAfterTheTopicWasSeen has a process not learn for a while that
// another one sends to partitions that were added.
func TestAStreamVouchesForNothingAfterTheTopicWasSeen(t *testing.T) {
	w := prepareWorld(t, testenv.NewKFake(t), true)
	seen := time.Now().Add(-time.Minute)
	w.start(tail.Deps{Log: stuck{Client: w.log, topic: w.log.PointsTopic(), seen: seen}})
	a := w.source(0)
	s := w.open(registry.SeriesFilter{Sources: []uuid.UUID{a}})
	defer s.Close()
	w.send(w.message(a, 1))
	require.Equal(t, []float64{1}, w.values(s, 1))
	require.LessOrEqual(t, s.Position().SinceUS, seen.UnixMicro())
	require.Eventually(t, func() bool {
		s.Settle()
		return s.Position().Next[0] == 1
	}, 20*time.Second, 10*time.Millisecond)
	require.LessOrEqual(t, s.Position().SinceUS, seen.UnixMicro())
}
