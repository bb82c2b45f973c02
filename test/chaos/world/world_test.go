package world_test

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

	"github.com/livegraph/livegraph/test/chaos/proxy"
	"github.com/livegraph/livegraph/test/chaos/world"
	"github.com/livegraph/livegraph/test/harness"
	"github.com/livegraph/livegraph/test/testenv"
)

var binary string

func TestMain(m *testing.M) {
	world.Broker()
	harness.Main(m, &binary)
}

// newWorld starts a world that ends with the test.
func newWorld(t *testing.T) *world.World {
	t.Helper()
	testenv.NeedsEngines(t)
	dir, err := os.MkdirTemp("", "livegraph-world-") // a short path: Postgres has a socket there
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w, err := world.Start(t.Context(), world.Options{Dir: dir, Binary: binary, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, w.Stop(ctx))
		left, err := filepath.Glob("/proc/[0-9]*/cwd")
		require.NoError(t, err)
		for _, cwd := range left {
			if at, err := os.Readlink(cwd); err == nil {
				require.NotContains(t, at, dir, "nothing of a world is left when it has ended")
			}
		}
	})
	return w
}

func TestAWorldStandsAndComesBack(t *testing.T) {
	w := newWorld(t)
	require.Len(t, w.APIs(), 2)
	require.NotEmpty(t, w.First.AdminKey)
	for _, e := range w.Engines() {
		require.NotZero(t, e.Proxy.Connections(), "%s is reached through its proxy", e.Name)
	}
	stores, err := w.Connect(t.Context())
	require.NoError(t, err)
	require.NoError(t, stores.ClickHouse.Ping(t.Context()))
	require.NoError(t, stores.Postgres.Ping(t.Context()))
	require.NoError(t, stores.Redis.Ping(t.Context()).Err())
	_, err = stores.Log.ListTopics(t.Context(), "points")
	require.NoError(t, err)
	require.NoError(t, stores.Close())

	for _, e := range w.Engines() {
		e.Kill()
	}
	for _, r := range w.Roles("") {
		r.Kill()
	}
	require.NoError(t, w.WaitReady(t.Context()))
	require.Empty(t, w.Exits(), "what was killed by us is no exit")
	for _, api := range w.APIs() {
		requireStatus(t, api+"/readyz", http.StatusOK)
	}

	points := w.Roles("points")[0]
	require.NoError(t, syscall.Kill(points.PID(), syscall.SIGKILL))
	require.Eventually(t, func() bool { return points.Starts() == 3 }, time.Minute, 10*time.Millisecond)
	exits := w.Exits()
	require.Len(t, exits, 1, "what nobody asked for is one")
	require.Equal(t, "points-1", exits[0].Process)
	require.NoError(t, w.WaitReady(t.Context()))

	resume := w.Engine(world.Postgres).Pause()
	requireStatus(t, w.APIs()[0]+"/readyz", http.StatusServiceUnavailable)
	resume()
	require.Eventually(t, func() bool {
		return status(w.APIs()[0]+"/readyz") == http.StatusOK
	}, time.Minute, 10*time.Millisecond)
	undo := w.Engine(world.Postgres).Proxy.Apply(proxy.Rule{Refuse: true})
	requireStatus(t, w.APIs()[0]+"/readyz", http.StatusServiceUnavailable)
	undo()
	require.Eventually(t, func() bool {
		return status(w.APIs()[0]+"/readyz") == http.StatusOK
	}, time.Minute, 10*time.Millisecond)

	twin, end, err := w.Twin("points", "points-twin")
	require.NoError(t, err)
	require.NoError(t, twin.WaitReady(t.Context()))
	require.Len(t, w.Roles("points"), 2)
	end()
	require.Len(t, w.Roles("points"), 1)
	require.NoError(t, points.Terminate(t.Context()))
	require.NoError(t, points.WaitReady(t.Context()))
	require.Empty(t, w.Exits())
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
