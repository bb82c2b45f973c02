package ratelimit_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	driver "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/ratelimit"
	"github.com/livegraph/livegraph/storage/redis"
	"github.com/livegraph/livegraph/test/testenv"
)

// longTimeout is a timeout that is long enough for a busy machine.
const longTimeout = time.Minute

func open(t testing.TB, url string) *redis.DB {
	t.Helper()
	return openWith(t, redis.Options{URL: url})
}

func openWith(t testing.TB, o redis.Options) *redis.DB {
	t.Helper()
	db, err := redis.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// process creates a limiter with its own connection, like a process.
func process(t testing.TB, url string, change ...func(*ratelimit.Deps)) *ratelimit.Limiter {
	t.Helper()
	return processWith(t, redis.Options{URL: url}, change...)
}

func processWith(t testing.TB, o redis.Options, change ...func(*ratelimit.Deps)) *ratelimit.Limiter {
	t.Helper()
	deps := ratelimit.Deps{
		Counter: openWith(t, o), Timeout: longTimeout, Logger: slog.New(slog.DiscardHandler), Minute: 20 * time.Hour,
		Day: 400 * time.Hour,
	}
	for _, apply := range change {
		apply(&deps)
	}
	return ratelimit.New(deps)
}

// passed takes n requests and returns the number that passed.
func passed(t testing.TB, l *ratelimit.Limiter, workspace uuid.UUID, plan ratelimit.Plan, n int) (count int) {
	t.Helper()
	for range n {
		if s := l.Take(t.Context(), workspace, plan); s.Exceeded() == nil {
			count++
		}
	}
	return count
}

// Four processes with fifty callers each, and windows of one second that change meanwhile.
// In no window do more requests pass than the plan allows. In each window with a refused
// request, exactly the allowed number passes.
func TestExactlyThePlansRequestsPassOverAllProcesses(t *testing.T) {
	requireExactlyThePlan(t, redis.Options{URL: testenv.Redis(t)})
}

func requireExactlyThePlan(t *testing.T, o redis.Options) {
	t.Helper()
	const processes, callers, perMinute, changes = 4, 50, 40, 3
	workspace := uuid.New()
	plan := ratelimit.Plan{PerMinute: perMinute, PerDay: ratelimit.Unlimited}
	var mu sync.Mutex
	taken, refused := map[time.Time]int{}, map[time.Time]int{}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var group sync.WaitGroup
	for range processes {
		limiter := processWith(t, o, func(d *ratelimit.Deps) { d.Minute = time.Second })
		for range callers {
			group.Go(func() {
				for ctx.Err() == nil {
					s := limiter.Take(ctx, workspace, plan)
					mu.Lock()
					if s.Exceeded() == nil {
						taken[s.Minute.Reset]++
					} else {
						refused[s.Minute.Reset]++
					}
					if len(refused) > changes {
						stop()
					}
					mu.Unlock()
					time.Sleep(time.Millisecond) // limit the number of refusals
				}
			})
		}
	}
	group.Wait()
	require.Greater(t, len(refused), changes)
	for window, count := range taken {
		require.LessOrEqual(t, count, perMinute, window)
		if refused[window] > 0 {
			require.Equal(t, perMinute, count, window)
		}
	}
	for window := range refused {
		require.Equal(t, perMinute, taken[window], "in %s a request was refused", window)
	}
}

func TestTheWindowThatRefusesIsReported(t *testing.T) {
	url := testenv.Redis(t)
	limiter, workspace := process(t, url), uuid.New()
	plan := ratelimit.Plan{PerMinute: 3, PerDay: 5}
	for left := range 3 {
		s := limiter.Take(t.Context(), workspace, plan)
		require.Nil(t, s.Exceeded())
		require.Equal(t, ratelimit.Minute, s.Effective().Name)
		require.EqualValues(t, 2-left, s.Minute.Remaining)
		require.EqualValues(t, 4-left, s.Day.Remaining)
	}
	for range 3 {
		s := limiter.Take(t.Context(), workspace, plan)
		require.Equal(t, ratelimit.Minute, s.Exceeded().Name)
		require.EqualValues(t, 2, s.Day.Remaining, "a refused request is not counted")
	}
	plan.PerMinute = 100 // a larger plan applies immediately
	require.Equal(t, ratelimit.Day, func() string {
		s := limiter.Take(t.Context(), workspace, plan)
		return s.Effective().Name
	}())
	require.Equal(t, 1, passed(t, limiter, workspace, plan, 10))
	s := limiter.Take(t.Context(), workspace, plan)
	require.Equal(t, ratelimit.Day, s.Exceeded().Name)
	require.Equal(t, ratelimit.Day, s.Effective().Name)
	require.Positive(t, s.Day.Wait)
	require.Zero(t, s.Day.Reset.UnixNano()%int64(400*time.Hour))

	plan.PerMinute, plan.PerDay = 5, 5 // both are used up
	s = limiter.Take(t.Context(), workspace, plan)
	require.Equal(t, ratelimit.Day, s.Exceeded().Name, "the end of the minute would not help")
	plan.PerMinute, plan.PerDay = 2, ratelimit.Unlimited+1 // a smaller one applies immediately, too
	s = limiter.Take(t.Context(), workspace, plan)
	require.Equal(t, ratelimit.Minute, s.Exceeded().Name)
	require.Zero(t, s.Minute.Remaining)
	require.Equal(t, ratelimit.Unlimited, s.Day.Remaining)
}

func TestLookingCountsNothing(t *testing.T) {
	url := testenv.Redis(t)
	limiter, one, two, free := process(t, url), uuid.New(), uuid.New(), uuid.New()
	plan, none := ratelimit.Plan{PerMinute: 3, PerDay: 5}, ratelimit.Plan{
		PerMinute: ratelimit.Unlimited, PerDay: ratelimit.Unlimited,
	}
	require.Equal(t, 2, passed(t, limiter, one, plan, 2))
	for range 5 {
		s := limiter.Peek(t.Context(), []ratelimit.WorkspacePlan{{free, none}, {one, plan}, {two, plan}})
		require.Equal(t, ratelimit.Unlimited, s[0].Minute.Remaining)
		require.EqualValues(t, 1, s[1].Minute.Remaining)
		require.EqualValues(t, 3, s[1].Day.Remaining)
		require.EqualValues(t, 3, s[2].Minute.Remaining)
	}
	require.Equal(t, 1, passed(t, process(t, url), one, plan, 10))
}

// countingRedis counts the calls of Redis and the answers in time.
type countingRedis struct {
	*redis.DB
	calls, answered atomic.Int64
}

func (c *countingRedis) CountRequest(ctx context.Context, ask *redis.RequestQuery) (redis.RequestResult, error) {
	c.calls.Add(1)
	answer, err := c.DB.CountRequest(ctx, ask)
	if err == nil && !answer.Late {
		c.answered.Add(1)
	}
	return answer, err
}

func TestRedisIsNotAskedWithoutNeed(t *testing.T) {
	counter := &countingRedis{DB: open(t, testenv.Redis(t))}
	limiter := process(t, testenv.Redis(t), func(d *ratelimit.Deps) { d.Counter = counter })
	none := ratelimit.Plan{PerMinute: ratelimit.Unlimited, PerDay: ratelimit.Unlimited}
	require.Equal(t, 100, passed(t, limiter, uuid.New(), none, 100))
	require.Zero(t, counter.calls.Load(), "a workspace without limits is not counted")
	workspace := uuid.New()
	require.Equal(t, 5, passed(t, limiter, workspace, ratelimit.Plan{PerMinute: 5, PerDay: 50}, 1000))
	require.Less(t, counter.calls.Load(), int64(500), "the exhausted plan is cached")
	require.Equal(
		t, 1, passed(t, limiter, workspace, ratelimit.Plan{PerMinute: 6, PerDay: 50}, 10), "but not beyond a larger plan",
	)
}

// blockedRedis holds back the answers of Redis until unblock is closed.
type blockedRedis struct {
	countingRedis
	unblock chan struct{}
}

func (h *blockedRedis) CountRequest(ctx context.Context, ask *redis.RequestQuery) (redis.RequestResult, error) {
	defer func() { <-h.unblock }()
	return h.countingRedis.CountRequest(ctx, ask)
}

// Concurrent requests are counted by one call, and each gets the counts as if it had been alone.
func TestRequestsThatMeetAreCountedByOneCall(t *testing.T) {
	const callers, room = 40, 30
	counter := &blockedRedis{countingRedis: countingRedis{DB: open(t, testenv.Redis(t))}, unblock: make(chan struct{})}
	waiting := make(chan struct{}, callers)
	limiter := process(t, testenv.Redis(t), func(d *ratelimit.Deps) { d.Counter = counter })
	workspace, plan := uuid.New(), ratelimit.Plan{PerMinute: room, PerDay: 100}
	standings := make(chan ratelimit.Status, callers)
	take := func() {
		waiting <- struct{}{}
		standings <- limiter.Take(t.Context(), workspace, plan)
	}
	go take()
	require.Eventually(t, func() bool { return counter.answered.Load() == 1 }, time.Minute, time.Millisecond)
	for range callers - 1 {
		go take()
	}
	for range callers {
		<-waiting
	}
	close(counter.unblock)
	remaining, refused := map[int64]int{}, 0
	for range callers {
		if s := <-standings; s.Exceeded() == nil {
			remaining[s.Minute.Remaining]++
		} else {
			refused++
			require.Zero(t, s.Minute.Remaining)
		}
	}
	require.Equal(t, callers-room, refused)
	require.Len(t, remaining, room, "each gets another number")
	require.Less(t, counter.calls.Load(), int64(callers/2))
}

func TestCountsThatRedisLostAreRestored(t *testing.T) {
	url, workspace := testenv.Redis(t), uuid.New()
	plan := ratelimit.Plan{PerMinute: 20, PerDay: 100}
	first, second := process(t, url), process(t, url)
	require.Equal(t, 5, passed(t, first, workspace, plan, 5))
	require.Equal(t, 3, passed(t, second, workspace, plan, 3)) // and so has a count of 8
	options, err := driver.ParseURL(url)
	require.NoError(t, err)
	client := driver.NewClient(options)
	defer func() { _ = client.Close() }()
	require.NoError(t, client.FlushDB(t.Context()).Err())
	require.NoError(t, client.ScriptFlush(t.Context()).Err())
	s := first.Take(t.Context(), workspace, plan)
	require.EqualValues(t, 14, s.Minute.Remaining, "it continues from the count of the first")
	s = second.Take(t.Context(), workspace, plan)
	require.EqualValues(t, 11, s.Minute.Remaining, "and then from the count of the second")
	require.Equal(t, 11, passed(t, first, workspace, plan, 50))
}

func TestAProcessCountsAloneWhileRedisIsUnavailable(t *testing.T) {
	engine := testenv.StoppableRedis(t)
	workspace, plan := uuid.New(), ratelimit.Plan{PerMinute: 30, PerDay: 100}
	first, second := process(t, engine.Address()), process(t, engine.Address())
	require.Equal(t, 10, passed(t, first, workspace, plan, 10))
	require.Equal(t, 2, passed(t, second, workspace, plan, 2))
	require.NoError(t, engine.Stop(t.Context()))
	require.Equal(t, 20, passed(t, first, workspace, plan, 50), "the plan, with the counts from before")
	require.Equal(t, 10, passed(t, second, workspace, plan, 10))
	remaining := func(l *ratelimit.Limiter) int64 {
		return l.Peek(t.Context(), []ratelimit.WorkspacePlan{{Workspace: workspace, Plan: plan}})[0].Minute.Remaining
	}
	require.EqualValues(t, 8, remaining(second))

	require.NoError(t, engine.Start(t.Context()))
	require.Eventually(t, func() bool {
		passed(t, first, workspace, plan, 1)
		return remaining(second) == 0
	}, time.Minute, 20*time.Millisecond, "Redis receives the counts")
	require.Zero(t, passed(t, second, workspace, plan, 5))
}

// A stopped Redis keeps its connections. No request waits for it longer than the timeout,
// and most do not wait.
func TestARedisThatHangsDelaysNobody(t *testing.T) {
	const timeout = 100 * time.Millisecond
	engine := testenv.StoppableRedis(t)
	workspace, plan := uuid.New(), ratelimit.Plan{PerMinute: 1000, PerDay: 2000}
	counter := &countingRedis{DB: open(t, engine.Address())}
	limiter := process(t, engine.Address(), func(d *ratelimit.Deps) { d.Counter, d.Timeout = counter, timeout })
	all := 0
	answered := func() bool { // Redis must answer once, so that its clock is known
		began := counter.answered.Load()
		all += passed(t, limiter, workspace, plan, 1)
		return counter.answered.Load() > began
	}
	require.Eventually(t, answered, time.Minute, time.Millisecond)
	testenv.Pause(t, engine)
	began, before := time.Now(), counter.calls.Load()
	all += passed(t, limiter, workspace, plan, 200)
	require.Less(
		t, counter.calls.Load()-before, int64(3+time.Since(began)/(500*time.Millisecond)+1), "the others do not wait",
	)
	testenv.Resume(t, engine)
	require.Eventually(t, answered, time.Minute, 10*time.Millisecond, "it uses Redis again")
	s := process(t, engine.Address()).Peek(t.Context(), []ratelimit.WorkspacePlan{{Workspace: workspace, Plan: plan}})
	require.EqualValues(t, 1000-all, s[0].Minute.Remaining)
}

func TestWhatRedisFindsOnItsConnectionsLaterIsNotCounted(t *testing.T) {
	const (
		length  = 2 * time.Second
		timeout = 100 * time.Millisecond
	)
	engine := testenv.StoppableRedis(t)
	limited := []ratelimit.WorkspacePlan{
		{Workspace: uuid.New(), Plan: ratelimit.Plan{PerMinute: 1000, PerDay: ratelimit.Unlimited}},
	}
	counter := &countingRedis{DB: open(t, engine.Address())}
	limiter := process(t, engine.Address(), func(d *ratelimit.Deps) {
		d.Counter, d.Timeout, d.Minute = counter, timeout, length
	})
	other := process(t, engine.Address(), func(d *ratelimit.Deps) { d.Minute = length })
	require.Eventually(t, func() bool {
		passed(t, limiter, limited[0].Workspace, limited[0].Plan, 1)
		return counter.answered.Load() > 0
	}, time.Minute, time.Millisecond)
	testenv.Pause(t, engine)
	before := counter.calls.Load()
	last := limiter.Take(t.Context(), limited[0].Workspace, limited[0].Plan)
	require.Greater(t, counter.calls.Load(), before)
	// Redis may count a call until twice its timeout after its start, by a clock that is known to within half a
	// round trip: in the next window, too, if the call started just before its end.
	late := last.Minute.Reset.Add(3 * timeout)
	require.Eventually(t, func() bool { return time.Now().After(late) }, time.Minute, time.Millisecond)
	testenv.Resume(t, engine)
	require.EqualValues(t, 1000, other.Peek(t.Context(), limited)[0].Minute.Remaining, "the next window begins with none")
}

func TestAProcessWithoutRedisEnforcesThePlan(t *testing.T) {
	limiter := ratelimit.New(ratelimit.Deps{Minute: time.Second, Day: 1000 * time.Hour})
	workspace, plan := uuid.New(), ratelimit.Plan{PerMinute: 7, PerDay: 10}
	windows := map[time.Time]int{}
	total := 0
	require.Eventually(t, func() bool {
		s := limiter.Take(t.Context(), workspace, plan)
		if s.Exceeded() == nil {
			windows[s.Minute.Reset]++
			total++
		}
		return s.Exceeded() != nil && s.Exceeded().Name == ratelimit.Day
	}, time.Minute, time.Millisecond)
	require.Equal(t, 10, total)
	for window, count := range windows {
		require.LessOrEqual(t, count, 7, fmt.Sprint(window))
	}
}

// BenchmarkTake measures the cost of Take per request.
func BenchmarkTake(b *testing.B) {
	limiter := process(b, testenv.Redis(b))
	for name, plan := range map[string]ratelimit.Plan{
		"limited":   {PerMinute: ratelimit.Unlimited - 1, PerDay: ratelimit.Unlimited},
		"spent":     {PerMinute: 1, PerDay: 1},
		"unlimited": {PerMinute: ratelimit.Unlimited, PerDay: ratelimit.Unlimited},
	} {
		b.Run(name, func(b *testing.B) {
			workspace := uuid.New()
			for b.Loop() {
				limiter.Take(b.Context(), workspace, plan)
			}
		})
	}
	b.Run("limited, many callers", func(b *testing.B) {
		workspace := uuid.New()
		b.SetParallelism(32) // times as many as processors
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				limiter.Take(b.Context(), workspace, ratelimit.Plan{
					PerMinute: ratelimit.Unlimited - 1, PerDay: ratelimit.Unlimited,
				})
			}
		})
	})
}
