package kafka

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// TestQuestionsThatNoBrokerAnswersAreUnavailable cuts the connection at one kind of
// request after the other, as a broker that is killed does at any of them.
func TestQuestionsThatNoBrokerAnswersAreUnavailable(t *testing.T) {
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
			for what, ask := range map[string]func() error{
				"overviews": func() error { _, err := c.Overviews(t.Context()); return err },
				"offsets":   func() error { _, err := c.OffsetsAt(t.Context(), "points", time.Now()); return err },
				"topic":     func() error { _, err := c.Observe(t.Context()); return err },
				"finding":   func() error { return c.FindTopics(t.Context()) },
				"group":     func() error { _, err := c.committed(t.Context(), "livegraph-points"); return err },
				"redriving": func() error {
					return c.Redrive(t.Context(), []*kgo.Record{{Topic: c.points.deadLetters(), Value: []byte("point")}})
				},
			} {
				work.Go(func() {
					if err := ask(); err != nil {
						failed.Add(1)
						assert.True(t, fault.Is(err, fault.Unavailable), "%s: %v", what, err)
					}
				})
			}
			work.Wait()
			require.NotZero(t, failed.Load(), "no question made such a request")
		})
	}
}

// TestATopicOfDeadLettersThatIsNotKnownYetIsWaitedFor makes the topic a moment after it is
// asked for: a broker hears of a topic some time after another has made it.
func TestATopicOfDeadLettersThatIsNotKnownYetIsWaitedFor(t *testing.T) {
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
		_, err := c.admin.CreateTopic(t.Context(), 2, 1, nil, c.points.deadLetters())
		assert.NoError(t, err)
	})
	partitions, err := c.deadLetterPartitions(t.Context(), c.points)
	require.NoError(t, err)
	require.Equal(t, int32(2), partitions)
}

// TestATopicThatCannotBeTakenUpIsNotTakenForABrokerThatIsAway has a topic of another number
// of partitions than is configured: to ask again is of no use.
func TestATopicThatCannotBeTakenUpIsNotTakenForABrokerThatIsAway(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	openEvents(t, cluster.ListenAddrs())
	c, err := Open(t.Context(), Options{
		Brokers: cluster.ListenAddrs(), BufferedBytes: 1 << 20, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	c.topicOf(TopicCommands).fixed.Store(7)
	err = c.FindTopics(t.Context())
	require.Equal(t, fault.Invalid, fault.KindOf(err), "%v", err)
	require.ErrorContains(t, err, "7 are configured")
}
