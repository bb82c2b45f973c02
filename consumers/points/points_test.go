package points_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/test/kafkatest"
)

func TestPointsTextsAndWhatIsKnownOfThemBecomeVisible(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w := newFixture(t, broker)
		source := uuid.New()
		temperature := w.numberSeries(source, "temperature")
		door := series{source: source, metric: "door", kind: pointblock.KindString}
		w.consume()
		w.produce(
			w.numberMessages(temperature, times(0, 1, 2), []float64{20, 21, 22}),
			w.stringMessages(door, times(0, 1), []string{"open", "shut\t€"}),
		)
		w.waitSettled()
		require.Equal(t, "0=20 1=21 2=22", w.values(temperature))
		require.Equal(t, "2\t22", w.latest(temperature))
		require.Equal(t, "1\t0\tshut\\t€", w.latest(door))
		require.Equal(t, source.String()+"\t2026-11-21 07:40:10.000000", w.query(
			"SELECT source, received_at FROM source_activity FINAL",
		))
		require.Equal(t, "door\t{}\t2\ntemperature\t{'room':'a'}\t1", w.query(
			"SELECT metric, tags, kind FROM series FINAL ORDER BY metric",
		))
	})
}

func TestTheValueAcceptedLastWinsInAnyOrderOfTimes(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w := newFixture(t, broker)
		s := w.numberSeries(uuid.New(), "m")
		w.produce(
			w.numberMessages(s, times(5, 6, 7), []float64{5, 6, 7}),
			w.numberMessages(s, times(1, 2, 6), []float64{1, 2, 66}), // out of order, overlaps, overwrites
			w.numberMessages(s, times(9), []float64{9}),
			w.numberMessages(s, times(0, 9), []float64{0, 99}),
		)
		w.consume()
		w.waitSettled()
		require.Equal(t, "0=0 1=1 2=2 5=5 6=66 7=7 9=99", w.values(s))
		require.Equal(t, "9\t99", w.latest(s))
		activity := w.query("SELECT count() FROM source_activity")
		w.produce(w.numberMessages(s, times(7, 9), []float64{77, 999})) // in another batch
		w.waitSettled()
		require.Equal(t, "1", w.query("SELECT count() <= "+activity+" FROM source_activity"), "it came at the same time")
		require.Equal(t, "0=0 1=1 2=2 5=5 6=66 7=77 9=999", w.values(s))
		require.Equal(t, "9\t999", w.latest(s))
	})
}

// produceRandom produces random points of some series, in part out of order and of equal
// times, and returns the series.
func (w *fixture) produceRandom(seed uint64, records int) []series {
	random := rand.New(rand.NewPCG(seed, 0))
	all := make([]series, 12)
	for i := range all {
		id := uuid.UUID{byte(seed), byte(i % 5), 7}
		all[i] = w.numberSeries(id, string(rune('a'+i)))
	}
	for range records {
		s := all[random.IntN(len(all))]
		n := 1 + random.IntN(40)
		ts, values := make([]int64, n), make([]float64, n)
		for i := range ts {
			ts[i], values[i] = t0+int64(random.IntN(200))*second, random.Float64()
		}
		w.produce(w.numberMessages(s, ts, values))
	}
	return all
}

func TestReadingTheLogAgainFromTheStartChangesNothing(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w := newFixture(t, broker)
		w.settleAfter = 200 * time.Millisecond
		all := w.produceRandom(1, 150)
		source := all[0].source
		from := t0 + 50*second
		to := t0 + 80*second
		w.produce(w.deletionMessages(pointblock.Deletion{Source: source, FromUS: from, HasFrom: true, ToUS: to, HasTo: true}))
		w.produceRandom(1, 50)
		w.produce(w.deletionMessages(pointblock.Deletion{Source: all[1].source, WholeSource: true}))
		w.produceRandom(1, 20)
		c := w.consume()
		w.waitSettled()
		require.Eventually(t, func() bool {
			return !strings.Contains(w.dump(), all[1].source.String())
		}, time.Minute, 50*time.Millisecond, "a deleted source")
		before := w.dump()
		for range 2 {
			c.stop(t)
			w.rewind()
			c = w.consume()
			require.Eventually(t, func() bool {
				return c.Metrics().Snapshot().Records >= 222
			}, time.Minute, 5*time.Millisecond)
			w.waitSettled()
			require.Equal(t, before, w.dump())
		}
	})
}

func TestACrashBetweenInsertAndCommitShowsNoPointTwice(t *testing.T) {
	broker, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(broker.Close)
	w := newFixture(t, kafkatest.BrokerAt(broker.ListenAddrs(), config.KafkaSecurity{}))
	w.produceRandom(2, 100)
	fault := broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.UnknownServerError, Count: -1})
	c := w.consume()
	w.waitSettled()
	first := w.dump()
	c.stop(t)
	fault.Remove()
	c = w.consume()
	require.Eventually(t, func() bool {
		return c.Metrics().Snapshot().Records >= 100
	}, time.Minute, 5*time.Millisecond, "all is consumed again")
	require.Equal(t, first, w.dump())
	require.Equal(t, w.query("SELECT uniqExact(series, ts) FROM points"), w.query("SELECT count() FROM points FINAL"))
}

func TestConsumersThatJoinAndLeaveLoseNothing(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w := newFixture(t, broker)
		s := make([]series, 16)
		for i := range s {
			s[i] = w.numberSeries(uuid.New(), "m")
		}
		ctx, cancel := context.WithCancel(t.Context())
		var producer sync.WaitGroup
		sent := int64(0)
		producer.Go(func() {
			for i := int64(0); ctx.Err() == nil; i++ {
				w.produce(w.numberMessages(s[i%16], times(i), []float64{float64(i)}))
				sent++
				time.Sleep(time.Millisecond)
			}
		})
		a := w.consume()
		time.Sleep(700 * time.Millisecond)
		b := w.consume()
		time.Sleep(1500 * time.Millisecond)
		a.stop(t)
		time.Sleep(700 * time.Millisecond)
		c := w.consume()
		time.Sleep(1500 * time.Millisecond)
		b.stop(t)
		cancel()
		producer.Wait()
		w.waitSettled()
		require.Positive(t, c.Metrics().Snapshot().Rows)
		require.Equal(t, sum(sent), w.query("SELECT concat(toString(count()), ' ', toString(sum(value))) FROM points FINAL"))
	})
}

// sum returns the count and the sum of 0, 1 … n-1, separated by a space.
func sum(n int64) string {
	return decimal(n) + " " + decimal(n*(n-1)/2)
}

func TestStoppingStoresAndCommitsWhatIsInFlight(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w := newFixture(t, broker)
		w.config.BatchWait = time.Minute
		s := w.numberSeries(uuid.New(), "m")
		c := w.consume()
		w.produce(w.numberMessages(s, times(0), []float64{1}))
		w.waitSettled() // without BatchWait: the log is drained and there was no earlier batch
		w.produce(w.numberMessages(s, times(1), []float64{2}))
		require.Eventually(t, func() bool { return c.Metrics().Lag.Load() == 0 }, time.Minute, time.Millisecond)
		time.Sleep(100 * time.Millisecond)
		require.Equal(t, "0=1", w.values(s), "the second waits for more records")
		c.stop(t)
		require.Equal(t, "0=1 1=2", w.values(s))
		offsets, err := broker.Admin(t).FetchOffsets(t.Context(), w.group)
		require.NoError(t, err)
		committed, _ := offsets.Lookup(w.topic, pointblock.Partition(s.source, partitions))
		require.EqualValues(t, 2, committed.At)
	})
}

func TestOnlyTheBadRecordBecomesADeadLetterAndTheWatermarkPasses(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w := newFixture(t, broker)
		w.query("ALTER TABLE " + w.points.Layout().Stored("points") + " ADD CONSTRAINT good CHECK value != 666")
		s := w.numberSeries(uuid.New(), "m")
		partition := pointblock.Partition(s.source, partitions)
		foreign := []pointblock.Message{{Partition: partition, Key: []byte("k"), Value: []byte("not a point block")}}
		for i := range int64(20) {
			w.produce(w.numberMessages(s, times(i), []float64{float64(i)}))
			switch i {
			case 7:
				w.produce(foreign)
			case 11:
				w.produce(w.numberMessages(s, times(100, 101), []float64{1, 666}))
			}
		}
		c := w.consume()
		w.waitSettled()
		require.Equal(t, "20 190", w.query(
			"SELECT concat(toString(uniqExact(ts)), ' ', toString(sum(value))) FROM points FINAL",
		))
		require.EqualValues(t, 2, c.Metrics().DeadLetters.Load())
		deadLetters := w.readDeadLetters(2)
		require.Equal(t, foreign[0].Value, deadLetters[0].Value)
		require.Contains(t, string(kafka.Header(deadLetters[0], kafka.HeaderError)), "unreadable")
		require.Equal(t, "8", string(kafka.Header(deadLetters[0], kafka.HeaderOffset)))
		require.Equal(t, "req_test", string(kafka.Header(deadLetters[0], kafka.HeaderRequestID)))
		require.Contains(t, string(kafka.Header(deadLetters[1], kafka.HeaderError)), "refused by the store")
		require.Equal(t, decimal(1<<48|13), string(kafka.Header(deadLetters[1], kafka.HeaderVersion)))
	})
}

// readDeadLetters reads n records of points.dlq.
func (w *fixture) readDeadLetters(n int) []*kgo.Record {
	w.tb.Helper()
	cl, err := kgo.NewClient(w.broker.Opts(kgo.ConsumeTopics(w.topic + ".dlq"))...)
	require.NoError(w.tb, err)
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var got []*kgo.Record
	for len(got) < n {
		fetches := cl.PollFetches(ctx)
		require.NoError(w.tb, fetches.Err())
		got = append(got, fetches.Records()...)
	}
	return got
}

func TestARedrivenRecordKeepsItsVersion(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w := newFixture(t, broker)
		s := w.numberSeries(uuid.New(), "m")
		first := w.numberMessages(s, times(0, 1), []float64{1, 1})
		w.produce(first, w.numberMessages(s, times(1), []float64{2}))
		w.consume()
		w.waitSettled()
		before := w.dump()
		cl, err := kgo.NewClient(w.broker.Opts(kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
		require.NoError(t, err)
		defer cl.Close()
		require.NoError(t, cl.ProduceSync(t.Context(), &kgo.Record{
			Topic: w.topic, Partition: first[0].Partition, Value: first[0].Value,
			Headers: []kgo.RecordHeader{{Key: kafka.HeaderVersion, Value: []byte(decimal(1 << 48))}},
		}).FirstErr())
		w.waitSettled()
		require.Equal(t, before, w.dump())
	})
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
