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
	"github.com/livegraph/livegraph/test/testenv"
)

var minuteAndDay = [2]time.Duration{time.Minute, 24 * time.Hour}

// naive counts every request by itself, and looks at each when it is asked.
type naive struct {
	passed map[uuid.UUID][]int64 // when, in microseconds
	lost   map[uuid.UUID]int     // how many of the first the server has forgotten
}

func (n *naive) count(workspace uuid.UUID, window, length int64, from int) (count int64) {
	for _, at := range n.passed[workspace][from:] {
		if at/length == window {
			count++
		}
	}
	return count
}

// The script is held against counting by hand, over times that mostly go on, limits
// that change, callers that know much, little or nothing, and a server that forgets.
func TestRequestsAreCountedAsByHand(t *testing.T) {
	script := redis.AtTime()
	require.NotNil(t, script, "the clock of the script is replaced")
	options, err := driver.ParseURL(testenv.Redis(t))
	require.NoError(t, err)
	client := driver.NewClient(options)
	defer func() { _ = client.Close() }()
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		workspaces := []uuid.UUID{uuid.New(), uuid.New()}
		model := naive{passed: map[uuid.UUID][]int64{}, lost: map[uuid.UUID]int{}}
		now := time.Date(2026, 11, 21, 23, 50, 0, 0, time.UTC).UnixMicro()
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += rapid.SampledFrom([]int64{0, 1, 999_999, 20_000_000, 59_999_999, 600_000_000, 7_200_000_000}).Draw(t, "later")
			ask := redis.RequestAsk{
				Workspace: rapid.SampledFrom(workspaces).Draw(t, "workspace"), Take: rapid.Int64Range(0, 4).Draw(t, "take"),
				Limits:  [2]int64{rapid.Int64Range(1, 5).Draw(t, "per minute"), rapid.Int64Range(1, 20).Draw(t, "per day")},
				Lengths: minuteAndDay,
			}
			keys, _ := ask.Arguments()
			if rapid.IntRange(0, 9).Draw(t, "forget") == 0 {
				require.NoError(t, client.Del(ctx, keys...).Err())
				model.lost[ask.Workspace] = len(model.passed[ask.Workspace])
			}
			var want, has [2]int64
			knows := rapid.IntRange(0, 2).Draw(t, "knows")
			for i, length := range ask.Lengths {
				window := now / length.Microseconds()
				all := model.count(ask.Workspace, window, length.Microseconds(), 0)
				has[i] = model.count(ask.Workspace, window, length.Microseconds(), model.lost[ask.Workspace])
				switch knows {
				case 1: // of a window that is over: it must not count
					ask.Known[i] = redis.Window{Number: window - 1, Count: 1000}
				case 2:
					ask.Known[i] = redis.Window{Number: window, Count: all}
				}
				want[i] = has[i]
				if knows == 2 {
					want[i] = all
				}
			}
			taken := int64(0)
			for taken < ask.Take && want[0]+taken < ask.Limits[0] && want[1]+taken < ask.Limits[1] {
				taken++
			}
			behind := want != has
			keys, args := ask.Arguments()
			answer, err := redis.ReadRequests(script.Eval(ctx, client, keys, append(args, now/1_000_000, now%1_000_000)...))
			require.NoError(t, err)
			for range taken {
				want[0]++
				want[1]++
				model.passed[ask.Workspace] = append(model.passed[ask.Workspace], now)
			}
			if behind && ask.Take > 0 { // what was known is in the server again, of these windows
				model.lost[ask.Workspace] = 0
				model.forgetBut(ask.Workspace, now/minuteAndDay[1].Microseconds())
			}
			require.Equal(
				t, redis.RequestAnswer{At: time.UnixMicro(now).UTC(), Taken: taken, Behind: behind, Counts: want}, answer,
			)
		}
	})
}

// forgetBut leaves what passed on the day alone: nothing asks for older ones.
func (n *naive) forgetBut(workspace uuid.UUID, day int64) {
	var left []int64
	for _, at := range n.passed[workspace] {
		if at/minuteAndDay[1].Microseconds() == day {
			left = append(left, at)
		}
	}
	n.passed[workspace] = left
}

func TestARequestIsNotCountedWhenNobodyWaitsForItAnyMore(t *testing.T) {
	db := openRedis(t, testenv.Redis(t))
	ask := redis.RequestAsk{
		Workspace: uuid.New(), Take: 1, Limits: [2]int64{5, 5}, Lengths: minuteAndDay, NotAfter: time.Now().Add(-time.Minute),
	}
	answer, err := db.CountRequest(t.Context(), &ask)
	require.NoError(t, err)
	require.True(t, answer.Late)
	require.WithinDuration(t, time.Now(), answer.At, 30*time.Second)
	ask.NotAfter = time.Now().Add(time.Minute)
	answer, err = db.CountRequest(t.Context(), &ask)
	require.NoError(t, err)
	require.EqualValues(t, 1, answer.Taken)
	require.Equal(t, int64(1), answer.Counts[1], "the late one is not among them")
}

func TestCountsGoWithTheDay(t *testing.T) {
	url := testenv.Redis(t)
	db := openRedis(t, url)
	ask := redis.RequestAsk{Workspace: uuid.New(), Take: 1, Limits: [2]int64{5, 5}, Lengths: minuteAndDay}
	answers, err := db.CountRequests(t.Context(), []redis.RequestAsk{ask, ask})
	require.NoError(t, err)
	require.Equal(t, int64(2), answers[1].Counts[1])
	options, err := driver.ParseURL(url)
	require.NoError(t, err)
	client := driver.NewClient(options)
	defer func() { _ = client.Close() }()
	keys, _ := ask.Arguments()
	left, err := client.PTTL(t.Context(), keys[0]).Result()
	require.NoError(t, err)
	tomorrow := answers[0].At.Truncate(24 * time.Hour).Add(24 * time.Hour)
	require.InDelta(t, tomorrow.Sub(answers[0].At), left, float64(30*time.Second))
}
