package redis_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	ours "github.com/livegraph/livegraph/storage/redis"
	"github.com/livegraph/livegraph/test/testenv"
)

type receivedRevision struct {
	revision int64
	at       time.Time
}

// receiveRevisions receives revisions until the test ends.
func receiveRevisions(t *testing.T, r *ours.Revisions) <-chan receivedRevision {
	t.Helper()
	received := make(chan receivedRevision, 1000)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- r.Listen(ctx, func(revision int64, at time.Time) { received <- receivedRevision{revision, at} })
	}()
	t.Cleanup(func() {
		stop()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
	return received
}

// sendUntilReceived sends a revision repeatedly until it is received: revisions that are sent before
// the receiver has subscribed are lost.
func sendUntilReceived(
	t *testing.T, r *ours.Revisions, received <-chan receivedRevision, revision int64, at time.Time,
) receivedRevision {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		_ = r.Send(t.Context(), revision, at) // it may be unavailable
		select {
		case got := <-received:
			if got.revision == revision {
				return got
			}
		case <-time.After(20 * time.Millisecond):
			require.True(t, time.Now().Before(deadline), "no revision was received")
		}
	}
}

func TestARevisionIsReceivedByItsInstallation(t *testing.T) {
	onEachEdition(t, func(t *testing.T, e edition) {
		db, log := e.open(t), slog.New(slog.DiscardHandler)
		mine, key := uuid.New(), [32]byte{1}
		received := receiveRevisions(t, db.NewRevisions(mine, key, log))
		otherInstallation := receiveRevisions(t, db.NewRevisions(uuid.New(), key, log))
		at := time.UnixMicro(1_700_000_000_123_456)
		got := sendUntilReceived(t, db.NewRevisions(mine, key, log), received, 7, at)
		require.True(t, at.Equal(got.at))
		require.Empty(t, otherInstallation)

		// Messages that are unsigned, truncated, or signed with another key are ignored.
		publish := e.raw.Publish
		if _, sharded := e.raw.(*redis.ClusterClient); sharded {
			publish = e.raw.SPublish
		}
		for _, message := range []string{
			"", "8", string(make([]byte, 16)), string(make([]byte, 32)), string(make([]byte, 1000)),
		} {
			require.NoError(t, publish(t.Context(), "livegraph:auth:"+mine.String(), message).Err())
		}
		require.NoError(t, db.NewRevisions(mine, [32]byte{2}, log).Send(t.Context(), 8, at))
		require.EqualValues(t, 9, sendUntilReceived(t, db.NewRevisions(mine, key, log), received, 9, at).revision)
		for len(received) > 0 {
			require.Contains(t, []int64{7, 9}, (<-received).revision)
		}
	})
}

func TestRevisionsAreReceivedAfterReconnecting(t *testing.T) {
	engine := testenv.StoppableRedis(t)
	db := openRedis(t, engine.Address())
	r := db.NewRevisions(uuid.New(), [32]byte{1}, slog.New(slog.DiscardHandler))
	received := receiveRevisions(t, r)
	sendUntilReceived(t, r, received, 1, time.Now())
	require.NoError(t, engine.Stop(t.Context()))
	require.Error(t, r.Send(t.Context(), 2, time.Now()))
	require.NoError(t, engine.Start(t.Context()))
	sendUntilReceived(t, r, received, 3, time.Now())
}
