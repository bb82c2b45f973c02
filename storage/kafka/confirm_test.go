package kafka_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/test/kafkatest"
)

// staleFetchBytes is the fetch size of the readers whose fetches a staleCluster recognizes.
const staleFetchBytes = 3 << 20

// staleCluster is a cluster of three brokers. The first fetch of a reader is answered as by a broker that is
// no longer the leader, and whose log is shorter.
type staleCluster struct {
	*kafka.Client
	stale       atomic.Bool // the next fetch
	unavailable atomic.Bool // one of the brokers, for metadata
}

func newStaleCluster(t *testing.T) *staleCluster {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(3))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	s := &staleCluster{}
	cluster.ControlKey(int16(kmsg.Fetch), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		fetch := request.(*kmsg.FetchRequest)
		if fetch.MaxBytes != staleFetchBytes || len(fetch.Topics) == 0 || !s.stale.CompareAndSwap(true, false) {
			return nil, nil, false
		}
		return kafkatest.OutOfRange(fetch), nil, true
	})
	cluster.ControlKey(int16(kmsg.Metadata), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		refuse := s.unavailable.Load() && cluster.CurrentNode() == 1
		return nil, errors.New("the broker is separated"), refuse
	})
	s.Client, err = kafka.Open(t.Context(), kafka.Options{
		Brokers: cluster.ListenAddrs(), BufferedBytes: 1 << 20, PointsGroup: "points", Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	require.NoError(t, s.EnsureTopics(t.Context(), settings(1)))
	return s
}

func TestAStateIsConfirmedOnlyIfAllBrokersRespond(t *testing.T) {
	s := newStaleCluster(t)
	produceTo(t, s.Client, 3, 0)
	seen, err := s.ConfirmTopic(t.Context(), kafka.TopicPoints)
	require.NoError(t, err)
	require.EqualValues(t, 3, seen.State[0].End)
	s.unavailable.Store(true)
	_, err = s.ConfirmTopic(t.Context(), kafka.TopicPoints)
	requireUnavailable(t, err)
	_, err = s.ConfirmTopic(t.Context(), "nothing")
	require.Error(t, err)
}

func TestAMemberLeavesIfABrokerDoesNotHaveItsOffset(t *testing.T) {
	s := newStaleCluster(t)
	produceTo(t, s.Client, 5, 0)
	s.stale.Store(true)
	g, err := s.Join(kafka.GroupOptions{
		Topic: "points", Group: "points", FetchBytes: staleFetchBytes, Revoked: func([]int32, bool) {},
		Start: func(_ context.Context, committed map[int32]int64) (map[int32]int64, error) {
			for p := range committed {
				committed[p] = 3
			}
			return committed, nil
		},
	})
	require.NoError(t, err)
	defer g.Leave()
	require.Eventually(t, func() bool {
		fetches, err := g.Poll(t.Context(), 10)
		g.AllowRebalance()
		require.Empty(t, fetches.Records(), "records of another offset")
		return errors.Is(err, kafka.ErrOutOfRange)
	}, time.Minute, time.Millisecond)
	confirm := func(next int64, epoch int32) error {
		return g.ConfirmLoss(t.Context(), 0, kgo.EpochOffset{Epoch: epoch, Offset: next})
	}
	require.ErrorIs(t, confirm(5, -1), kafka.ErrOutOfRange, "the log contains all of it")
	require.ErrorIs(t, confirm(5, 0), kafka.ErrOutOfRange)
	s.unavailable.Store(true)
	require.ErrorIs(t, confirm(6, -1), kafka.ErrOutOfRange, "one broker is missing")
	s.unavailable.Store(false)
	for _, epoch := range []int32{-1, 0} {
		var loss *kafka.Discontinuity
		require.ErrorAs(t, confirm(6, epoch), &loss)
		require.EqualValues(t, 5, loss.From)
	}
}

func TestReadersGoOnIfABrokerIsNotTheLeader(t *testing.T) {
	s := newStaleCluster(t)
	produceTo(t, s.Client, 5, 0)
	s.stale.Store(true)
	a, err := s.Assign(kafka.AssignOptions{
		Topic: "points", Name: "test", FetchBytes: staleFetchBytes, Spans: map[int32]kafka.Span{0: {From: 2, To: 5}},
	})
	require.NoError(t, err)
	defer a.Close()
	var offsets []int64
	for !errors.Is(err, io.EOF) {
		read, failure := a.Poll(t.Context(), 10)
		for _, r := range read {
			offsets = append(offsets, r.Offset)
		}
		err = failure
	}
	require.False(t, s.stale.Load())
	requireRange(t, offsets, 2, 5)
	require.Zero(t, a.Trimmed(0, 5))

	s.stale.Store(true)
	tail, err := s.TailPoints(map[int32]int64{0: 3}, staleFetchBytes)
	require.NoError(t, err)
	defer tail.Close()
	offsets = nil
	require.Eventually(t, func() bool {
		read, err := tail.Poll(t.Context(), 10)
		require.NoError(t, err)
		for _, r := range read {
			offsets = append(offsets, r.Offset)
		}
		return len(offsets) == 2
	}, time.Minute, time.Millisecond)
	require.False(t, s.stale.Load())
	requireRange(t, offsets, 3, 5)
}
