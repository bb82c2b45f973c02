package redis_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	driver "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/storage/redis"
)

var minuteAndDay = [2]time.Duration{time.Minute, 24 * time.Hour}

// requestModel is a model of the script that stores the time of every request.
type requestModel struct {
	passed map[uuid.UUID][]int64 // times of accepted requests, in microseconds
	lost   map[uuid.UUID]int     // number of the first requests that the server has lost
}

func (n *requestModel) count(workspace uuid.UUID, window, length int64, from int) (count int64) {
	for _, at := range n.passed[workspace][from:] {
		if at/length == window {
			count++
		}
	}
	return count
}

// The script is compared with the model, with increasing times, changing limits, callers with current,
// outdated or no known counts, and a server that loses data.
func TestRequestsAreCountedAsByHand(t *testing.T) {
	onEachEdition(t, func(t *testing.T, e edition) { countAsByHand(t, e.raw) })
}

func countAsByHand(t *testing.T, client driver.UniversalClient) {
	script := redis.AtTime()
	require.NotNil(t, script, "the clock of the script is replaced")
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		workspaces := []uuid.UUID{uuid.New(), uuid.New()}
		model := requestModel{passed: map[uuid.UUID][]int64{}, lost: map[uuid.UUID]int{}}
		now := time.Date(2026, 11, 21, 23, 50, 0, 0, time.UTC).UnixMicro()
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += rapid.SampledFrom([]int64{0, 1, 999_999, 20_000_000, 59_999_999, 600_000_000, 7_200_000_000}).Draw(t, "later")
			ask := redis.RequestQuery{
				Workspace: rapid.SampledFrom(workspaces).Draw(t, "workspace"), Requests: rapid.Int64Range(0, 4).Draw(t, "take"),
				Limits:  [2]int64{rapid.Int64Range(1, 5).Draw(t, "per minute"), rapid.Int64Range(1, 20).Draw(t, "per day")},
				Lengths: minuteAndDay,
			}
			keys, _ := ask.Arguments()
			if rapid.IntRange(0, 9).Draw(t, "forget") == 0 {
				require.NoError(t, client.Del(ctx, keys...).Err())
				model.lost[ask.Workspace] = len(model.passed[ask.Workspace])
			}
			var want, counted [2]int64
			known := rapid.IntRange(0, 2).Draw(t, "knows")
			for i, length := range ask.Lengths {
				window := now / length.Microseconds()
				all := model.count(ask.Workspace, window, length.Microseconds(), 0)
				counted[i] = model.count(ask.Workspace, window, length.Microseconds(), model.lost[ask.Workspace])
				switch known {
				case 1: // counts of a past window, which must be ignored
					ask.Known[i] = redis.Window{Number: window - 1, Count: 1000}
				case 2:
					ask.Known[i] = redis.Window{Number: window, Count: all}
				}
				want[i] = counted[i]
				if known == 2 {
					want[i] = all
				}
			}
			taken := int64(0)
			for taken < ask.Requests && want[0]+taken < ask.Limits[0] && want[1]+taken < ask.Limits[1] {
				taken++
			}
			behind := want != counted
			keys, args := ask.Arguments()
			answer, err := redis.ReadRequests(script.Eval(ctx, client, keys, append(args, now/1_000_000, now%1_000_000)...))
			require.NoError(t, err)
			for range taken {
				want[0]++
				want[1]++
				model.passed[ask.Workspace] = append(model.passed[ask.Workspace], now)
			}
			if behind && ask.Requests > 0 { // the server has restored the known counts of these windows
				model.lost[ask.Workspace] = 0
				model.keepDay(ask.Workspace, now/minuteAndDay[1].Microseconds())
			}
			require.Equal(
				t, redis.RequestResult{At: time.UnixMicro(now).UTC(), Taken: taken, Behind: behind, Counts: want}, answer,
			)
		}
	})
}

// keepDay removes all requests except those of the day; earlier ones are not counted later.
func (n *requestModel) keepDay(workspace uuid.UUID, day int64) {
	var remaining []int64
	for _, at := range n.passed[workspace] {
		if at/minuteAndDay[1].Microseconds() == day {
			remaining = append(remaining, at)
		}
	}
	n.passed[workspace] = remaining
}

func TestARequestIsNotCountedAfterNotAfter(t *testing.T) {
	onEachEdition(t, func(t *testing.T, e edition) {
		db := e.open(t)
		ask := redis.RequestQuery{
			Workspace: uuid.New(), Requests: 1, Limits: [2]int64{5, 5}, Lengths: minuteAndDay,
			NotAfter: time.Now().Add(-time.Minute),
		}
		answer, err := db.CountRequest(t.Context(), &ask)
		require.NoError(t, err)
		require.True(t, answer.Late)
		require.WithinDuration(t, time.Now(), answer.At, 30*time.Second)
		ask.NotAfter = time.Now().Add(time.Minute)
		answer, err = db.CountRequest(t.Context(), &ask)
		require.NoError(t, err)
		require.EqualValues(t, 1, answer.Taken)
		require.Equal(t, int64(1), answer.Counts[1], "the late request is not counted")
	})
}

func TestCountsExpireWithTheDay(t *testing.T) {
	onEachEdition(t, func(t *testing.T, e edition) {
		db := e.open(t)
		ask := redis.RequestQuery{Workspace: uuid.New(), Requests: 1, Limits: [2]int64{5, 5}, Lengths: minuteAndDay}
		answers, err := db.CountRequests(t.Context(), []redis.RequestQuery{ask, ask})
		require.NoError(t, err)
		require.Equal(t, int64(2), answers[1].Counts[1])
		keys, _ := ask.Arguments()
		ttl, err := e.raw.PTTL(t.Context(), keys[0]).Result()
		require.NoError(t, err)
		tomorrow := answers[0].At.Truncate(24 * time.Hour).Add(24 * time.Hour)
		require.InDelta(t, tomorrow.Sub(answers[0].At), ttl, float64(30*time.Second))
	})
}
