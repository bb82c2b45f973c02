// Package chaos injects faults into Livegraph under load for a short time; make chaos does so for
// longer.
package chaos

import (
	"log/slog"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/chaos/environment"
	"github.com/livegraph/livegraph/test/chaos/run"
	"github.com/livegraph/livegraph/test/harness"
	"github.com/livegraph/livegraph/test/testenv"
)

var binary string

func TestMain(m *testing.M) {
	environment.RunBroker()
	harness.Main(m, &binary)
}

// shortSeed is the seed of the short run. To reproduce a bug that another seed has found, set it
// here temporarily.
const shortSeed = 22

// requireNoViolation executes a run and requires that it finds no violation.
func requireNoViolation(t *testing.T, c run.Config) {
	t.Helper()
	testenv.RequireEngines(t)
	dir, err := os.MkdirTemp("", "livegraph-chaos-") // kept after a violation
	require.NoError(t, err)
	c.Environment.Dir, c.Environment.Binary = dir, binary
	c.Environment.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	c.Log = t.Output()
	summary, err := run.Execute(t.Context(), c)
	require.NoError(t, err, "the logs of all processes are in %s", dir)
	require.Zero(t, summary.Violations, "the logs of all processes are in %s", dir)
	require.GreaterOrEqual(t, summary.Faults, c.Faults)
	require.NoError(t, os.RemoveAll(dir))
}

func TestNothingIsWrongAfterFaultsUnderLoad(t *testing.T) {
	requireNoViolation(t, run.Config{
		Environment: environment.Options{Seed: shortSeed}, Faults: testenv.InFull(28, 7), PerRound: testenv.InFull(14, 7),
	})
}

func TestALossIsDetectedLoggedAndSurvived(t *testing.T) {
	testenv.RequireFull(t)
	requireNoViolation(t, run.Config{Environment: environment.Options{Seed: shortSeed}, Faults: 5, Losing: true})
}
