package e2e

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/harness"
	"github.com/livegraph/livegraph/test/testenv"
)

const (
	limitProcesses = 4
	limitCallers   = 50 // of each
	limitPerMinute = 600
	limitPath      = "/api/queries/nodes?limit=1"
)

// crowd is callers of several processes, all in one workspace, and what they were
// answered in each minute.
type crowd struct {
	t         *testing.T
	processes []*harness.Server
	key       made

	mu              sync.Mutex
	passed, refused map[int64]int // by the end of the minute, epoch seconds
}

// ask creates one request and reports whether it passed.
func (c *crowd) ask(process *harness.Server) (passed bool) {
	a, err := process.TryAs(c.key.Key, c.key.workspace, http.MethodGet, limitPath, nil)
	if err != nil {
		c.t.Errorf("a request was not answered: %v", err)
		return false
	}
	end, err := strconv.ParseInt(a.Header.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil || a.Status != http.StatusOK && a.Status != http.StatusTooManyRequests {
		c.t.Errorf("a request was answered %d %+v", a.Status, a.Error)
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if passed = a.Status == http.StatusOK; passed {
		c.passed[end]++
	} else {
		c.refused[end]++
	}
	return passed
}

// rush has every caller ask, without a pause, until it has been refused some times after
// a moment.
func (c *crowd) rush(after time.Time) {
	const refusals = 5
	var work sync.WaitGroup
	for _, process := range c.processes {
		for range limitCallers {
			work.Go(func() {
				for left := refusals; left > 0 && !c.t.Failed(); {
					if !c.ask(process) && time.Now().After(after) {
						left--
					}
				}
			})
		}
	}
	work.Wait()
}

// TestThePlanHoldsOverFourProcessesMinuteByMinute: fifty callers of each of four
// processes, over the end of a minute: exactly the plan's requests pass in either, not
// one more and not one less.
func TestThePlanHoldsOverFourProcessesMinuteByMinute(t *testing.T) {
	t.Parallel()
	s := harness.NewSplit(t, binary, []harness.Role{{Name: "api", Count: limitProcesses}})
	for _, process := range s.All() { // no machine is too busy for it; beyond, counts are not exact
		process.Env = append(process.Env[:len(process.Env):len(process.Env)], "LIVEGRAPH_API_LIMITS_TIMEOUT=20s")
	}
	s.Start()
	first := &server{Server: s.Of("api")[0], t: t}
	workspace := first.workspace(
		"--plan", "enterprise", "--per-minute", strconv.Itoa(limitPerMinute), "--per-day", "1000000",
	)
	c := &crowd{
		t: t, processes: s.Of("api"), key: first.key(workspace, "--scope", "read:nodes"), passed: map[int64]int{},
		refused: map[int64]int{},
	}
	const needed = 20 * time.Second // for the rush of the first minute, on a busy machine
	if left := time.Until(nextMinute()); left < needed {
		time.Sleep(left)
	}
	c.rush(time.Now())
	boundary := nextMinute()
	time.Sleep(time.Until(boundary) - time.Second)
	c.rush(boundary)
	require.GreaterOrEqual(t, len(c.refused), 2, "both minutes were used up: %v", c.refused)
	for minute := range c.refused {
		require.Equal(
			t, limitPerMinute, c.passed[minute], "in the minute that ends at %d; passed %v, refused %v", minute, c.passed,
			c.refused,
		)
	}
	for minute, passed := range c.passed {
		require.LessOrEqual(t, passed, limitPerMinute, "minute %d", minute)
	}
	t.Logf("passed %v, refused %v", c.passed, c.refused)
}

func nextMinute() time.Time { return time.Now().Truncate(time.Minute).Add(time.Minute) }

// TestRequestsGoOnUnderLocalLimitsWithoutRedis: none fails for it, the plan holds in the
// process, and what was used meanwhile is not given again.
func TestRequestsGoOnUnderLocalLimitsWithoutRedis(t *testing.T) {
	t.Parallel()
	const perDay = 60
	redis := testenv.StoppableRedis(t)
	s := newServer(t, "--redis-url", redis.Address())
	s.Start()
	workspace := s.workspace("--plan", "enterprise", "--per-minute", "1000000", "--per-day", strconv.Itoa(perDay))
	key := s.key(workspace, "--scope", "read:nodes", "--scope", "write:nodes")
	if left := time.Until(time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)); left < time.Minute {
		time.Sleep(left) // two days have twice as many
	}
	asked := 0
	ask := func() (status int) {
		method, path, body := http.MethodGet, limitPath, []byte(nil)
		if asked%5 == 4 { // what is decided elsewhere goes on as well
			method, path, body = http.MethodPost, "/api/commands/execute", fmt.Appendf(
				nil, `{"type":"CREATE_NODE","payload":{"name":"n%d","entityType":"object"}}`, asked,
			)
		}
		a, err := s.TryAs(key.Key, key.workspace, method, path, body)
		require.NoError(t, err)
		asked++
		return a.Status
	}
	for asked < perDay {
		switch asked {
		case perDay / 3:
			require.NoError(t, redis.Stop(t.Context()))
		case perDay * 2 / 3:
			require.NoError(t, redis.Start(t.Context()))
		}
		require.Contains(t, []int{http.StatusOK, http.StatusCreated}, ask(), "request %d", asked)
	}
	for range 5 {
		require.Equal(t, http.StatusTooManyRequests, ask())
	}
	require.Zero(t, s.Stop())
}
