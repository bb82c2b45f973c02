// Package chaos tries faults on Livegraph under load, for a short while; make chaos does
// so for as long as one likes.
package chaos

import (
	"log/slog"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/chaos/run"
	"github.com/livegraph/livegraph/test/chaos/world"
	"github.com/livegraph/livegraph/test/harness"
	"github.com/livegraph/livegraph/test/testenv"
)

var binary string

func TestMain(m *testing.M) {
	world.Broker()
	harness.Main(m, &binary)
}

// shortSeed is what the short run follows from. Anyone who finds a bug with another seed
// puts it here for a while.
const shortSeed = 22

// requireHolds makes a run in which nothing may be wrong.
func requireHolds(t *testing.T, c run.Config) {
	t.Helper()
	testenv.NeedsEngines(t)
	dir, err := os.MkdirTemp("", "livegraph-chaos-") // kept if something is wrong
	require.NoError(t, err)
	c.World.Dir, c.World.Binary, c.World.Log = dir, binary, slog.New(slog.NewTextHandler(t.Output(), nil))
	c.Log = t.Output()
	summary, err := run.Whole(t.Context(), c)
	require.NoError(t, err, "the logs of all processes are in %s", dir)
	require.Zero(t, summary.Violations, "the logs of all processes are in %s", dir)
	require.GreaterOrEqual(t, summary.Faults, c.Faults)
	require.NoError(t, os.RemoveAll(dir))
}

func TestNothingIsWrongAfterFaultsUnderLoad(t *testing.T) {
	faults := 14
	if testenv.Full() {
		faults = 28
	}
	requireHolds(t, run.Config{World: world.Options{Seed: shortSeed}, Faults: faults, PerRound: 14})
}

func TestALossIsNoticedSaidAndSurvived(t *testing.T) {
	requireHolds(t, run.Config{World: world.Options{Seed: shortSeed}, Faults: 5, Losing: true})
}
