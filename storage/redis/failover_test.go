package redis_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/redis"
	"github.com/livegraph/livegraph/test/engines/valkeygroup"
	"github.com/livegraph/livegraph/test/testenv"
)

// failOverTime is the maximum time of a fail-over on a busy machine; without load it takes some seconds.
const failOverTime = 60 * time.Second

// failOver is a primary that a replica takes over.
type failOver struct {
	options  redis.Options
	stop     func() error // stops the primary
	complete func(ctx context.Context) error
	// owns reports whether the primary has the keys of a workspace.
	owns func(db *redis.DB, workspace uuid.UUID) bool
}

// sentinelFailOver returns a primary with a replica and Sentinels.
func sentinelFailOver(s *valkeygroup.Sentinels, stop func() error) failOver {
	return failOver{
		options:  redis.Options{URL: s.URL(), SentinelPassword: s.SentinelPassword},
		stop:     stop,
		complete: func(ctx context.Context) error { return s.AwaitComplete(ctx, 1) },
		owns:     func(*redis.DB, uuid.UUID) bool { return true },
	}
}

// clusterFailOver returns the first primary of a Cluster with a replica each. It stops as stop does.
func clusterFailOver(t *testing.T, stop func(s *valkeygroup.Server) error) failOver {
	c := testenv.StoppableRedisCluster(t, 1)
	return failOver{
		options:  redis.Options{URL: c.URL()},
		stop:     func() error { return stop(c.Primaries[0]) },
		complete: c.AwaitComplete,
		owns: func(db *redis.DB, workspace uuid.UUID) bool {
			return db.Server(t.Context(), workspace) == c.Primaries[0].Address
		},
	}
}

func TestAReplicaTakesOverFromAKilledPrimary(t *testing.T) {
	t.Run("Sentinels", func(t *testing.T) {
		s := testenv.StoppableRedisSentinels(t)
		requireFailOver(t, sentinelFailOver(s, s.Servers[0].Kill))
	})
	t.Run("Cluster", func(t *testing.T) {
		requireFailOver(t, clusterFailOver(t, (*valkeygroup.Server).Kill))
	})
}

// A machine that fails closes no connection. It has the primary and the Sentinel that the client uses: the
// client knows the other ones only from this Sentinel.
func TestAReplicaTakesOverFromAPrimaryThatHangs(t *testing.T) {
	testenv.RequireFull(t)
	t.Run("Sentinels", func(t *testing.T) {
		s := testenv.StoppableRedisSentinels(t)
		f := sentinelFailOver(s, func() error { return errors.Join(s.Sentinels[0].Pause(), s.Servers[0].Pause()) })
		f.options.URL = s.URLWith(s.Sentinels[0])
		requireFailOver(t, f)
	})
	t.Run("Cluster", func(t *testing.T) {
		requireFailOver(t, clusterFailOver(t, (*valkeygroup.Server).Pause))
	})
}

// requireFailOver stops the primary while it is in use, and tests that all calls continue.
func requireFailOver(t *testing.T, f failOver) {
	t.Helper()
	e := edition{options: f.options}
	db, subscriber := e.open(t), e.open(t) // a subscription also finds the new primary
	workspace := uuid.New()
	for !f.owns(db, workspace) {
		workspace = uuid.New()
	}
	countOne(t, db, workspace)
	saveStacks(t, db, workspace)
	revisions := subscriber.NewRevisions(uuid.New(), [32]byte{1}, slog.New(slog.DiscardHandler))
	received := receiveRevisions(t, revisions)
	replies := newReplies(t, subscriber)
	sendUntilReceived(t, revisions, received, 1, time.Now())
	require.NoError(t, f.complete(t.Context()))

	require.NoError(t, f.stop())
	began := time.Now()
	known := redis.Window{Number: began.UnixMicro() / minuteAndDay[1].Microseconds(), Count: 1}
	count := func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer cancel()
		result, err := db.CountRequest(ctx, &redis.RequestQuery{
			Workspace: workspace, Requests: 1, Limits: [2]int64{1 << 30, 1 << 30}, Lengths: minuteAndDay,
			Known: [2]redis.Window{{}, known},
		})
		return err == nil && result.Counts[1] >= 2
	}
	require.Eventually(t, count, failOverTime, 50*time.Millisecond)
	t.Logf("counts after %s", time.Since(began).Round(time.Millisecond))
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		return db.SaveStacks(ctx, []redis.StackUpdate{{Workspace: workspace, Base: 7, Head: 8}}) == nil
	}, failOverTime, 50*time.Millisecond)
	stored, err := db.LoadStacks(t.Context(), map[uuid.UUID][]uuid.UUID{workspace: nil})
	require.NoError(t, err)
	require.EqualValues(t, 8, stored[workspace].Head)
	sendUntilReceived(t, revisions, received, 2, time.Now())
	require.Eventually(t, func() bool {
		id := uuid.New()
		payloads, stop := replies.Await(id)
		defer stop()
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		_ = db.SendReplies(ctx, []redis.Reply{{To: replies.Address(), ID: id, Payload: []byte("found")}})
		select {
		case payload := <-payloads:
			return string(payload) == "found"
		case <-ctx.Done():
			return false
		}
	}, failOverTime, 10*time.Millisecond)
	t.Logf("everything after %s", time.Since(began).Round(time.Millisecond))
}
