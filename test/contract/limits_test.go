package contract_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/livegraph/livegraph/api/commands"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/test/contract"
	"github.com/livegraph/livegraph/test/testenv"
)

// newLimitedWorkspace creates a workspace with the limits of requests, and a key for it.
func newLimitedWorkspace(
	t *testing.T, s *contract.Server, perMinute, perDay int64, scopes ...request.Scope,
) (workspace uuid.UUID, key string) {
	t.Helper()
	awaitWindow(t, 24*time.Hour, 20*time.Second) // a test that spans midnight would see two days
	w, err := s.DB.CreateWorkspace(t.Context(), access.Workspace{
		Name: t.Name(), Plan: "enterprise", Mode: apikey.Live, PerMinute: &perMinute, PerDay: &perDay,
	})
	require.NoError(t, err)
	return w.ID, s.NewKey(t, []uuid.UUID{w.ID}, scopes...)
}

// awaitWindow waits for the next window of UTC if no more than needed is left of this one.
func awaitWindow(t *testing.T, window, needed time.Duration) {
	t.Helper()
	if left := time.Until(time.Now().Truncate(window).Add(window)); left <= needed {
		time.Sleep(left)
	}
}

func TestARequestRefusedForLackOfMemoryDoesNotCount(t *testing.T) {
	t.Parallel()
	budget := request.NewBudget(100 << 10)
	group := &contract.Commands{Change: func(d *commands.Deps) { d.Bodies = budget }}
	s := contract.Start(t, contract.WithRedisLimits(testenv.Redis(t)), group.Group)
	workspace, key := newLimitedWorkspace(t, s, 50, 1000, request.WriteNodes)
	awaitMinute(t, 30*time.Second)
	create := contract.Request{
		Method: "POST", Path: "/api/commands/execute", Key: key, Workspace: workspace.String(), Body: createNode("a"),
	}
	a := s.Do(t, create)
	require.Equal(t, 201, a.Status, "%s", a.Body)
	require.EqualValues(t, 49, rateHeadersOf(t, a).remaining)

	// A body that arrives slowly holds the whole budget.
	slow, feed := io.Pipe()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/api/commands/batch", slow)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+s.Admin)
	r.Header.Set("x-workspace-id", s.Workspace.String())
	r.Header.Set("Content-Type", "application/json")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if response, err := http.DefaultClient.Do(r); err == nil {
			_ = response.Body.Close()
		}
	}()
	go func() { _, _ = feed.Write([]byte("[")) }()
	require.Eventually(t, func() bool { return budget.Used() >= 64<<10 }, time.Minute, time.Millisecond)
	for range 5 {
		a := s.Do(t, create)
		require.Equal(t, 503, a.Status, "%s", a.Body)
		require.NotEmpty(t, a.Header.Get("Retry-After"))
		require.Empty(t, a.Header.Get("X-RateLimit-Remaining"), "it was not counted, so it says nothing of the plan")
	}
	require.NoError(t, feed.CloseWithError(io.ErrUnexpectedEOF))
	<-ended
	require.Eventually(t, func() bool { return budget.Used() == 0 }, time.Minute, time.Millisecond)
	a = s.Do(t, create)
	require.Equal(t, 201, a.Status, "%s", a.Body)
	require.EqualValues(t, 48, rateHeadersOf(t, a).remaining)
}

func awaitMinute(t *testing.T, needed time.Duration) {
	t.Helper()
	awaitWindow(t, time.Minute, needed)
}

type rateHeaders struct{ limit, remaining, reset int64 }

func rateHeadersOf(t *testing.T, a *contract.Answer) (r rateHeaders) {
	t.Helper()
	for name, value := range map[string]*int64{
		"X-RateLimit-Limit": &r.limit, "X-RateLimit-Remaining": &r.remaining, "X-RateLimit-Reset": &r.reset,
	} {
		var err error
		*value, err = strconv.ParseInt(a.Header.Get(name), 10, 64)
		require.NoError(t, err, "%s of %s", name, a.Body)
	}
	return r
}

func TestEveryAnswerInAWorkspaceHasTheRemainingRequests(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, contract.WithRedisLimits(testenv.Redis(t)), contract.GraphReads)
	workspace, key := newLimitedWorkspace(t, s, 50, 1000, request.ReadNodes)
	awaitMinute(t, 10*time.Second)
	minute, day := time.Now().Truncate(time.Minute).Add(time.Minute).Unix(), time.Now().UTC().Truncate(24*time.Hour).Add(
		24*time.Hour,
	).Unix()
	ask := func(path string, status int) *contract.Answer {
		a := s.Do(t, contract.Request{Path: path, Key: key, Workspace: workspace.String()})
		require.Equal(t, status, a.Status, "%s", a.Body)
		return a
	}
	// After key, workspace and scope are valid, a request counts whatever else is wrong with it.
	for n, c := range []struct {
		path   string
		status int
	}{
		{"/api/queries/nodes", 200}, {"/api/queries/nodes/" + uuid.NewString(), 404}, {"/api/queries/nodes?limit=0", 400},
		{"/api/queries/nodes?x=1", 400},
	} {
		a := ask(c.path, c.status)
		require.Equal(t, rateHeaders{limit: 50, remaining: 49 - int64(n), reset: minute}, rateHeadersOf(t, a))
		var left, wait, today, untilTomorrow int64
		_, err := fmt.Sscanf(
			a.Header.Get("RateLimit"), `"minute";r=%d;t=%d, "day";r=%d;t=%d`, &left, &wait, &today, &untilTomorrow,
		)
		require.NoError(t, err)
		require.Equal(t, []int64{49 - int64(n), 999 - int64(n)}, []int64{left, today})
		require.InDelta(t, minute-time.Now().Unix(), wait, 5)
		require.InDelta(t, day-time.Now().Unix(), untilTomorrow, 5)
		require.Equal(t, `"minute";q=50;w=60, "day";q=1000;w=86400`, a.Header.Get("RateLimit-Policy"))
	}
	// A request that is refused earlier gets the headers but does not count. Without a workspace
	// there are no headers.
	require.Equal(
		t, rateHeaders{limit: 50, remaining: 46, reset: minute}, rateHeadersOf(t, ask("/api/queries/edges", 403)),
	)
	for _, q := range []contract.Request{
		{Path: "/api/me", Key: key}, {Path: "/api/queries/nodes", Key: key, Workspace: uuid.NewString()},
		{Path: "/api/queries/nodes", Key: "nonsense"},
		{Path: "/api/unknown", Key: key}, {Method: "OPTIONS", Path: "/api/unknown", Key: key},
	} {
		require.Empty(t, s.Do(t, q).Header.Get("X-RateLimit-Limit"), q.Path)
	}
	var me struct {
		Workspaces []struct {
			Left struct{ RequestsThisMinute, RequestsToday *int64 }
		}
	}
	a := s.Do(t, contract.Request{Path: "/api/me", Key: key})
	require.NoError(t, json.Unmarshal(a.Data, &me))
	require.EqualValues(t, 46, *me.Workspaces[0].Left.RequestsThisMinute)
	require.EqualValues(t, 996, *me.Workspaces[0].Left.RequestsToday)
	require.EqualValues(
		t, 45,
		rateHeadersOf(t, s.Do(t, contract.Request{
			Method: http.MethodHead, Path: "/api/queries/nodes", Key: key, Workspace: workspace.String(),
		})).remaining,
	)
}

func TestAWorkspaceWithoutLimitsReportsIt(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, contract.WithRedisLimits(testenv.Redis(t)), contract.GraphReads)
	for range 3 {
		a := s.Do(t, contract.Request{Path: "/api/queries/nodes"})
		r := rateHeadersOf(t, a)
		require.EqualValues(t, 2147483647, r.limit)
		require.EqualValues(t, 2147483647, r.remaining)
		require.Zero(t, r.reset%60)
		require.InDelta(t, time.Now().Unix()+30, r.reset, 40)
	}
}

// The headers report the day if it has fewer requests left. Then it refuses requests until its end.
func TestTheDayIsReportedIfItHasFewerRequestsLeft(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, contract.WithRedisLimits(testenv.Redis(t)), contract.GraphReads)
	workspace, key := newLimitedWorkspace(t, s, 50, 2, request.ReadNodes)
	day := time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	for n := range 5 {
		a := s.Do(t, contract.Request{Path: "/api/queries/nodes", Key: key, Workspace: workspace.String()})
		require.Equal(t, rateHeaders{limit: 2, remaining: max(1-int64(n), 0), reset: day.Unix()}, rateHeadersOf(t, a))
		if n < 2 {
			require.Equal(t, http.StatusOK, a.Status)
			require.Empty(t, a.Header.Get("Retry-After"))
			continue
		}
		a.RequireFailure(t, 429, "RATE_LIMITED", "", map[string]any{"window": "day", "limit": float64(2)})
		requireWait(t, a, day)
	}
}

// requireWait checks that Retry-After ends with the window, to the second.
func requireWait(t *testing.T, a *contract.Answer, end time.Time) {
	t.Helper()
	// Date is truncated to the second, and taken at the time of the answer or just before.
	date, err := http.ParseTime(a.Header.Get("Date"))
	require.NoError(t, err)
	wait, err := strconv.ParseInt(a.Header.Get("Retry-After"), 10, 64)
	require.NoError(t, err)
	require.InDelta(t, end.Unix()-date.Unix(), wait, 1)
	require.Positive(t, wait)
}

func TestTheLimitComesAfterTheScopeAndBeforeTheBody(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, contract.WithRedisLimits(testenv.Redis(t)), testRoutes)
	workspace, key := newLimitedWorkspace(t, s, 1, 100, request.WriteLiveData)
	awaitMinute(t, 15*time.Second)
	end := time.Now().Truncate(time.Minute).Add(time.Minute)
	do := func(q contract.Request) *contract.Answer {
		if q.Workspace == "" {
			q.Workspace = workspace.String()
		}
		q.Method, q.Key = "POST", key
		return s.DoUnchecked(t, q)
	}
	echo := contract.Request{Path: "/api/test/echo", Body: `{"name":"n"}`}
	require.Equal(t, http.StatusCreated, do(echo).Status)
	for _, body := range []string{`{"name":"n"}`, `{"name":`, strings.Repeat("x", 2<<20)} {
		a := do(contract.Request{Path: "/api/test/echo", Body: body})
		a.RequireFailure(
			t, 429, "RATE_LIMITED", "The workspace's 1 request a minute is used up",
			map[string]any{"window": "minute", "limit": float64(1)},
		)
		requireWait(t, a, end)
		require.Equal(t, rateHeaders{limit: 1, remaining: 0, reset: end.Unix()}, rateHeadersOf(t, a))
	}
	reader := s.NewKey(t, []uuid.UUID{workspace}, request.ReadNodes)
	s.DoUnchecked(t, contract.Request{
		Method: "POST", Path: "/api/test/echo", Key: reader, Workspace: workspace.String(), Body: "x",
	}).
		RequireFailure(t, 403, authorization, "Forbidden", nil)
	do(contract.Request{
		Path: "/api/test/echo", Workspace: uuid.NewString(),
	}).RequireFailure(t, 403, authorization, "Workspace access denied", nil)
}

// Clients of InfluxDB and Prometheus retry after 429.
func TestTheLimitIsReportedInTheClientsDialect(t *testing.T) {
	t.Parallel()
	live := contract.LiveData{}
	s := contract.Start(t, contract.WithRedisLimits(testenv.Redis(t)), live.Group)
	workspace, key := newLimitedWorkspace(t, s, 1, 1, request.WriteLiveData, request.ReadLiveData)
	line := contract.Request{Method: "POST", Path: "/api/v2/write?bucket=" + workspace.String(), Key: contract.None,
		Workspace: contract.None, Body: "cpu value=1",
		Header: map[string]string{"Authorization": "Token " + key, "Content-Type": "text/plain"}}
	a := s.Do(t, line)
	require.Equal(t, http.StatusNoContent, a.Status, "%s", a.Body)
	require.EqualValues(t, 0, rateHeadersOf(t, a).remaining)
	basic := line
	basic.Path, basic.Header = "/write?db="+workspace.String(), map[string]string{
		"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte("u:"+key)),
	}
	for _, q := range []contract.Request{line, basic} {
		a = s.Do(t, q)
		a.RequireFailure(t, 429, "RATE_LIMITED", "", nil)
		require.Contains(t, string(a.Body), `"code":"too many requests"`)
		requireWait(t, a, time.Now().UTC().Truncate(24*time.Hour).Add(24*time.Hour))
	}
	a = s.Do(t, contract.Request{Method: "POST", Path: "/api/v1/write", Key: key, Workspace: workspace.String(), Body: "x",
		Header: map[string]string{"Content-Type": "application/x-protobuf"}})
	a.RequireFailure(t, 429, "RATE_LIMITED", "", nil)
	require.NotEmpty(t, a.Header.Get("Retry-After"))
	for _, contentType := range []string{"application/x-protobuf", "application/json"} {
		a = s.Do(t, contract.Request{Method: "POST", Path: "/v1/metrics", Key: key, Workspace: workspace.String(), Body: "{}",
			Header: map[string]string{"Content-Type": contentType}})
		requireOTLPError(t, a, http.StatusTooManyRequests, codes.ResourceExhausted, "")
		require.NotEmpty(t, a.Header.Get("Retry-After"))
	}
	a = s.Do(t, contract.Request{Path: "/api/live-data/stream", Key: key, Workspace: workspace.String()})
	a.RequireFailure(t, 429, "RATE_LIMITED", "", nil)
}

// Four processes with fifty callers each: exactly the plan's requests pass in a minute,
// and a larger plan applies in all processes within a second.
func TestThePlanAppliesToAllProcesses(t *testing.T) {
	t.Parallel()
	const perMinute, callers, each = 120, 50, 3
	counted := contract.WithRedisLimits(testenv.Redis(t))
	s := contract.Start(t, counted, contract.GraphReads)
	workspace, key := newLimitedWorkspace(t, s, perMinute, 1_000_000, request.ReadNodes)
	processes := []*contract.Server{s}
	for range 3 {
		processes = append(processes, s.StartAnother(t, counted, contract.GraphReads))
	}
	awaitMinute(t, 20*time.Second) // so that the requests usually fall into one minute; two are valid, too
	var mu sync.Mutex
	passed, refused := map[int64]int{}, map[int64]int{}
	var group sync.WaitGroup
	for _, process := range processes {
		for range callers {
			group.Go(func() {
				for range each {
					a := process.Do(t, contract.Request{Path: "/api/queries/nodes?limit=1", Key: key, Workspace: workspace.String()})
					counts := passed
					if a.Status != http.StatusOK {
						require.Equal(t, http.StatusTooManyRequests, a.Status)
						counts = refused
					}
					r := rateHeadersOf(t, a)
					mu.Lock()
					counts[r.reset]++
					mu.Unlock()
				}
			})
		}
	}
	group.Wait()
	require.NotEmpty(t, refused)
	for window := range refused {
		require.Equal(t, perMinute, passed[window])
	}
	for _, count := range passed {
		require.LessOrEqual(t, count, perMinute)
	}

	plan, none := "enterprise", new(*int64)
	_, err := s.DB.UpdateWorkspace(t.Context(), workspace, access.WorkspaceChange{
		Plan: &plan, PerMinute: none, PerDay: none,
	})
	require.NoError(t, err)
	for _, process := range processes {
		require.Eventually(t, func() bool {
			a := process.Do(t, contract.Request{Path: "/api/queries/nodes?limit=1", Key: key, Workspace: workspace.String()})
			return a.Status == http.StatusOK && rateHeadersOf(t, a).limit == 2147483647
		}, time.Minute, 10*time.Millisecond, "a change of plan holds within a second")
	}
}

func TestFailedAuthenticationsAreRefusedByAddressButNeverAValidKey(t *testing.T) {
	t.Parallel()
	cfg := contract.Config()
	cfg.AuthFailuresPerMinute, cfg.TrustedProxies = 4, []string{"127.0.0.0/8"}
	s := contract.StartWith(t, cfg, testRoutes)
	awaitMinute(t, 15*time.Second)
	end := time.Now().Truncate(time.Minute).Add(time.Minute)
	from := func(address, key string) *contract.Answer {
		return s.Do(t, contract.Request{Path: "/api/me", Key: key, Header: map[string]string{"X-Forwarded-For": address}})
	}
	bad := func() string { return apikey.Generate(apikey.Live).Reveal() }
	for range 4 {
		from("192.0.2.1", bad()).RequireFailure(t, 401, authentication, "Unauthorized", nil)
	}
	for range 3 {
		a := from("192.0.2.1", bad())
		a.RequireFailure(t, 429, "RATE_LIMITED", "Too many failed authentications", nil)
		requireWait(t, a, end)
		require.Empty(t, a.Header.Get("WWW-Authenticate"))
		require.Equal(t, http.StatusOK, from("192.0.2.1", s.Admin).Status)
		require.Equal(
			t, http.StatusOK, from("192.0.2.1", s.NewKey(t, []uuid.UUID{s.Workspace})).Status, "one that was not seen before",
		)
	}
	from("192.0.2.1", contract.None).RequireFailure(t, 401, authentication, "Missing Authorization", nil)
	from("192.0.2.2", bad()).RequireFailure(t, 401, authentication, "Unauthorized", nil)
	for range 4 {
		from("2001:db8::1", bad()).RequireFailure(t, 401, authentication, "Unauthorized", nil)
	}
	from("2001:db8::ffff:1", bad()).RequireFailure(t, 429, "RATE_LIMITED", "", nil)
}

// Redis becomes unavailable and comes back: answers do not change, except that each
// process counts by itself meanwhile.
func TestWithoutRedisThePlanAppliesToEachProcess(t *testing.T) {
	t.Parallel()
	engine := testenv.StoppableRedis(t)
	s := contract.Start(t, contract.WithRedisLimits(engine.Address()), contract.GraphReads)
	workspace, key := newLimitedWorkspace(t, s, 1_000_000, 8, request.ReadNodes)
	ask := func() *contract.Answer {
		return s.Do(t, contract.Request{Path: "/api/queries/nodes?limit=1", Key: key, Workspace: workspace.String()})
	}
	for left := int64(7); left >= 0; left-- {
		switch left {
		case 5:
			require.NoError(t, engine.Stop(t.Context()))
		case 2:
			require.NoError(t, engine.Start(t.Context()))
		}
		a := ask()
		require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
		require.Equal(t, left, rateHeadersOf(t, a).remaining)
	}
	ask().RequireFailure(t, 429, "RATE_LIMITED", "", map[string]any{"window": "day"})
}
