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

type heardRevision struct {
	revision int64
	at       time.Time
}

// revisionsOf listens until the test ends, and gives what is heard.
func revisionsOf(t *testing.T, r *ours.Revisions) <-chan heardRevision {
	t.Helper()
	heard := make(chan heardRevision, 1000)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- r.Hear(ctx, func(revision int64, at time.Time) { heard <- heardRevision{revision, at} })
	}()
	t.Cleanup(func() {
		stop()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
	return heard
}

// sendUntilHeard sends again until it is heard: to listen takes a moment to begin, and
// what is sent before is lost.
func sendUntilHeard(
	t *testing.T, r *ours.Revisions, heard <-chan heardRevision, revision int64, at time.Time,
) heardRevision {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		_ = r.Send(t.Context(), revision, at) // it may be unavailable
		select {
		case got := <-heard:
			if got.revision == revision {
				return got
			}
		case <-time.After(20 * time.Millisecond):
			require.True(t, time.Now().Before(deadline), "nothing is heard")
		}
	}
}

func TestARevisionIsHeardByTheInstallationThatItIsOf(t *testing.T) {
	url := testenv.Redis(t)
	db, log := openRedis(t, url), slog.New(slog.DiscardHandler)
	mine, key := uuid.New(), [32]byte{1}
	heard := revisionsOf(t, db.NewRevisions(mine, key, log))
	others := revisionsOf(t, db.NewRevisions(uuid.New(), key, log))
	at := time.UnixMicro(1_700_000_000_123_456)
	got := sendUntilHeard(t, db.NewRevisions(mine, key, log), heard, 7, at)
	require.True(t, at.Equal(got.at))
	require.Empty(t, others)

	// What is not signed, or by another key, or cut, is not heard.
	options, err := redis.ParseURL(url)
	require.NoError(t, err)
	raw := redis.NewClient(options)
	defer func() { _ = raw.Close() }()
	for _, message := range []string{
		"", "8", string(make([]byte, 16)), string(make([]byte, 32)), string(make([]byte, 1000)),
	} {
		require.NoError(t, raw.Publish(t.Context(), "livegraph:auth:"+mine.String(), message).Err())
	}
	require.NoError(t, db.NewRevisions(mine, [32]byte{2}, log).Send(t.Context(), 8, at))
	require.EqualValues(t, 9, sendUntilHeard(t, db.NewRevisions(mine, key, log), heard, 9, at).revision)
	for len(heard) > 0 {
		require.Contains(t, []int64{7, 9}, (<-heard).revision)
	}
}

func TestRevisionsAreHeardAgainWhenRedisIsBack(t *testing.T) {
	engine := testenv.StoppableRedis(t)
	db := openRedis(t, engine.Address())
	r := db.NewRevisions(uuid.New(), [32]byte{1}, slog.New(slog.DiscardHandler))
	heard := revisionsOf(t, r)
	sendUntilHeard(t, r, heard, 1, time.Now())
	require.NoError(t, engine.Stop(t.Context()))
	require.Error(t, r.Send(t.Context(), 2, time.Now()))
	require.NoError(t, engine.Start(t.Context()))
	sendUntilHeard(t, r, heard, 3, time.Now())
}
