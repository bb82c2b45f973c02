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
	"github.com/livegraph/livegraph/test/testenv"
)

const partitions = 4

// world is a log and a registry of a test's own, with a workspace, and a hub.
type world struct {
	t         *testing.T
	log       *kafka.Client
	db        *stores.DB
	hub       *tail.Hub
	registry  *prometheus.Registry
	workspace uuid.UUID
	ids       uint64
	stop      func()
}

func newWorld(t *testing.T, broker *testenv.Broker) *world {
	t.Helper()
	w := prepareWorld(t, broker, true)
	w.start(tail.Deps{Log: w.log})
	return w
}

// prepareWorld makes a world whose hub does not run yet, and in which routes are recorded
// or not.
func prepareWorld(t *testing.T, broker *testenv.Broker, routes bool) *world {
	t.Helper()
	w := &world{t: t, registry: prometheus.NewRegistry()}
	var err error
	w.db, err = stores.Open(t.Context(), testenv.MigratedPostgres(t), 4)
	require.NoError(t, err)
	t.Cleanup(w.db.Close)
	require.NoError(t, w.db.Migrate(t.Context()))
	workspace, err := w.db.CreateWorkspace(t.Context(), access.Workspace{Name: "w", Plan: "enterprise", Mode: "live"})
	require.NoError(t, err)
	w.workspace = workspace.ID
	w.log, err = kafka.Open(t.Context(), kafka.Options{
		Brokers: broker.Brokers(), Security: broker.Security(), TopicPrefix: broker.Prefix, BufferedBytes: 64 << 20,
		OnTopicChange: func(ctx context.Context, _ kafka.TopicInfo) error {
			if !routes {
				return nil
			}
			return w.recordRoutes(ctx)
		},
	})
	require.NoError(t, err)
	t.Cleanup(w.log.Close)
	require.NoError(t, w.log.EnsureTopics(t.Context(), kafka.TopicSettings{
		Partitions: partitions, Replication: -1, RetentionBytes: 64 << 20,
	}))
	return w
}

// start runs the hub on the log of deps.
func (w *world) start(deps tail.Deps) {
	deps.Sources, deps.Routes, deps.Logger, deps.Metrics = w.db, w.db, slog.New(slog.DiscardHandler), w.registry
	w.hub = tail.NewHub(deps)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.hub.Run(ctx) }()
	w.stop = func() { cancel(); require.NoError(w.t, <-done); done <- nil }
	w.t.Cleanup(func() { w.stop() })
}

// source makes a source whose points are in the partition.
func (w *world) source(partition int32) uuid.UUID {
	w.t.Helper()
	for {
		id := uuid.New()
		if pointblock.Partition(id, partitions) == partition {
			return w.create(id)
		}
	}
}

// recordRoutes records how the topic is divided now, as the processes do that write to it.
func (w *world) recordRoutes(ctx context.Context) error {
	_, _, err := w.db.ResolveGenerations(ctx, kafka.TopicPoints, func(ctx context.Context) (postgres.LogState, error) {
		state, err := w.log.Observe(ctx)
		seen := postgres.LogState{TopicID: state.ID}
		for _, p := range state.State {
			seen.Partitions = append(seen.Partitions, postgres.LogPartition{Start: p.Start, End: p.End, ReplacedFrom: -1})
		}
		return seen, err
	})
	return err
}

func (w *world) create(id uuid.UUID) uuid.UUID {
	w.t.Helper()
	_, err := w.db.CreateSource(w.t.Context(), w.workspace, registry.Source{ID: id, Name: id.String()})
	require.NoError(w.t, err)
	return id
}

// message is a record of one point of the source.
func (w *world) message(source uuid.UUID, value float64) pointblock.Message {
	w.t.Helper()
	w.ids++
	id := pointblock.Identity{
		Workspace: w.workspace, Source: source, Metric: fmt.Sprint("m", w.ids), Kind: pointblock.KindNumber,
	}
	var encoder pointblock.Encoder
	encoder.Reset(w.workspace, time.Now().UnixMicro())
	require.NoError(w.t, encoder.AppendNumbers(
		pointblock.SeriesRef{ID: w.ids, Fingerprint: id.Fingerprint(&[16]byte{})}, &id, []int64{1}, []float64{value},
	))
	return encoder.AppendMessages(nil, pointblock.Partition(source, partitions))[0]
}

func (w *world) send(messages ...pointblock.Message) {
	w.t.Helper()
	_, err := w.log.ProducePoints(w.t.Context(), "req_1", messages)
	require.NoError(w.t, err)
}

func (w *world) open(filter registry.SeriesFilter) *tail.Stream {
	w.t.Helper()
	s, err := w.hub.Open(w.t.Context(), tail.Opening{Workspace: w.workspace, Key: uuid.New(), Filter: filter})
	require.NoError(w.t, err)
	return s
}

// values waits for so many values.
func (w *world) values(s *tail.Stream, most int) (values []float64) {
	w.t.Helper()
	for len(values) < most {
		select {
		case <-s.Ready():
		case <-time.After(20 * time.Second):
			require.FailNow(w.t, "nothing comes", "%v", values)
		}
		list, dropped := s.Take()
		require.Empty(w.t, dropped)
		for i := range list {
			for _, b := range list[i].Blocks {
				values = append(values, b.Numbers...)
			}
			s.Passed(&list[i])
		}
	}
	return values
}

// skipped is how many records were read that nobody wanted.
func (w *world) skipped(reason string) int {
	return w.measured("livegraph_point_streams_skipped_records_total", reason)
}

// measured is the value of a metric, with a label where one is given.
func (w *world) measured(name, label string) int {
	w.t.Helper()
	families, err := w.registry.Gather()
	require.NoError(w.t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (label == "" || m.GetLabel()[0].GetValue() == label) {
				return int(m.GetCounter().GetValue() + m.GetGauge().GetValue())
			}
		}
	}
	require.FailNow(w.t, "no such metric", name)
	return 0
}

func TestOnlyThePartitionsThatStreamsNeedAreRead(t *testing.T) {
	testenv.EachKafka(t, func(t *testing.T, k *testenv.Broker) {
		w := newWorld(t, k)
		a, b := w.source(0), w.source(1)
		only := w.open(registry.SeriesFilter{Sources: []uuid.UUID{a}})
		w.send(w.message(b, 1), w.message(b, 2), w.message(a, 3))
		require.Equal(t, []float64{3}, w.values(only, 1))
		require.Zero(t, w.skipped("unwanted"))

		both := w.open(registry.SeriesFilter{Sources: []uuid.UUID{a, b}})
		w.send(w.message(b, 4), w.message(a, 5))
		require.ElementsMatch(t, []float64{4, 5}, w.values(both, 2))
		require.Equal(t, []float64{5}, w.values(only, 1))
		both.Close()
		w.open(registry.SeriesFilter{Sources: []uuid.UUID{a}}).Close() // by then the tail has seen the other go
		w.send(w.message(b, 6), w.message(a, 7))
		require.Equal(t, []float64{7}, w.values(only, 1))
		require.Zero(t, w.skipped("unwanted"))

		again := w.open(registry.SeriesFilter{})
		w.send(w.message(b, 8))
		require.Equal(t, []float64{8}, w.values(again, 1), "it begins at the end")
		again.Close()
		only.Close()
	})
}

func TestRecordsThatAreNotOfOurFormOrWereThereBeforeArePassedOver(t *testing.T) {
	k := testenv.NewKFake(t)
	w := newWorld(t, k)
	a := w.source(2)
	s := w.open(registry.SeriesFilter{Sources: []uuid.UUID{a}})
	defer s.Close()
	client, err := kgo.NewClient(k.Opts(kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	require.NoError(t, err)
	defer client.Close()
	good := w.message(a, 1).Value
	for _, r := range []*kgo.Record{
		{Value: []byte("nonsense")}, {}, {Value: good[:len(good)-3]},
		{Value: good, Headers: []kgo.RecordHeader{{Key: kafka.HeaderVersion, Value: []byte("7")}}},
		{Value: w.message(uuid.New(), 2).Value}, // of a source that is not there
	} {
		r.Topic, r.Partition = "points", 2
		require.NoError(t, client.ProduceSync(t.Context(), r).FirstErr())
	}
	w.send(w.message(a, 3))
	require.Equal(t, []float64{3}, w.values(s, 1))
	require.Equal(t, 3, w.skipped("unreadable"))
	require.Equal(t, 2, w.skipped("unwanted"))
}

func TestNothingIsLeftOfStreamsThatHaveEnded(t *testing.T) {
	w := newWorld(t, testenv.NewKFake(t))
	a := w.source(0)
	warm := w.open(registry.SeriesFilter{})
	w.send(w.message(a, 1))
	w.values(warm, 1)
	position := warm.Position()
	warm.Close()
	settle := func() int {
		last := -1
		require.Eventually(t, func() bool {
			now := runtime.NumGoroutine()
			same := now == last
			last = now
			return same
		}, 20*time.Second, 200*time.Millisecond)
		return last
	}
	before := settle()
	w.send(w.message(a, 2), w.message(a, 3))
	for range 20 {
		s := w.open(registry.SeriesFilter{})
		w.send(w.message(a, 4))
		s.Close()
		s, err := w.hub.Open(t.Context(), tail.Opening{Workspace: w.workspace, After: &position})
		require.NoError(t, err)
		count := 0
		require.NoError(t, s.CatchUp(t.Context(), func(list []tail.Delivery) error {
			for i := range list {
				count += list[i].Points()
			}
			return nil
		}))
		require.Empty(t, s.Missed())
		require.GreaterOrEqual(t, count, 3)
		position = tail.Position{Topic: position.Topic, Partitions: position.Partitions, Next: position.Next}
		s.Close()
	}
	require.Eventually(t, func() bool {
		return runtime.NumGoroutine() <= before+2
	}, 20*time.Second, 50*time.Millisecond, "%d goroutines were there", before)
	require.Zero(t, w.measured("livegraph_point_streams", ""))
	require.Zero(t, w.measured("livegraph_point_streams_buffered_bytes", ""))
	w.stop()
	_, err := w.hub.Open(t.Context(), tail.Opening{Workspace: w.workspace})
	require.Error(t, err, "a hub that has ended takes nobody in")
}

func TestAHubThatEndsEndsItsStreams(t *testing.T) {
	w := newWorld(t, testenv.NewKFake(t))
	s := w.open(registry.SeriesFilter{})
	defer s.Close()
	w.stop()
	<-s.Ready()
	_, dropped := s.Take()
	require.NotEmpty(t, dropped)
}

// TestALogThatIsTrimmedBehindAJoinIsHeardOnce trims the log between what a stream was
// behind and where the shared tail has taken it in.
func TestALogThatIsTrimmedBehindAJoinIsHeardOnce(t *testing.T) {
	k := testenv.NewKFake(t)
	w := newWorld(t, k)
	a := w.source(0)
	first := w.open(registry.SeriesFilter{Sources: []uuid.UUID{a}})
	position := first.Position()
	first.Close()
	w.send(w.message(a, 1))
	s, err := w.hub.Open(t.Context(), tail.Opening{
		Workspace: w.workspace, Filter: registry.SeriesFilter{Sources: []uuid.UUID{a}}, After: &position,
	})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.CatchUp(t.Context(), func(list []tail.Delivery) error {
		for i := range list {
			s.Passed(&list[i])
			w.send(w.message(a, 2), w.message(a, 3))
			k.Trim(t, k.Prefix+"points", 0, 3)
		}
		return nil
	}))
	require.Equal(t, tail.Trimmed, s.Missed())
	for v := range 3 {
		w.send(w.message(a, float64(10+v)))
	}
	require.Equal(t, []float64{10, 11, 12}, w.values(s, 3))
}
