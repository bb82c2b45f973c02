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

// listening returns replies that are listened for until the test ends.
func listening(t *testing.T, db *redis.DB) *redis.Replies {
	t.Helper()
	replies := db.NewReplies(slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- replies.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
	require.Eventually(t, replies.Connected, 10*time.Second, time.Millisecond)
	return replies
}

func openRedis(t *testing.T, url string) *redis.DB {
	t.Helper()
	db, err := redis.Open(t.Context(), redis.Options{URL: url})
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// hear waits for what is heard next.
func hear(t *testing.T, heard <-chan []byte) []byte {
	t.Helper()
	select {
	case payload := <-heard:
		return payload
	case <-time.After(20 * time.Second):
		require.Fail(t, "nothing is heard")
		return nil
	}
}

func TestAReplyReachesOnlyWhoWaitsForItInTheProcessThatItIsFor(t *testing.T) {
	db := openRedis(t, testenv.Redis(t))
	mine, other := listening(t, db), listening(t, db)
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
		{To: mine.Address(), ID: uuid.New(), Payload: []byte("nobody waits")},
		{To: mine.Address(), ID: first, Payload: []byte("1")},
		{To: mine.Address(), ID: second, Payload: []byte("2")},
		{To: other.Address(), ID: second, Payload: []byte("not here")},
	}))
	require.Equal(t, "1", string(hear(t, one)))
	require.Equal(t, "1", string(hear(t, same)))
	require.Equal(t, "2", string(hear(t, two)))
	require.Empty(t, elsewhere)
}

func TestOfALargeReplyOnlyTheNoticeIsSent(t *testing.T) {
	db := openRedis(t, testenv.Redis(t))
	replies := listening(t, db)
	for size, want := range map[int]int{redis.MaxReplyBytes: redis.MaxReplyBytes, redis.MaxReplyBytes + 1: 0} {
		id := uuid.New()
		heard, stop := replies.Await(id)
		require.NoError(t, db.SendReplies(t.Context(), []redis.Reply{
			{To: replies.Address(), ID: id, Payload: bytes.Repeat([]byte("x"), size)},
		}))
		require.Len(t, hear(t, heard), want)
		stop()
	}
}

func TestAWaitThatEndedIsForgotten(t *testing.T) {
	db := openRedis(t, testenv.Redis(t))
	replies := listening(t, db)
	id := uuid.New()
	_, stop := replies.Await(id)
	_, stopOther := replies.Await(id)
	require.Equal(t, 1, replies.Waiting())
	stop()
	require.Equal(t, 1, replies.Waiting())
	stopOther()
	require.Zero(t, replies.Waiting())
}

func TestAfterRedisWasAwayWhoWaitsIsToldToLook(t *testing.T) {
	engine := testenv.StoppableRedis(t)
	db := openRedis(t, engine.Address())
	replies := listening(t, db)
	id := uuid.New()
	heard, stop := replies.Await(id)
	defer stop()

	require.NoError(t, engine.Stop(t.Context()))
	require.Eventually(t, func() bool { return !replies.Connected() }, 20*time.Second, time.Millisecond)
	require.Error(t, db.SendReplies(t.Context(), []redis.Reply{{To: replies.Address(), ID: id, Payload: []byte("lost")}}))
	require.NoError(t, engine.Start(t.Context()))
	require.Empty(t, hear(t, heard))
	require.True(t, replies.Connected())

	require.Eventually(t, func() bool {
		return db.SendReplies(t.Context(), []redis.Reply{{To: replies.Address(), ID: id, Payload: []byte("found")}}) == nil
	}, 20*time.Second, 10*time.Millisecond)
	require.Equal(t, "found", string(hear(t, heard)))
}
