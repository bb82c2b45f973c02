package environment_test

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/chaos/environment"
	"github.com/livegraph/livegraph/test/chaos/proxy"
	"github.com/livegraph/livegraph/test/harness"
	"github.com/livegraph/livegraph/test/testenv"
)

var binary string

func TestMain(m *testing.M) {
	environment.RunBroker()
	harness.Main(m, &binary)
}

// newEnvironment starts an environment that ends with the test.
func newEnvironment(t *testing.T) *environment.Environment {
	t.Helper()
	testenv.RequireEngines(t)
	dir, err := os.MkdirTemp("", "livegraph-env-") // a short path: Postgres has a socket there
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	env, err := environment.Start(t.Context(), environment.Options{
		Dir: dir, Binary: binary, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, env.Stop(ctx))
		left, err := filepath.Glob("/proc/[0-9]*/cwd")
		require.NoError(t, err)
		for _, cwd := range left {
			if at, err := os.Readlink(cwd); err == nil {
				require.NotContains(t, at, dir, "a stopped environment leaves no process")
			}
		}
	})
	return env
}

func TestAnEnvironmentRunsAndRestarts(t *testing.T) {
	testenv.RequireFull(t)
	env := newEnvironment(t)
	require.Len(t, env.APIs(), 2)
	require.NotEmpty(t, env.First.AdminKey)
	for _, e := range env.Engines() {
		require.NotZero(t, e.Proxy.Connections(), "%s is reached through its proxy", e.Name)
	}
	stores, err := env.Connect(t.Context())
	require.NoError(t, err)
	require.NoError(t, stores.ClickHouse.Ping(t.Context()))
	require.NoError(t, stores.Postgres.Ping(t.Context()))
	require.NoError(t, stores.Redis.Ping(t.Context()).Err())
	_, err = stores.Log.ListTopics(t.Context(), "points")
	require.NoError(t, err)
	require.NoError(t, stores.Close())

	for _, e := range env.Engines() {
		e.Kill()
	}
	for _, r := range env.Roles("") {
		r.Kill()
	}
	require.NoError(t, env.WaitReady(t.Context()))
	require.Empty(t, env.Exits(), "what was killed by us is no exit")
	for _, api := range env.APIs() {
		requireStatus(t, api+"/readyz", http.StatusOK)
	}

	points := env.Roles("points")[0]
	require.NoError(t, syscall.Kill(points.PID(), syscall.SIGKILL))
	require.Eventually(t, func() bool { return points.Starts() == 3 }, time.Minute, 10*time.Millisecond)
	exits := env.Exits()
	require.Len(t, exits, 1, "what nobody asked for is one")
	require.Equal(t, "points-1", exits[0].Process)
	require.NoError(t, env.WaitReady(t.Context()))

	resume := env.Engine(environment.Postgres).Pause()
	requireStatus(t, env.APIs()[0]+"/readyz", http.StatusServiceUnavailable)
	resume()
	require.Eventually(t, func() bool {
		return status(env.APIs()[0]+"/readyz") == http.StatusOK
	}, time.Minute, 10*time.Millisecond)
	undo := env.Engine(environment.Postgres).Proxy.Apply(proxy.Rule{Refuse: true})
	requireStatus(t, env.APIs()[0]+"/readyz", http.StatusServiceUnavailable)
	undo()
	require.Eventually(t, func() bool {
		return status(env.APIs()[0]+"/readyz") == http.StatusOK
	}, time.Minute, 10*time.Millisecond)

	duplicate, end, err := env.StartDuplicate("points", "points-twin")
	require.NoError(t, err)
	require.NoError(t, duplicate.WaitReady(t.Context()))
	require.Len(t, env.Roles("points"), 2)
	end()
	require.Len(t, env.Roles("points"), 1)
	require.NoError(t, points.Terminate(t.Context()))
	require.NoError(t, points.WaitReady(t.Context()))
	require.Empty(t, env.Exits())
}

func requireStatus(t *testing.T, url string, want int) {
	t.Helper()
	require.Equal(t, want, status(url))
}

func status(url string) int {
	answer, err := http.Get(url)
	if err != nil {
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}
