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
	"github.com/livegraph/livegraph/test/kafkatest"
)

// grownPartitions is the number of partitions of the topic after more were added.
const grownPartitions = 7

// movedSource creates a source whose points go to the partition with the initial number of
// partitions, and to another one after more were added.
func (env *environment) movedSource(partition int32) uuid.UUID {
	env.t.Helper()
	for {
		id := uuid.New()
		if pointblock.Partition(id, partitions) == partition && pointblock.Partition(id, grownPartitions) != partition {
			return env.create(id)
		}
	}
}

// routedMessage returns a record with one point of the source, sent when the topic had
// partitionCount partitions.
func (env *environment) routedMessage(source uuid.UUID, value float64, partitionCount int32) pointblock.Message {
	env.t.Helper()
	m := env.message(source, value)
	m.Partition = pointblock.Partition(source, partitionCount)
	return m
}

func (env *environment) addPartitions(k *kafkatest.Broker) {
	env.t.Helper()
	_, err := k.Admin(env.t).UpdatePartitions(env.t.Context(), grownPartitions, k.Prefix+"points")
	require.NoError(env.t, err)
	require.Eventually(env.t, func() bool {
		return env.log.Partitions() == grownPartitions
	}, time.Minute, 10*time.Millisecond)
}

// openCaughtUp opens a stream at a position and returns it with the values that it missed.
func (env *environment) openCaughtUp(source uuid.UUID, after tail.Position) (s *tail.Stream, values []float64) {
	env.t.Helper()
	s, err := env.hub.Open(env.t.Context(), tail.OpenOptions{
		Workspace: env.workspace, Key: uuid.New(), Filter: registry.SeriesFilter{Sources: []uuid.UUID{source}}, After: &after,
	})
	require.NoError(env.t, err)
	require.NoError(env.t, s.CatchUp(env.t.Context(), func(list []tail.Delivery) error {
		for i := range list {
			for _, b := range list[i].Blocks {
				values = append(values, b.Numbers...)
			}
		}
		return nil
	}))
	return s, values
}

// TestAStreamHearsLateRecordsOfEarlierRoutes sends records that another process had assigned to
// partitions before more were added.
func TestAStreamHearsLateRecordsOfEarlierRoutes(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, k *kafkatest.Broker) {
		env := newEnvironment(t, k)
		moved, beside := env.movedSource(0), env.source(1)
		env.addPartitions(k)
		s := env.open(registry.SeriesFilter{Sources: []uuid.UUID{moved}})
		require.Len(t, s.Position().Next, 2, "one partition for each route of the source")
		env.send(env.routedMessage(moved, 1, grownPartitions))
		require.Equal(t, []float64{1}, env.values(s, 1))
		env.send(env.routedMessage(beside, 2, partitions), env.routedMessage(moved, 3, partitions))
		require.Equal(t, []float64{3}, env.values(s, 1), "late")
		position := s.Position()
		s.Close()

		env.send(env.routedMessage(moved, 4, partitions), env.routedMessage(moved, 5, grownPartitions))
		s, missed := env.openCaughtUp(moved, position)
		defer s.Close()
		require.Empty(t, s.Missed())
		require.ElementsMatch(t, []float64{4, 5}, missed)
		env.send(env.routedMessage(moved, 6, partitions))
		require.Equal(t, []float64{6}, env.values(s, 1))
	})
}

// TestAStreamHearsEveryPartitionUntilItsRouteIsRecorded sends points by a route that is recorded
// after the stream was opened: another process may have seen fewer partitions.
func TestAStreamHearsEveryPartitionUntilItsRouteIsRecorded(t *testing.T) {
	env := prepareEnvironment(t, kafkatest.NewKFake(t), false)
	env.start(tail.Deps{Log: env.log})
	a := env.source(0)
	s := env.open(registry.SeriesFilter{Sources: []uuid.UUID{a}})
	defer s.Close()
	m := env.message(a, 1)
	m.Partition = 3
	env.send(m)
	require.Equal(t, []float64{1}, env.values(s, 1))
	position := s.Position()

	require.NoError(t, env.recordRoutes(t.Context()))
	env.send(env.message(a, 2))
	known, missed := env.openCaughtUp(a, position)
	defer known.Close()
	require.Empty(t, known.Missed())
	require.Equal(t, []float64{2}, missed)
	require.Len(t, known.Position().Next, 1)
}

func TestAStreamEndsWhenPartitionsAreAdded(t *testing.T) {
	k := kafkatest.NewKFake(t)
	env := newEnvironment(t, k)
	moved := env.movedSource(0)
	s := env.open(registry.SeriesFilter{Sources: []uuid.UUID{moved}})
	defer s.Close()
	env.addPartitions(k)
	select {
	case <-s.Ready():
	case <-time.After(20 * time.Second):
		require.FailNow(t, "the stream does not end")
	}
	_, dropped := s.Receive()
	require.Equal(t, tail.LogChanged, dropped)
	again, _ := env.openCaughtUp(moved, s.Position())
	defer again.Close()
	require.Equal(t, tail.LogChanged, again.Missed())
}

// staleLog is a log whose changes are not detected.
type staleLog struct {
	*kafka.Client
	topic kafka.TopicInfo
	seen  time.Time
}

func (s staleLog) PointsTopic() kafka.TopicInfo { return s.topic }
func (s staleLog) PointsObservedAt() time.Time  { return s.seen }

// TestAStreamVouchesForNothingAfterTheTopicWasSeen checks SinceUS in a process that has not yet
// detected new partitions to which another process sends.
func TestAStreamVouchesForNothingAfterTheTopicWasSeen(t *testing.T) {
	env := prepareEnvironment(t, kafkatest.NewKFake(t), true)
	seen := time.Now().Add(-time.Minute)
	env.start(tail.Deps{Log: staleLog{Client: env.log, topic: env.log.PointsTopic(), seen: seen}})
	a := env.source(0)
	s := env.open(registry.SeriesFilter{Sources: []uuid.UUID{a}})
	defer s.Close()
	env.send(env.message(a, 1))
	require.Equal(t, []float64{1}, env.values(s, 1))
	require.LessOrEqual(t, s.Position().SinceUS, seen.UnixMicro())
	require.Eventually(t, func() bool {
		s.Advance()
		return s.Position().Next[0] == 1
	}, time.Minute, 10*time.Millisecond)
	require.LessOrEqual(t, s.Position().SinceUS, seen.UnixMicro())
}
