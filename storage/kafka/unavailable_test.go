package kafka

import (
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// TestRequestsThatNoBrokerAnswersAreUnavailable cuts the connection at each kind of request, as a
// killed broker does.
func TestRequestsThatNoBrokerAnswersAreUnavailable(t *testing.T) {
	const perRequest = 300 * time.Millisecond
	for _, key := range []kmsg.Key{
		kmsg.Metadata, kmsg.ListOffsets, kmsg.OffsetFetch, kmsg.DescribeConfigs, kmsg.DescribeLogDirs, kmsg.Produce,
	} {
		t.Run(key.Name(), func(t *testing.T) {
			t.Parallel()
			cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
			require.NoError(t, err)
			t.Cleanup(cluster.Close)
			c := openEvents(t, cluster.ListenAddrs())
			c.opts.ProduceTimeout = perRequest
			require.NoError(t, c.ProduceEvents(t.Context(), []Record{{Workspace: uuid.New(), Value: []byte("change")}}))
			_, err = c.Overviews(t.Context())
			require.NoError(t, err)
			cluster.ControlKey(int16(key), func(kmsg.Request) (kmsg.Response, error, bool) {
				cluster.KeepControl()
				return nil, errors.New("the connection is cut"), true
			})
			var failed atomic.Int64
			var work sync.WaitGroup
			for name, call := range map[string]func() error{
				"overviews": func() error { _, err := c.Overviews(t.Context()); return err },
				"offsets":   func() error { _, err := c.OffsetsAt(t.Context(), "points", time.Now()); return err },
				"topic":     func() error { _, err := c.Observe(t.Context()); return err },
				"finding":   func() error { return c.FindTopics(t.Context()) },
				"group":     func() error { _, err := c.committed(t.Context(), "livegraph-points"); return err },
				"redriving": func() error {
					return c.Redrive(t.Context(), []*kgo.Record{{Topic: c.points.deadLetterTopic(), Value: []byte("point")}})
				},
			} {
				work.Go(func() {
					if err := call(); err != nil {
						failed.Add(1)
						assert.True(t, fault.Is(err, fault.Unavailable), "%s: %v", name, err)
					}
				})
			}
			work.Wait()
			require.NotZero(t, failed.Load(), "no call made such a request")
		})
	}
}

// TestDeadLetterPartitionsWaitsForTheTopic creates the topic shortly after the call starts: a broker
// receives the metadata of a topic some time after another broker has created it.
func TestDeadLetterPartitionsWaitsForTheTopic(t *testing.T) {
	const late = 300 * time.Millisecond
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	c, err := Open(t.Context(), Options{
		Brokers: cluster.ListenAddrs(), BufferedBytes: 1 << 20, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() {
		time.Sleep(late)
		_, err := c.admin.CreateTopic(t.Context(), 2, 1, nil, c.points.deadLetterTopic())
		assert.NoError(t, err)
	})
	partitions, err := c.deadLetterPartitions(t.Context(), c.points)
	require.NoError(t, err)
	require.Equal(t, int32(2), partitions)
}

// TestAWrongPartitionCountIsInvalidAndNotUnavailable has a topic with another partition count than
// configured, which a retry does not solve.
func TestAWrongPartitionCountIsInvalidAndNotUnavailable(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	openEvents(t, cluster.ListenAddrs())
	c, err := Open(t.Context(), Options{
		Brokers: cluster.ListenAddrs(), BufferedBytes: 1 << 20, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	c.topicOf(TopicCommands).requiredPartitions.Store(7)
	err = c.FindTopics(t.Context())
	require.Equal(t, fault.Invalid, fault.KindOf(err), "%v", err)
	require.ErrorContains(t, err, "7 are configured")
}

// TestSizesAreReadWithoutABroker has one broker of three that does not describe its log. The sizes of the
// replicas on the others are read; where they have none, the size is the last known one.
func TestSizesAreReadWithoutABroker(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(3))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	c := openEvents(t, cluster.ListenAddrs())
	for _, workspace := range workspacesIn(4) {
		require.NoError(t, c.ProduceEvents(t.Context(), []Record{{Workspace: workspace, Value: []byte("change")}}))
	}
	sizes := func() map[int32]int64 {
		overviews, err := c.Overviews(t.Context(), TopicEvents)
		require.NoError(t, err)
		overview := map[int32]int64{}
		for _, p := range overviews[0].Partitions {
			overview[p.Partition] = p.Bytes
		}
		measured, err := c.partitionSizes(t.Context(), c.events)
		require.NoError(t, err)
		for p, size := range measured {
			require.Equal(t, size, overview[p])
		}
		return measured
	}
	complete := sizes()
	require.Len(t, complete, 4)
	control := func(answer func(*kmsg.DescribeLogDirsRequest) (refused bool)) {
		cluster.ControlKey(int16(kmsg.DescribeLogDirs), func(request kmsg.Request) (kmsg.Response, error, bool) {
			cluster.KeepControl()
			if !answer(request.(*kmsg.DescribeLogDirsRequest)) {
				return nil, nil, false
			}
			response := request.ResponseKind().(*kmsg.DescribeLogDirsResponse)
			response.ErrorCode = kerr.UnknownServerError.Code
			return response, nil, true
		})
	}
	control(func(*kmsg.DescribeLogDirsRequest) bool { return cluster.CurrentNode() == 0 })
	require.Equal(t, complete, sizes())

	control(func(request *kmsg.DescribeLogDirsRequest) bool {
		for i, topic := range request.Topics { // the others have no replica of partition 0
			request.Topics[i].Partitions = slices.DeleteFunc(topic.Partitions, func(p int32) bool { return p == 0 })
		}
		return cluster.CurrentNode() == 0
	})
	others := sizes()
	require.Len(t, others, 3)
	require.NotContains(t, others, int32(0))
	fill := &c.events.fill
	fill.mu.Lock()
	defer fill.mu.Unlock()
	fill.sizes = maps.Clone(complete)
	c.measureSizes(t.Context(), c.events)
	require.Equal(t, complete, fill.sizes)

	control(func(*kmsg.DescribeLogDirsRequest) bool { return true })
	_, err = c.Overviews(t.Context(), TopicEvents)
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
}
