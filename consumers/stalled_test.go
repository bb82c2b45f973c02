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

// TestALoopWhoseClientHasStoppedFetchingJoinsAgain answers the fetches of the first member with nothing, as long as
// it is a member. The fetches of its loop are recognized by their size.
func TestALoopWhoseClientHasStoppedFetchingJoinsAgain(t *testing.T) {
	const fetchBytes = 3 << 20
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	var stalled atomic.Bool
	var unanswered atomic.Int64
	cluster.ControlKey(int16(kmsg.Fetch), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		fetch := request.(*kmsg.FetchRequest)
		if !stalled.Load() || fetch.MaxBytes != fetchBytes {
			return nil, nil, false
		}
		unanswered.Add(1)
		time.Sleep(10 * time.Millisecond)
		return fetch.ResponseKind(), nil, true
	})
	cluster.ControlKey(int16(kmsg.LeaveGroup), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		stalled.Store(false)
		return nil, nil, false
	})
	log, err := kafka.Open(t.Context(), kafka.Options{
		Brokers: cluster.ListenAddrs(), BufferedBytes: 1 << 20, PointsGroup: "test", Log: slog.New(slog.DiscardHandler),
		StallLimit: 2 * time.Second,
	})
	require.NoError(t, err)
	t.Cleanup(log.Close)
	settings := kafka.TopicSettings{Partitions: 1, Replication: 1, RetentionBytes: 1 << 20}
	require.NoError(t, log.EnsureTopics(t.Context(), settings))
	produce := func(text string) {
		_, err := log.ProducePoints(t.Context(), "req_1", []pointblock.Message{{Key: []byte("k"), Value: []byte(text)}})
		require.NoError(t, err)
	}
	h := &collectingHandler{}
	loop := New(Config{
		Name: "test", Group: "test", Topic: log.PointsTopic().Name, BatchRows: 10, BatchBytes: 1000,
		BatchWait: 10 * time.Millisecond, FetchBytes: fetchBytes, Grace: time.Second,
	}, h, log, slog.New(slog.DiscardHandler), nil)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(ctx) }()
	await := func(want ...string) {
		t.Helper()
		require.Eventually(t, func() bool { return slices.Equal(want, h.all()) }, time.Minute, 10*time.Millisecond)
	}
	produce("a")
	await("a")
	stalled.Store(true)
	require.Eventually(t, func() bool { return unanswered.Load() > 0 }, time.Minute, 10*time.Millisecond)
	produce("b")
	await("a", "b")
	require.EqualValues(t, 1, loop.Metrics().Restarts.Load())
	stop()
	require.NoError(t, <-ended)
}
