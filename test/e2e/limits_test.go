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
	limitCallers   = 50 // per process
	limitPerMinute = 600
	limitPath      = "/api/queries/nodes?limit=1"
)

// limitLoad is callers of several processes in one workspace, with the number of answers per minute.
type limitLoad struct {
	t         *testing.T
	processes []*harness.Server
	key       createdKey

	mu              sync.Mutex
	passed, refused map[int64]int // by the end of the minute, in epoch seconds
}

// send sends one request and reports whether it passed.
func (c *limitLoad) send(process *harness.Server) (passed bool) {
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

// sendUntilRefused sends requests from every caller without pauses, until each caller has been refused
// five times after the given time.
func (c *limitLoad) sendUntilRefused(after time.Time) {
	const refusals = 5
	var work sync.WaitGroup
	for _, process := range c.processes {
		for range limitCallers {
			work.Go(func() {
				for left := refusals; left > 0 && !c.t.Failed(); {
					if !c.send(process) && time.Now().After(after) {
						left--
					}
				}
			})
		}
	}
	work.Wait()
}

// TestThePlanAppliesToFourProcessesInEachMinute sends requests from fifty callers to each of four
// processes, across the end of a minute. Exactly as many requests as the plan allows pass in each
// minute.
func TestThePlanAppliesToFourProcessesInEachMinute(t *testing.T) {
	t.Parallel()
	s := harness.NewSplit(t, binary, []harness.Role{{Name: "api", Count: limitProcesses}})
	for _, process := range s.All() { // a long timeout for busy machines; after a timeout, counts are not exact
		process.Env = append(process.Env[:len(process.Env):len(process.Env)], "LIVEGRAPH_API_LIMITS_TIMEOUT=20s")
	}
	s.Start()
	first := &server{Server: s.ByRole("api")[0], t: t}
	workspace := first.workspace(
		"--plan", "enterprise", "--per-minute", strconv.Itoa(limitPerMinute), "--per-day", "1000000",
	)
	c := &limitLoad{
		t: t, processes: s.ByRole("api"), key: first.key(workspace, "--scope", "read:nodes"), passed: map[int64]int{},
		refused: map[int64]int{},
	}
	const needed = 20 * time.Second // for the requests of the first minute, on a busy machine
	if left := time.Until(nextMinute()); left < needed {
		time.Sleep(left)
	}
	c.sendUntilRefused(time.Now())
	boundary := nextMinute()
	time.Sleep(time.Until(boundary) - time.Second)
	c.sendUntilRefused(boundary)
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

// TestRequestsAreLimitedLocallyWithoutRedis stops Redis. No request fails, the process applies the
// plan itself, and requests of this time are still counted after Redis is back.
func TestRequestsAreLimitedLocallyWithoutRedis(t *testing.T) {
	t.Parallel()
	const perDay = 60
	redis := testenv.StoppableRedis(t)
	s := newServer(t, "--redis-url", redis.Address())
	s.Start()
	workspace := s.workspace("--plan", "enterprise", "--per-minute", "1000000", "--per-day", strconv.Itoa(perDay))
	key := s.key(workspace, "--scope", "read:nodes", "--scope", "write:nodes")
	if left := time.Until(time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)); left < time.Minute {
		time.Sleep(left) // two days would have twice the limit
	}
	sent := 0
	send := func() (status int) {
		method, path, body := http.MethodGet, limitPath, []byte(nil)
		if sent%5 == 4 { // requests of other routes continue, too
			method, path, body = http.MethodPost, "/api/commands/execute", fmt.Appendf(
				nil, `{"type":"CREATE_NODE","payload":{"name":"n%d","entityType":"object"}}`, sent,
			)
		}
		a, err := s.TryAs(key.Key, key.workspace, method, path, body)
		require.NoError(t, err)
		sent++
		return a.Status
	}
	for sent < perDay {
		switch sent {
		case perDay / 3:
			require.NoError(t, redis.Stop(t.Context()))
		case perDay * 2 / 3:
			require.NoError(t, redis.Start(t.Context()))
		}
		require.Contains(t, []int{http.StatusOK, http.StatusCreated}, send(), "request %d", sent)
	}
	for range 5 {
		require.Equal(t, http.StatusTooManyRequests, send())
	}
	require.Zero(t, s.Stop())
}
