package consumers

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/test/kafkatest"
)

// collectingHandler collects the values of the records that it stores.
type collectingHandler struct {
	wordHandler

	mu   sync.Mutex
	text []string
}

func (h *collectingHandler) NewBatch() Batch { return &collectingBatch{h: h} }

func (h *collectingHandler) Start(_ context.Context, committed map[int32]int64) (map[int32]int64, error) {
	for p, offset := range committed {
		committed[p] = max(offset, 0)
	}
	return committed, nil
}

func (h *collectingHandler) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.text)
}

type collectingBatch struct {
	wordBatch
	h *collectingHandler
}

func (b *collectingBatch) Store(context.Context) error {
	b.h.mu.Lock()
	defer b.h.mu.Unlock()
	b.h.text = append(b.h.text, b.text...)
	return nil
}

// loopFixture is a loop that reads a topic of a simulated broker. Its fetches are recognized by their size.
type loopFixture struct {
	t       *testing.T
	cluster *kfake.Cluster
	log     *kafka.Client
	handler *collectingHandler
}

const loopFetchBytes = 3 << 20

// newLoopFixture returns a fixture. control is called for each fetch of a loop, and returns its response, or nil.
func newLoopFixture(t *testing.T, control func(*kmsg.FetchRequest) kmsg.Response) *loopFixture {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	cluster.ControlKey(int16(kmsg.Fetch), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		fetch := request.(*kmsg.FetchRequest)
		if fetch.MaxBytes != loopFetchBytes {
			return nil, nil, false
		}
		response := control(fetch)
		return response, nil, response != nil
	})
	log, err := kafka.Open(t.Context(), kafka.Options{
		Brokers: cluster.ListenAddrs(), BufferedBytes: 1 << 20, PointsGroup: "test", Log: slog.New(slog.DiscardHandler),
		StallLimit: 2 * time.Second,
	})
	require.NoError(t, err)
	t.Cleanup(log.Close)
	settings := kafka.TopicSettings{Partitions: 1, Replication: 1, RetentionBytes: 1 << 20}
	require.NoError(t, log.EnsureTopics(t.Context(), settings))
	return &loopFixture{t: t, cluster: cluster, log: log, handler: &collectingHandler{}}
}

func (f *loopFixture) produce(text string) {
	f.t.Helper()
	_, err := f.log.ProducePoints(f.t.Context(), "req_1", []pointblock.Message{{Key: []byte("k"), Value: []byte(text)}})
	require.NoError(f.t, err)
}

// run runs a new loop until stop is called.
func (f *loopFixture) run() (loop *Loop, stop func()) {
	loop = New(Config{
		Name: "test", Group: "test", Topic: f.log.PointsTopic().Name, BatchRows: 10, BatchBytes: 1000,
		BatchWait: 10 * time.Millisecond, FetchBytes: loopFetchBytes, Grace: time.Second,
	}, f.handler, f.log, slog.New(slog.DiscardHandler), nil)
	ctx, cancel := context.WithCancel(f.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(ctx) }()
	return loop, func() {
		cancel()
		require.NoError(f.t, <-ended)
	}
}

func (f *loopFixture) await(want ...string) {
	f.t.Helper()
	require.Eventually(f.t, func() bool { return slices.Equal(want, f.handler.all()) }, time.Minute, 10*time.Millisecond)
}

// TestALoopWhoseClientHasStoppedFetchingJoinsAgain answers the fetches of the first member with nothing, as long as
// it is a member.
func TestALoopWhoseClientHasStoppedFetchingJoinsAgain(t *testing.T) {
	var stalled atomic.Bool
	var unanswered atomic.Int64
	f := newLoopFixture(t, func(fetch *kmsg.FetchRequest) kmsg.Response {
		if !stalled.Load() {
			return nil
		}
		unanswered.Add(1)
		time.Sleep(10 * time.Millisecond)
		return fetch.ResponseKind()
	})
	f.cluster.ControlKey(int16(kmsg.LeaveGroup), func(kmsg.Request) (kmsg.Response, error, bool) {
		f.cluster.KeepControl()
		stalled.Store(false)
		return nil, nil, false
	})
	loop, stop := f.run()
	f.produce("a")
	f.await("a")
	stalled.Store(true)
	require.Eventually(t, func() bool { return unanswered.Load() > 0 }, time.Minute, 10*time.Millisecond)
	f.produce("b")
	f.await("a", "b")
	require.EqualValues(t, 1, loop.Metrics().Restarts.Load())
	stop()
}

// TestALoopWhoseBrokerIsNotTheLeaderJoinsAgain answers the first fetch of the second loop as by a broker whose log
// does not contain the offset at which the first loop ended.
func TestALoopWhoseBrokerIsNotTheLeaderJoinsAgain(t *testing.T) {
	var stale atomic.Bool
	f := newLoopFixture(t, func(fetch *kmsg.FetchRequest) kmsg.Response {
		if len(fetch.Topics) == 0 || !stale.CompareAndSwap(true, false) {
			return nil
		}
		return kafkatest.OutOfRange(fetch)
	})
	_, stop := f.run()
	f.produce("a")
	f.await("a")
	stop()
	stale.Store(true)
	f.produce("b")
	loop, stop := f.run()
	f.await("a", "b") // none twice
	require.EqualValues(t, 1, loop.Metrics().Restarts.Load())
	require.Zero(t, loop.Metrics().Lost.Load())
	stop()
}
