package kafka

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// eventBatches counts the record batches of graph.events that a cluster receives, by partition.
type eventBatches struct {
	mu      sync.Mutex
	batches map[int32]int
}

func (e *eventBatches) watch(cluster *kfake.Cluster, topic TopicInfo) {
	e.batches = map[int32]int{}
	cluster.ControlKey(int16(kmsg.Produce), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, t := range request.(*kmsg.ProduceRequest).Topics {
			if t.TopicID != topic.ID && t.Topic != topic.Name {
				continue
			}
			for _, p := range t.Partitions {
				e.batches[p.Partition]++
			}
		}
		return nil, nil, false
	})
}

// If the records of a call were split into several batches, a refused batch would leave a gap
// before the accepted ones.
func TestTheEventsOfACallAreOneBatchInEachPartition(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	workspaces := workspacesIn(4)
	records := make([]Record, 12_000) // buffering them takes long enough that a flush could split them
	for i := range records {
		records[i] = Record{Workspace: workspaces[i%len(workspaces)], Value: binary.BigEndian.AppendUint32(nil, uint32(i))}
	}
	const clients, calls = 2, 3
	var sent eventBatches
	for client := range clients {
		c := openEvents(t, cluster.ListenAddrs())
		if client == 0 {
			sent.watch(cluster, c.events.state())
		}
		release := alwaysSending(c.events)
		for range calls {
			require.NoError(t, c.ProduceEvents(t.Context(), records))
		}
		release()
	}
	sent.mu.Lock()
	defer sent.mu.Unlock()
	const total = clients * calls
	require.Equal(t, map[int32]int{0: total, 1: total, 2: total, 3: total}, sent.batches)
}

// alwaysSending makes franz-go send its buffered records of the topic continuously, as it may also
// do after a flush has returned.
func alwaysSending(t *topic) (release func()) {
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for ctx.Err() == nil {
			_ = t.producer.Flush(ctx)
			time.Sleep(time.Millisecond)
		}
	}()
	return func() {
		stop()
		<-stopped
	}
}

func openEvents(tb testing.TB, brokers []string, change ...func(*Options)) *Client {
	tb.Helper()
	opts := Options{Brokers: brokers, BufferedBytes: 64 << 20, Log: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&opts)
	}
	c, err := Open(context.Background(), opts)
	require.NoError(tb, err)
	tb.Cleanup(c.Close)
	require.NoError(tb, c.EnsureTopics(tb.Context(), TopicSettings{
		Partitions: 4, CommandsPartitions: 4, Replication: -1, RetentionBytes: 1 << 30,
	}))
	return c
}

// workspacesIn returns one workspace for each partition.
func workspacesIn(partitions int32) []uuid.UUID {
	all := make([]uuid.UUID, partitions)
	for missing := partitions; missing > 0; {
		id := uuid.New()
		if p := WorkspacePartition(id, partitions); all[p] == uuid.Nil {
			all[p] = id
			missing--
		}
	}
	return all
}

// When a partition moves while its events are sent, its leader is looked up again.
func TestEventsFollowTheLeaderOfTheirPartition(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(3))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	c := openEvents(t, cluster.ListenAddrs())
	workspaces := workspacesIn(4)
	for i := range 6 {
		for p, workspace := range workspaces {
			require.NoError(t, cluster.MoveTopicPartition(c.events.name, int32(p), int32((p+i)%3)))
			require.NoError(t, c.ProduceEvents(t.Context(), []Record{{Workspace: workspace, Value: []byte("change")}}))
		}
	}
	info, err := c.ObserveTopic(t.Context(), TopicEvents)
	require.NoError(t, err)
	for p := range workspaces {
		require.EqualValues(t, 6, info.State[p].End)
	}
}

// A call that no broker answers ends with the produce timeout, and the next call succeeds.
func TestEventsThatNoBrokerAnswersEndInTime(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	c := openEvents(t, cluster.ListenAddrs())
	c.opts.ProduceTimeout = 300 * time.Millisecond
	records := []Record{{Workspace: uuid.New(), Value: []byte("change")}}
	var refusing atomic.Bool
	refusing.Store(true)
	cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		if !refusing.Load() {
			return nil, nil, false
		}
		return nil, errors.New("the connection is cut"), true
	})
	require.True(t, fault.Is(c.ProduceEvents(t.Context(), records), fault.Unavailable))
	require.Zero(t, c.events.bufferedRecords())
	require.Zero(t, c.events.bufferedBytes())
	refusing.Store(false)
	c.opts.ProduceTimeout = defaultProduceWait
	require.NoError(t, c.ProduceEvents(t.Context(), records))
}

// BenchmarkProduceEvents measures ProduceEvents with several numbers of events of 400 bytes, for
// each compression.
func BenchmarkProduceEvents(b *testing.B) {
	for _, compression := range []string{"none", "lz4"} {
		for _, n := range []int{1, 100, 5000} {
			b.Run(fmt.Sprintf("compression=%s/events=%d", compression, n), func(b *testing.B) {
				benchmarkEvents(b, compression, n)
			})
		}
	}
}

func benchmarkEvents(b *testing.B, compression string, n int) {
	b.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.DataDir(b.TempDir()))
	require.NoError(b, err)
	defer cluster.Close()
	c := openEvents(b, cluster.ListenAddrs(), func(o *Options) { o.Compression = compression })
	workspaces := workspacesIn(4)
	records := make([]Record, n)
	for i := range records {
		records[i] = Record{
			Workspace: workspaces[i%len(workspaces)], RequestID: "req_01JD8Z6V7M2K4N8P0Q3R5S7T9V",
			Value: bytes.Repeat(strconv.AppendInt(nil, int64(1e9+i), 10), 40),
		}
	}
	b.SetBytes(int64(n * 400))
	for b.Loop() {
		if err := c.ProduceEvents(b.Context(), records); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "events/s")
}
