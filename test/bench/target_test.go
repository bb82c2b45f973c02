// Package bench measures the whole service through its interfaces, and a baseline in the same run. The
// ratio of both is the result, because machines differ and are noisy.
//
// Each benchmark produces one section of docs/benchmarks.md: it prints its measurements (package
// record), and test/bench/report writes the page. `make bench` does both. To run one benchmark:
//
//	go test -run '^$' -bench Pipeline -benchtime 1x ./test/bench
package bench

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/load"
	"github.com/livegraph/livegraph/test/bench/machine"
	"github.com/livegraph/livegraph/test/harness"
)

// binary is the service, built for all benchmarks.
var binary string

func TestMain(m *testing.M) { harness.Main(m, &binary) }

// target is a started server.
type target struct {
	*harness.Server
	b *testing.B
}

// start starts a server in its own directory. It logs as in production, because logging a line
// per request costs as much as the request.
func start(b *testing.B, args ...string) *target {
	b.Helper()
	t := &target{Server: harness.New(b, binary, args...), b: b}
	t.Start()
	return t
}

// engines returns the versions of the server's engines.
func (t *target) engines() map[string]string {
	t.b.Helper()
	versions, err := machine.Engines([]byte(t.CLI("doctor", "--json")), binary)
	require.NoError(t.b, err)
	return versions
}

// fleet creates sources with series to write to, named after name.
func (t *target) fleet(name string, size load.Size) *load.Fleet {
	t.b.Helper()
	f, err := load.NewFleet(t.b.Context(), load.Target{
		BaseURL: "http://" + t.Listen, Workspace: t.First.WorkspaceID, Key: t.First.AdminKey,
	}, name, size)
	require.NoError(t.b, err)
	t.b.Cleanup(f.Close)
	return f
}

// exchange sends a request and returns the answer, which must have a status of success.
func exchange(client *http.Client, request *http.Request) (header http.Header, answer []byte, err error) {
	response, err := client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err = io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %d %s", request.Method, request.URL.Path, response.StatusCode,
			bytes.TrimSpace(answer[:min(len(answer), 300)]))
	}
	return response.Header, answer, err
}

// month returns the start of a month, counted from January 2020. ClickHouse stores, merges and
// measures the points of each month in a partition of its own.
func month(n int) time.Time { return time.Date(2020, time.Month(1+n), 1, 0, 0, 0, 0, time.UTC) }

// settleLimit bounds the wait until an engine's background work is done.
const settleLimit = 5 * time.Minute

// settle waits until ClickHouse does not merge, so that the next measurement has the machine to
// itself.
func (t *target) settle() {
	t.b.Helper()
	deadline := time.Now().Add(settleLimit)
	for quiet := 0; quiet < 3; {
		require.True(t.b, time.Now().Before(deadline), "ClickHouse does not stop merging")
		if t.AskClickHouse("SELECT count() FROM system.merges") == "0" {
			quiet++
		} else {
			quiet = 0
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// rolledUp waits until rollups are complete for all points, as they are for dashboards except in the
// minutes after a load of old points.
func (t *target) rolledUp() {
	t.b.Helper()
	deadline := time.Now().Add(settleLimit)
	for t.AskClickHouse("SELECT count() FROM rollup_marks") != "0" {
		require.True(t.b, time.Now().Before(deadline), "rollups do not become complete")
		time.Sleep(100 * time.Millisecond)
	}
}
