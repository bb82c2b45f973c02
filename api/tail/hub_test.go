package tail_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/api/tail"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/registry"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

const partitions = 4

// environment is a log, a database with one workspace, and a hub.
type environment struct {
	t         *testing.T
	log       *kafka.Client
	db        *stores.DB
	hub       *tail.Hub
	registry  *prometheus.Registry
	workspace uuid.UUID
	ids       uint64
	stop      func()
}

func newEnvironment(t *testing.T, broker *kafkatest.Broker) *environment {
	t.Helper()
	env := prepareEnvironment(t, broker, true)
	env.start(tail.Deps{Log: env.log})
	return env
}

// prepareEnvironment creates an environment without a running hub. routes sets whether routes are
// recorded.
func prepareEnvironment(t *testing.T, broker *kafkatest.Broker, routes bool) *environment {
	t.Helper()
	env := &environment{t: t, registry: prometheus.NewRegistry()}
	var err error
	env.db, err = stores.Open(t.Context(), pgtest.Migrated(t), 4)
	require.NoError(t, err)
	t.Cleanup(env.db.Close)
	require.NoError(t, env.db.Migrate(t.Context()))
	workspace, err := env.db.CreateWorkspace(t.Context(), access.Workspace{Name: "w", Plan: "enterprise", Mode: "live"})
	require.NoError(t, err)
	env.workspace = workspace.ID
	env.log, err = kafka.Open(t.Context(), kafka.Options{
		Brokers: broker.Brokers(), Security: broker.Security(), TopicPrefix: broker.Prefix, BufferedBytes: 64 << 20,
		OnTopicChange: func(ctx context.Context, _ kafka.TopicInfo) error {
			if !routes {
				return nil
			}
			return env.recordRoutes(ctx)
		},
	})
	require.NoError(t, err)
	t.Cleanup(env.log.Close)
	require.NoError(t, env.log.EnsureTopics(t.Context(), kafka.TopicSettings{
		Partitions: partitions, Replication: -1, RetentionBytes: 64 << 20,
	}))
	return env
}

// start creates a hub with the log of deps and runs it.
func (env *environment) start(deps tail.Deps) {
	deps.Sources, deps.Routes, deps.Logger, deps.Metrics = env.db, env.db, slog.New(slog.DiscardHandler), env.registry
	env.hub = tail.NewHub(deps)
	env.stop = testenv.RunInBackground(env.t, env.hub.Run)
}

// source creates a source whose points are in the partition.
func (env *environment) source(partition int32) uuid.UUID {
	env.t.Helper()
	for {
		id := uuid.New()
		if pointblock.Partition(id, partitions) == partition {
			return env.create(id)
		}
	}
}

// recordRoutes records the current route of the topic, like the processes that write to it.
func (env *environment) recordRoutes(ctx context.Context) error {
	_, _, err := env.db.ResolveGenerations(ctx, kafka.TopicPoints, func(ctx context.Context) (postgres.LogState, error) {
		state, err := env.log.Observe(ctx)
		seen := postgres.LogState{TopicID: state.ID}
		for _, p := range state.State {
			seen.Partitions = append(seen.Partitions, postgres.LogPartition{Start: p.Start, End: p.End, ReplacedFrom: -1})
		}
		return seen, err
	})
	return err
}

func (env *environment) create(id uuid.UUID) uuid.UUID {
	env.t.Helper()
	_, err := env.db.CreateSource(env.t.Context(), env.workspace, registry.Source{ID: id, Name: id.String()})
	require.NoError(env.t, err)
	return id
}

// message returns a record with one point of the source.
func (env *environment) message(source uuid.UUID, value float64) pointblock.Message {
	env.t.Helper()
	env.ids++
	id := pointblock.Identity{
		Workspace: env.workspace, Source: source, Metric: fmt.Sprint("m", env.ids), Kind: pointblock.KindNumber,
	}
	var encoder pointblock.Encoder
	encoder.Reset(env.workspace, time.Now().UnixMicro())
	require.NoError(env.t, encoder.AppendNumbers(
		pointblock.SeriesRef{ID: env.ids, Fingerprint: id.Fingerprint(&[16]byte{})}, &id, []int64{1}, []float64{value},
	))
	return encoder.AppendMessages(nil, pointblock.Partition(source, partitions))[0]
}

func (env *environment) send(messages ...pointblock.Message) {
	env.t.Helper()
	_, err := env.log.ProducePoints(env.t.Context(), "req_1", messages)
	require.NoError(env.t, err)
}

func (env *environment) open(filter registry.SeriesFilter) *tail.Stream {
	env.t.Helper()
	s, err := env.hub.Open(env.t.Context(), tail.OpenOptions{Workspace: env.workspace, Key: uuid.New(), Filter: filter})
	require.NoError(env.t, err)
	return s
}

// values waits for n values and returns them.
func (env *environment) values(s *tail.Stream, n int) (values []float64) {
	env.t.Helper()
	for len(values) < n {
		select {
		case <-s.Ready():
		case <-time.After(20 * time.Second):
			require.FailNow(env.t, "no delivery", "%v", values)
		}
		list, dropped := s.Receive()
		require.Empty(env.t, dropped)
		for i := range list {
			for _, b := range list[i].Blocks {
				values = append(values, b.Numbers...)
			}
			s.MarkSent(&list[i])
		}
	}
	return values
}

// skipped returns the number of records that were skipped for the reason.
func (env *environment) skipped(reason string) int {
	return env.metric("livegraph_point_streams_skipped_records_total", reason)
}

// metric returns the value of a metric, with the given label unless it is empty.
func (env *environment) metric(name, label string) int {
	env.t.Helper()
	families, err := env.registry.Gather()
	require.NoError(env.t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (label == "" || m.GetLabel()[0].GetValue() == label) {
				return int(m.GetCounter().GetValue() + m.GetGauge().GetValue())
			}
		}
	}
	require.FailNow(env.t, "no such metric", name)
	return 0
}

func TestOnlyThePartitionsThatStreamsNeedAreRead(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, k *kafkatest.Broker) {
		env := newEnvironment(t, k)
		a, b := env.source(0), env.source(1)
		only := env.open(registry.SeriesFilter{Sources: []uuid.UUID{a}})
		env.send(env.message(b, 1), env.message(b, 2), env.message(a, 3))
		require.Equal(t, []float64{3}, env.values(only, 1))
		require.Zero(t, env.skipped("unwanted"))

		both := env.open(registry.SeriesFilter{Sources: []uuid.UUID{a, b}})
		env.send(env.message(b, 4), env.message(a, 5))
		require.ElementsMatch(t, []float64{4, 5}, env.values(both, 2))
		require.Equal(t, []float64{5}, env.values(only, 1))
		both.Close()
		env.open(registry.SeriesFilter{Sources: []uuid.UUID{a}}).Close() // then the tail has removed the other stream
		env.send(env.message(b, 6), env.message(a, 7))
		require.Equal(t, []float64{7}, env.values(only, 1))
		require.Zero(t, env.skipped("unwanted"))

		again := env.open(registry.SeriesFilter{})
		env.send(env.message(b, 8))
		require.Equal(t, []float64{8}, env.values(again, 1), "it begins at the end")
		again.Close()
		only.Close()
	})
}

func TestRecordsThatAreNotOfOurFormOrWereThereBeforeArePassedOver(t *testing.T) {
	k := kafkatest.NewKFake(t)
	env := newEnvironment(t, k)
	a := env.source(2)
	s := env.open(registry.SeriesFilter{Sources: []uuid.UUID{a}})
	defer s.Close()
	client, err := kgo.NewClient(k.Opts(kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	require.NoError(t, err)
	defer client.Close()
	good := env.message(a, 1).Value
	for _, r := range []*kgo.Record{
		{Value: []byte("nonsense")}, {}, {Value: good[:len(good)-3]},
		{Value: good, Headers: []kgo.RecordHeader{{Key: kafka.HeaderVersion, Value: []byte("7")}}},
		{Value: env.message(uuid.New(), 2).Value}, // of a source that does not exist
	} {
		r.Topic, r.Partition = "points", 2
		require.NoError(t, client.ProduceSync(t.Context(), r).FirstErr())
	}
	env.send(env.message(a, 3))
	require.Equal(t, []float64{3}, env.values(s, 1))
	require.Equal(t, 3, env.skipped("unreadable"))
	require.Equal(t, 2, env.skipped("unwanted"))
}

func TestNothingIsLeftOfStreamsThatHaveEnded(t *testing.T) {
	env := newEnvironment(t, kafkatest.NewKFake(t))
	a := env.source(0)
	warm := env.open(registry.SeriesFilter{})
	env.send(env.message(a, 1))
	env.values(warm, 1)
	position := warm.Position()
	warm.Close()
	settle := func() int {
		last := -1
		require.Eventually(t, func() bool {
			count := runtime.NumGoroutine()
			stable := count == last
			last = count
			return stable
		}, time.Minute, 200*time.Millisecond)
		return last
	}
	before := settle()
	env.send(env.message(a, 2), env.message(a, 3))
	for range 20 {
		s := env.open(registry.SeriesFilter{})
		env.send(env.message(a, 4))
		s.Close()
		s, err := env.hub.Open(t.Context(), tail.OpenOptions{Workspace: env.workspace, After: &position})
		require.NoError(t, err)
		points := 0
		require.NoError(t, s.CatchUp(t.Context(), func(list []tail.Delivery) error {
			for i := range list {
				points += list[i].Points()
			}
			return nil
		}))
		require.Empty(t, s.Missed())
		require.GreaterOrEqual(t, points, 3)
		position = tail.Position{Topic: position.Topic, Partitions: position.Partitions, Next: position.Next}
		s.Close()
	}
	require.Eventually(t, func() bool {
		return runtime.NumGoroutine() <= before+2
	}, time.Minute, 50*time.Millisecond, "%d goroutines before", before)
	require.Zero(t, env.metric("livegraph_point_streams", ""))
	require.Zero(t, env.metric("livegraph_point_streams_buffered_bytes", ""))
	env.stop()
	_, err := env.hub.Open(t.Context(), tail.OpenOptions{Workspace: env.workspace})
	require.Error(t, err, "a stopped hub opens no streams")
}

func TestAHubThatEndsEndsItsStreams(t *testing.T) {
	env := newEnvironment(t, kafkatest.NewKFake(t))
	s := env.open(registry.SeriesFilter{})
	defer s.Close()
	env.stop()
	<-s.Ready()
	_, dropped := s.Receive()
	require.NotEmpty(t, dropped)
}

// TestALogThatIsTrimmedBehindAJoinIsHeardOnce trims the log between the position of a stream
// and the position at which it joined the shared tail.
func TestALogThatIsTrimmedBehindAJoinIsHeardOnce(t *testing.T) {
	k := kafkatest.NewKFake(t)
	env := newEnvironment(t, k)
	a := env.source(0)
	first := env.open(registry.SeriesFilter{Sources: []uuid.UUID{a}})
	position := first.Position()
	first.Close()
	env.send(env.message(a, 1))
	s, err := env.hub.Open(t.Context(), tail.OpenOptions{
		Workspace: env.workspace, Filter: registry.SeriesFilter{Sources: []uuid.UUID{a}}, After: &position,
	})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.CatchUp(t.Context(), func(list []tail.Delivery) error {
		for i := range list {
			s.MarkSent(&list[i])
			env.send(env.message(a, 2), env.message(a, 3))
			k.Trim(t, k.Prefix+"points", 0, 3)
		}
		return nil
	}))
	require.Equal(t, tail.Trimmed, s.Missed())
	for v := range 3 {
		env.send(env.message(a, float64(10+v)))
	}
	require.Equal(t, []float64{10, 11, 12}, env.values(s, 3))
}
