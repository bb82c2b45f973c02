// Package bench measures the whole service from outside, beside a baseline in
// the same run: what counts is the ratio, because machines differ and are noisy.
//
// Each benchmark makes one section of docs/benchmarks.md: it prints what it measured
// (package record), and test/bench/report writes the page. `make bench` does both;
// one benchmark alone is
//
//	go test -run '^$' -bench Pipeline -benchtime 1x ./test/bench
package bench

import (
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

// start starts a server on its own directory. Its log is what an operator
// would leave on under load: a line a request costs as much as the request.
func start(b *testing.B, args ...string) *target {
	b.Helper()
	t := &target{Server: harness.New(b, binary, args...), b: b}
	t.Start()
	return t
}

// engines returns the versions that the server's engines say they have.
func (t *target) engines() map[string]string {
	t.b.Helper()
	versions, err := machine.Engines([]byte(t.CLI("doctor", "--json")), binary)
	require.NoError(t.b, err)
	return versions
}

// fleet makes sources with series to write to, named after name.
func (t *target) fleet(name string, size load.Size) *load.Fleet {
	t.b.Helper()
	f, err := load.NewFleet(t.b.Context(), load.Target{
		BaseURL: "http://" + t.Listen, Workspace: t.First.WorkspaceID, Key: t.First.AdminKey,
	}, name, size)
	require.NoError(t.b, err)
	t.b.Cleanup(f.Close)
	return f
}

// month returns the first moment of a month, counted from January 2020. Points of
// different months are in different partitions of ClickHouse, which are merged and
// measured apart.
func month(n int) time.Time { return time.Date(2020, time.Month(1+n), 1, 0, 0, 0, 0, time.UTC) }

// settleLimit bounds the wait for an engine to be done with what it does in the
// background.
const settleLimit = 5 * time.Minute

// settle waits until ClickHouse merges nothing any more, so that what is measured
// next has the machine to itself.
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

// rolledUp waits until rollups hold for all that was written, which is what dashboards
// find but in the minutes after a load of old points.
func (t *target) rolledUp() {
	t.b.Helper()
	deadline := time.Now().Add(settleLimit)
	for t.AskClickHouse("SELECT count() FROM rollup_marks") != "0" {
		require.True(t.b, time.Now().Before(deadline), "rollups do not become whole")
		time.Sleep(100 * time.Millisecond)
	}
}
