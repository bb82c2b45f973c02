package redis_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/redis"
	"github.com/livegraph/livegraph/test/testenv"
)

// newReplies returns Replies that run until the test ends.
func newReplies(t *testing.T, db *redis.DB) *redis.Replies {
	t.Helper()
	replies := db.NewReplies(slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- replies.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
	require.Eventually(t, replies.Connected, time.Minute, time.Millisecond)
	return replies
}

func openRedis(t *testing.T, url string) *redis.DB {
	t.Helper()
	db, err := redis.Open(t.Context(), redis.Options{URL: url})
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// receive waits for the next payload.
func receive(t *testing.T, payloads <-chan []byte) []byte {
	t.Helper()
	select {
	case payload := <-payloads:
		return payload
	case <-time.After(20 * time.Second):
		require.Fail(t, "no reply was received")
		return nil
	}
}

func TestAReplyReachesOnlyTheWaitersOfItsProcess(t *testing.T) {
	onEachEdition(t, func(t *testing.T, e edition) {
		db := e.open(t)
		mine, other := newReplies(t, db), newReplies(t, db)
		first, second := uuid.New(), uuid.New()
		one, stopOne := mine.Await(first)
		defer stopOne()
		same, stopSame := mine.Await(first)
		defer stopSame()
		two, stopTwo := mine.Await(second)
		defer stopTwo()
		elsewhere, stopElsewhere := other.Await(first)
		defer stopElsewhere()

		require.NoError(t, db.SendReplies(t.Context(), []redis.Reply{
			{To: mine.Address(), ID: uuid.New(), Payload: []byte("no waiter")},
			{To: mine.Address(), ID: first, Payload: []byte("1")},
			{To: mine.Address(), ID: second, Payload: []byte("2")},
			{To: other.Address(), ID: second, Payload: []byte("not here")},
		}))
		require.Equal(t, "1", string(receive(t, one)))
		require.Equal(t, "1", string(receive(t, same)))
		require.Equal(t, "2", string(receive(t, two)))
		require.Empty(t, elsewhere)
	})
}

func TestALargeReplyIsSentWithoutItsPayload(t *testing.T) {
	onEachEdition(t, func(t *testing.T, e edition) {
		db := e.open(t)
		replies := newReplies(t, db)
		for size, want := range map[int]int{redis.MaxReplyBytes: redis.MaxReplyBytes, redis.MaxReplyBytes + 1: 0} {
			id := uuid.New()
			payloads, stop := replies.Await(id)
			require.NoError(t, db.SendReplies(t.Context(), []redis.Reply{
				{To: replies.Address(), ID: id, Payload: bytes.Repeat([]byte("x"), size)},
			}))
			require.Len(t, receive(t, payloads), want)
			stop()
		}
	})
}

func TestStoppedWaitersAreRemoved(t *testing.T) {
	db := openRedis(t, testenv.Redis(t))
	replies := newReplies(t, db)
	id := uuid.New()
	_, stop := replies.Await(id)
	_, stopOther := replies.Await(id)
	require.Equal(t, 1, replies.Waiting())
	stop()
	require.Equal(t, 1, replies.Waiting())
	stopOther()
	require.Zero(t, replies.Waiting())
}

func TestWaitersAreNotifiedAfterReconnecting(t *testing.T) {
	engine := testenv.StoppableRedis(t)
	db := openRedis(t, engine.Address())
	replies := newReplies(t, db)
	id := uuid.New()
	payloads, stop := replies.Await(id)
	defer stop()

	require.NoError(t, engine.Stop(t.Context()))
	require.Eventually(t, func() bool { return !replies.Connected() }, time.Minute, time.Millisecond)
	require.Error(t, db.SendReplies(t.Context(), []redis.Reply{{To: replies.Address(), ID: id, Payload: []byte("lost")}}))
	require.NoError(t, engine.Start(t.Context()))
	require.Empty(t, receive(t, payloads))
	require.True(t, replies.Connected())

	require.Eventually(t, func() bool {
		return db.SendReplies(t.Context(), []redis.Reply{{To: replies.Address(), ID: id, Payload: []byte("found")}}) == nil
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, "found", string(receive(t, payloads)))
}
