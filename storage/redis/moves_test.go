package redis_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/redis"
	"github.com/livegraph/livegraph/test/engines/valkeygroup"
	"github.com/livegraph/livegraph/test/testenv"
)

// slotOf returns the slot of a key or channel, the primary that has it, and another one.
func slotOf(t *testing.T, cluster *valkeygroup.Cluster, key string) (slot int, from, other *valkeygroup.Server) {
	t.Helper()
	client := cluster.Client()
	defer func() { _ = client.Close() }()
	number, err := client.ClusterKeySlot(t.Context(), key).Result()
	require.NoError(t, err)
	server, err := client.MasterForKey(t.Context(), key)
	require.NoError(t, err)
	for i, s := range cluster.Primaries {
		if s.Address == server.Options().Addr {
			return int(number), s, cluster.Primaries[(i+1)%len(cluster.Primaries)]
		}
	}
	require.Fail(t, "no primary has the slot")
	return 0, nil, nil
}

// A slot moves while a client uses it: each request is counted once.
func TestASlotThatMovesLosesNoCount(t *testing.T) {
	cluster := testenv.RedisCluster(t)
	db := openRedis(t, cluster.URL())
	workspace := uuid.New()
	slot, from, target := slotOf(t, cluster, "livegraph:requests:"+workspace.String())
	counted, stop := make(chan int64), make(chan struct{})
	go func() {
		var n int64
		defer func() { counted <- n }()
		for {
			select {
			case <-stop:
				return
			default:
			}
			result, err := db.CountRequest(t.Context(), &redis.RequestQuery{
				Workspace: workspace, Requests: 1, Limits: [2]int64{1 << 30, 1 << 30}, Lengths: minuteAndDay,
			})
			if err == nil {
				n += result.Taken
			}
		}
	}()
	require.NoError(t, cluster.MoveSlot(t.Context(), slot, from, target))
	require.Eventually(t, func() bool { return db.Server(t.Context(), workspace) == target.Address }, time.Minute,
		time.Millisecond)
	close(stop)
	total := <-counted
	require.Positive(t, total)
	result, err := db.CountRequest(t.Context(), &redis.RequestQuery{
		Workspace: workspace, Limits: [2]int64{1, 1}, Lengths: minuteAndDay,
	})
	require.NoError(t, err)
	require.Equal(t, total, result.Counts[1])
	require.NoError(t, cluster.MoveSlot(t.Context(), slot, target, from)) // for the other tests
	require.NoError(t, cluster.AwaitComplete(t.Context()))
}

// A subscription continues on the server that gets the slot of its channel.
func TestASubscriptionFollowsItsChannel(t *testing.T) {
	cluster := testenv.RedisCluster(t)
	db, installation := openRedis(t, cluster.URL()), uuid.New()
	revisions := db.NewRevisions(installation, [32]byte{1}, slog.New(slog.DiscardHandler))
	received := receiveRevisions(t, revisions)
	sendUntilReceived(t, revisions, received, 1, time.Now())
	slot, from, target := slotOf(t, cluster, "livegraph:auth:"+installation.String())
	require.NoError(t, cluster.MoveSlot(t.Context(), slot, from, target))
	began := time.Now()
	sendUntilReceived(t, revisions, received, 2, time.Now())
	require.Less(t, time.Since(began), 20*time.Second)
	require.NoError(t, cluster.MoveSlot(context.Background(), slot, target, from)) // for the other tests
	sendUntilReceived(t, revisions, received, 3, time.Now())
	require.NoError(t, cluster.AwaitComplete(t.Context()))
}

// A scan that may have missed a key, because its slot moved to a server that was scanned before, fails.
func TestADeletionFailsIfSlotsMoveMeanwhile(t *testing.T) {
	cluster := testenv.RedisCluster(t)
	db, workspace := openRedis(t, cluster.URL()), uuid.New()
	countOne(t, db, workspace)
	slot, from, target := slotOf(t, cluster, "another key, in the middle of a range")
	err := db.EraseWorkspace(t.Context(), workspace, func(int64) error {
		require.NoError(t, cluster.MoveSlot(t.Context(), slot, from, target))
		for _, s := range cluster.Primaries {
			client := s.Client()
			require.Eventually(t, func() bool {
				ranges, err := client.Do(t.Context(), "CLUSTER", "SLOTS").Slice()
				return err == nil && len(ranges) > len(cluster.Primaries)
			}, time.Minute, time.Millisecond)
			require.NoError(t, client.Close())
		}
		return nil
	})
	require.ErrorContains(t, err, "the primaries of the Cluster have changed meanwhile")
	require.NoError(t, cluster.MoveSlot(t.Context(), slot, target, from)) // for the other tests
	require.NoError(t, cluster.AwaitComplete(t.Context()))
	require.NoError(t, db.EraseWorkspace(t.Context(), workspace, func(int64) error { return nil }))
}
