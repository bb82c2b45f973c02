package points_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/native"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/registry"
	"github.com/livegraph/livegraph/test/chtest"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

func TestWithTheStoreStoppedTheLogFillsMemoryDoesNotAndAllIsVisibleAfterwards(t *testing.T) {
	server := testenv.StoppableClickHouse(t)
	w := newFixtureOn(t, kafkatest.NewKFake(t), server.Address(), pgtest.Migrated(t))
	w.config.BatchRows = 10_000
	w.config.BatchBytes = 1 << 20
	w.config.FetchBytes = 1 << 20
	s := make([]series, 8)
	for i := range s {
		s[i] = w.numberSeries(uuid.New(), "m")
	}
	c := w.consume()
	w.produce(w.numberMessages(s[0], times(-1), []float64{0}))
	w.waitSettled()

	require.NoError(t, server.Stop(context.Background()))
	ts, values := make([]int64, 1000), make([]float64, 1000)
	n := int64(0)
	for range 4000 { // 4 M points, 40 MB of records
		for i := range ts {
			ts[i], values[i] = t0+n*second, float64(n)
			n++
		}
		w.produce(w.numberMessages(s[n/1000%8], ts, values))
	}
	require.Eventually(t, func() bool { return c.Metrics().Retries.Load() > 2 }, time.Minute, 10*time.Millisecond)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("heap in use with the store stopped: %d MiB, including the test's broker", m.HeapInuse>>20)
	require.Less(t, m.HeapInuse, uint64(256<<20))

	require.NoError(t, server.Start(context.Background()))
	began := time.Now()
	w.waitConsumedWithin(30 * time.Second)
	t.Logf("all visible %s after the store was back", time.Since(began))
	require.Equal(t, fmt.Sprintf("%d %d", n+1, n*(n-1)/2), w.query(
		"SELECT concat(toString(count()), ' ', toString(toUInt64(sum(value)))) FROM points FINAL",
	))
}

func TestATopicThatIsCreatedAgainWhileRunningHasHigherVersions(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w := newFixture(t, broker)
		s := w.numberSeries(uuid.New(), "m")
		w.consume()
		for i := range int64(10) {
			w.produce(w.numberMessages(s, times(0, i), []float64{100 + float64(i), float64(i)}))
		}
		w.waitSettled()
		require.Equal(t, "0=109 1=1 2=2 3=3 4=4 5=5 6=6 7=7 8=8 9=9", w.values(s))

		old := w.log.PointsTopic().ID
		broker.Recreate(t, w.topic, partitions)
		require.Eventually(t, func() bool { return w.log.PointsTopic().ID != old }, time.Minute, 10*time.Millisecond)
		w.produceEventually(w.numberMessages(s, times(0, 20), []float64{200, 20}))
		w.waitSettled()
		require.Equal(t, "0=200 1=1 2=2 3=3 4=4 5=5 6=6 7=7 8=8 9=9 20=20", w.values(s))
		require.Equal(t, "20\t20", w.latest(s))
	})
}

// produceEventually retries until the producer has found the new topic.
func (w *fixture) produceEventually(messages []pointblock.Message) {
	w.tb.Helper()
	require.Eventually(w.tb, func() bool {
		_, err := w.log.ProducePoints(context.Background(), "req_test", messages)
		return err == nil
	}, time.Minute, 50*time.Millisecond)
}

func TestOffsetsThatBeginAgainHaveHigherVersions(t *testing.T) {
	w := newFixture(t, kafkatest.NewKFake(t))
	s := w.numberSeries(uuid.New(), "m")
	partition := pointblock.Partition(s.source, partitions)
	c := w.consume()
	for i := range int64(10) {
		w.produce(w.numberMessages(s, times(0, i), []float64{100 + float64(i), float64(i)}))
	}
	w.waitSettled()
	c.stop(t)
	w.log.Close()

	// Trimmed to nothing and restarted, the embedded broker begins at offset 0.
	w.broker.Trim(t, w.topic, partition, 10)
	w.broker.Stop(t)
	w.broker.Start(t)
	w.log = w.client()
	state, err := w.log.Observe(t.Context())
	require.NoError(t, err)
	require.Zero(t, state.State[partition].End, "this is what the test is about")
	positions := w.produce(w.numberMessages(s, times(0, 20), []float64{200, 20}))
	require.Zero(t, positions[0].Offset)
	w.consume()
	w.waitSettled()
	require.Equal(t, "0=200 1=1 2=2 3=3 4=4 5=5 6=6 7=7 8=8 9=9 20=20", w.values(s))
	marks, err := w.registry.Watermarks(t.Context(), state.ID)
	require.NoError(t, err)
	require.EqualValues(t, 1, marks[partition])
}

func TestABrokerThatCrashesUnderLoadLosesNothing(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w := newFixture(t, broker)
		s := w.numberSeries(uuid.New(), "m")
		w.consume()
		n := int64(0)
		crashes := 3
		if broker.Edition == kafkatest.Apache {
			crashes = 1 // it restarts slowly
		}
		for round := range crashes + 1 {
			for range 50 {
				w.produceEventually(w.numberMessages(s, times(n), []float64{float64(n)}))
				n++
			}
			if round < crashes {
				broker.Crash(t)
			}
		}
		w.waitSettled()
		require.Equal(t, sum(n), w.query("SELECT concat(toString(count()), ' ', toString(sum(value))) FROM points FINAL"))
	})
}

func TestPartitionsThatAreAddedMoveSeriesUnderHigherVersions(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w := newFixture(t, broker)
		var s series // one that moves
		for {
			s = w.numberSeries(uuid.New(), "m")
			if pointblock.Partition(s.source, 4) != pointblock.Partition(s.source, 8) {
				break
			}
		}
		w.consume()
		for i := range int64(10) {
			w.produce(w.numberMessages(s, times(0), []float64{float64(i)}))
		}
		w.waitSettled()
		_, err := broker.Admin(t).UpdatePartitions(t.Context(), 8, w.topic)
		require.NoError(t, err)
		require.Eventually(t, func() bool { return w.log.Partitions() == 8 }, time.Minute, 10*time.Millisecond)
		w.produceEventually(w.numberMessages(s, times(0), []float64{99}))
		w.waitSettled()
		require.Equal(t, "0=99", w.values(s))
		require.Equal(t, "0\t99", w.latest(s))
	})
}

func TestADeletionSparesWhatIsWrittenAfterIt(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w := newFixture(t, broker)
		s, other := w.numberSeries(uuid.New(), "m"), w.numberSeries(uuid.New(), "m")
		other.source = s.source
		other.metric = "n"
		from, to := t0+2*second, t0+5*second
		all := [][]pointblock.Message{
			w.numberMessages(s, times(0, 1, 2, 3, 4, 5, 6), []float64{0, 1, 2, 3, 4, 5, 6}),
			w.numberMessages(other, times(0, 3), []float64{0, 3}),
			w.deletionMessages(pointblock.Deletion{
				Source: s.source, Metric: "m", HasMetric: true, FromUS: from, HasFrom: true, ToUS: to, HasTo: true,
			}),
			w.numberMessages(s, times(3), []float64{33}),
		}
		const want = "0=0 1=1 3=33 5=5 6=6"
		t.Run("in one batch", func(t *testing.T) {
			w.produce(all...)
			c := w.consume()
			w.waitSettled()
			require.Equal(t, want, w.values(s))
			require.Equal(t, "0=0 3=3", w.values(other))
			before := w.dump()
			c.stop(t)
			w.rewind()
			c = w.consume()
			require.Eventually(t, func() bool { return c.Metrics().Snapshot().Records >= 4 }, time.Minute, time.Millisecond)
			require.Equal(t, before, w.dump(), "again")
		})
		t.Run("in separate batches", func(t *testing.T) {
			for _, m := range all {
				w.produce(m)
				w.waitSettled()
			}
			require.Equal(t, want, w.values(s))
			require.Equal(t, "0=0 3=3", w.values(other))
			require.Equal(t, "6\t6", w.latest(s))
		})
		t.Run("of the newest", func(t *testing.T) {
			w.produce(w.deletionMessages(pointblock.Deletion{Source: s.source, FromUS: t0 + 4*second, HasFrom: true}))
			w.waitSettled()
			require.Equal(t, "0=0 1=1 3=33", w.values(s))
			require.Equal(t, "3\t33", w.latest(s))
		})
	})
}

func TestADeletedSourceNeverComesBack(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w := newFixture(t, broker)
		s := w.numberSeries(uuid.New(), "m")
		state := series{source: s.source, metric: "state", kind: pointblock.KindString}
		w.settleAfter = time.Second
		w.consume()
		w.produce(w.numberMessages(s, times(0), []float64{0}), w.stringMessages(state, times(0), []string{"on"}))
		w.waitSettled()
		w.produce(w.deletionMessages(pointblock.Deletion{Source: s.source, WholeSource: true}))
		w.produce(w.numberMessages(s, times(1), []float64{1})) // by a process that does not know yet
		w.waitSettled()
		w.produce(w.stringMessages(state, times(1), []string{"off"}))
		w.waitSettled()
		require.Empty(t, w.query(
			"SELECT series FROM points UNION ALL SELECT series FROM states UNION ALL SELECT series FROM latest",
		))
		require.Eventually(t, func() bool {
			return strings.TrimSpace(w.dump()) == ""
		}, time.Minute, 50*time.Millisecond, "in the end not even the series are known")

		// The same source of another workspace is another source.
		w.workspace = uuid.New()
		w.produce(w.numberMessages(s, times(5), []float64{5}))
		w.waitSettled()
		require.Equal(t, "5=5", w.values(s))
	})
}

func TestATombstoneOfAnotherProcessApplies(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w := newFixture(t, broker)
		s := w.numberSeries(uuid.New(), "m")
		w.consume()
		w.produce(w.numberMessages(s, times(0), []float64{0}))
		w.waitSettled()
		require.NoError(t, w.registry.AddTombstones(t.Context(), []registry.Tombstone{{
			Partition: 0, RecordVersion: 1, Workspace: w.workspace, Source: s.source, Ceiling: registry.CeilingUnlimited,
		}}))
		w.produce(w.numberMessages(s, times(1), []float64{1}))
		w.waitSettled()
		require.NotContains(t, w.values(s), "1=1")
	})
}

func TestStoppingWithAnUnavailableStoreEndsInTimeAndLosesNothing(t *testing.T) {
	server := testenv.StoppableClickHouse(t)
	w := newFixtureOn(t, kafkatest.NewKFake(t), server.Address(), pgtest.Migrated(t))
	w.config.Grace = time.Second
	s := w.numberSeries(uuid.New(), "m")
	c := w.consume()
	w.produce(w.numberMessages(s, times(0), []float64{0}))
	w.waitSettled()
	require.NoError(t, server.Stop(context.Background()))
	w.produce(w.numberMessages(s, times(1), []float64{1}))
	require.Eventually(t, func() bool { return c.Metrics().Retries.Load() > 0 }, time.Minute, time.Millisecond)
	began := time.Now()
	c.stop(t)
	require.Less(t, time.Since(began), 30*time.Second)

	require.NoError(t, server.Start(context.Background()))
	w.consume()
	w.waitSettled()
	require.Equal(t, "0=0 1=1", w.values(s))
}

func TestTheConsumerWaitsForAnUnavailableRegistry(t *testing.T) {
	server := testenv.StoppablePostgres(t)
	w := newFixtureOn(t, kafkatest.NewKFake(t), chtest.Migrated(t), server.Address())
	s := w.numberSeries(uuid.New(), "m")
	c := w.consume()
	w.produce(w.numberMessages(s, times(0), []float64{0}))
	w.waitSettled()
	require.NoError(t, server.Stop(context.Background()))
	w.produce(w.numberMessages(s, times(1), []float64{1}))
	require.Eventually(t, func() bool { return c.Metrics().Retries.Load() > 2 }, time.Minute, time.Millisecond)
	require.NoError(t, server.Start(context.Background()))
	require.Eventually(t, func() bool { return w.values(s) == "0=0 1=1" }, time.Minute, 10*time.Millisecond)
}

func TestRecordsRemovedByRetentionAreCountedAndTheRestIsStored(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w := newFixture(t, broker)
		s := w.numberSeries(uuid.New(), "m")
		c := w.consume()
		w.produce(w.numberMessages(s, times(0), []float64{0}))
		w.waitSettled()
		c.stop(t)
		for i := range int64(9) {
			w.produce(w.numberMessages(s, times(i+1), []float64{float64(i + 1)}))
		}
		broker.Trim(t, w.topic, pointblock.Partition(s.source, partitions), 7)
		c = w.consume()
		w.waitSettled()
		require.Equal(t, "0=0 7=7 8=8 9=9", w.values(s))
		require.EqualValues(t, 6, c.Metrics().Lost.Load())
	})
}

func TestWhatAStaleConsumerStoresAfterADeletionIsDeletedAgain(t *testing.T) {
	server := testenv.StoppableClickHouse(t)
	w := newFixtureOn(t, kafkatest.NewKFake(t), server.Address(), pgtest.Migrated(t))
	s := w.numberSeries(uuid.New(), "m")
	c := w.consume()
	w.produce(w.numberMessages(s, times(0), []float64{0}))
	w.waitSettled()
	require.NoError(t, server.Stop(context.Background()))
	w.produce(w.numberMessages(s, times(1, 2), []float64{1, 2}))
	require.Eventually(t, func() bool { return c.Metrics().Retries.Load() > 1 }, time.Minute, time.Millisecond)
	// Meanwhile another process has the partition, consumes it, and finds a deletion.
	to := t0 + 2*second
	require.NoError(t, w.registry.AddTombstones(t.Context(), []registry.Tombstone{{
		Partition: 0, RecordVersion: 1, Workspace: w.workspace, Source: s.source, ToUS: &to, Ceiling: 1 << 50,
	}}))
	require.NoError(t, server.Start(context.Background()))
	w.waitSettled()
	require.Equal(t, "2=2", w.values(s))
	require.Equal(t, "2\t2", w.latest(s))
}

func TestACommitAboveWhatIsStoredIsIgnored(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w := newFixture(t, broker)
		s := w.numberSeries(uuid.New(), "m")
		c := w.consume()
		w.produce(w.numberMessages(s, times(0), []float64{0}))
		w.waitSettled()
		c.stop(t)
		w.produce(w.numberMessages(s, times(1), []float64{1}), w.numberMessages(s, times(2), []float64{2}))
		w.commit(pointblock.Partition(s.source, partitions), 3)
		w.consume()
		w.waitSettled()
		require.Equal(t, "0=0 1=1 2=2", w.values(s))
	})
}

func TestAGenerationRecordedByAnotherProcessAppliesFromTheNextBatch(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w := newFixture(t, broker)
		s := w.numberSeries(uuid.New(), "m")
		w.consume()
		w.produce(w.numberMessages(s, times(0), []float64{0}))
		w.waitSettled()
		_, raised, err := w.registry.ResolveGenerations(t.Context(), "points", func(ctx context.Context) (
			postgres.LogState, error,
		) {
			seen, err := w.log.Observe(ctx)
			state := postgres.LogState{TopicID: seen.ID, Partitions: make([]postgres.LogPartition, partitions+1)}
			for p := range state.Partitions {
				state.Partitions[p].ReplacedFrom = -1
				if p < partitions {
					state.Partitions[p].End = seen.State[p].End
				}
			}
			return state, err
		})
		require.NoError(t, err)
		require.Len(t, raised, partitions+1)
		w.produce(w.numberMessages(s, times(1), []float64{1}))
		w.waitSettled()
		require.Equal(t, "1\n2", w.query("SELECT bitShiftRight(version, 48) FROM points FINAL ORDER BY ts"))
	})
}

func TestADeletionIsRepeatedForWhatADeadProcessLeftUnderWay(t *testing.T) {
	w := newFixture(t, kafkatest.NewKFake(t))
	s := w.numberSeries(uuid.New(), "m")
	w.consume()
	w.produce(w.numberMessages(s, times(0), []float64{0}))
	w.waitSettled()
	w.produce(w.deletionMessages(pointblock.Deletion{Source: s.source, WholeSource: true}))
	w.waitSettled()
	require.Empty(t, w.values(s))
	require.NoError(t, w.points.InsertPoints(t.Context(), &clickhouse.PointColumns{
		Series: native.RunsOf(s.ref(w).ID), TS: times(0), Values: []float64{0}, Versions: native.RunsOf(1 << 48),
	}))
	require.Equal(t, "0=0", w.values(s))
	w.ageDeletions()
	require.Eventually(t, func() bool { return w.values(s) == "" }, time.Minute, 10*time.Millisecond)
}
