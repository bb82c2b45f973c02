package scale

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/chaos/faults"
	"github.com/livegraph/livegraph/test/chaos/run"
	"github.com/livegraph/livegraph/test/harness"
	"github.com/livegraph/livegraph/test/testenv"
)

// Environment variables of make scale.
const (
	roundsEnv = "LIVEGRAPH_TEST_SCALE_ROUNDS" // how often all scenarios run on all hosts; absent: the short form
	seedEnv   = "LIVEGRAPH_TEST_SCALE_SEED"
	fromEnv   = "LIVEGRAPH_TEST_SCALE_FROM" // binary of an older version, from which the first upgrade starts
)

// shortSeed is the seed of the short form.
const shortSeed = 1

// loadFactor is the factor of the load's usual rate: eighteen processes and three brokers share the
// machine with it.
const loadFactor = 0.3

var binary string

func TestMain(m *testing.M) {
	if os.Getenv(crashEnv) != "" {
		createAndWait(os.Stdout)
		os.Exit(1)
	}
	harness.Main(m, &binary)
}

// number returns the value of an environment variable.
func number(t *testing.T, name string, absent uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return absent
	}
	value, err := strconv.ParseUint(text, 10, 63)
	require.NoError(t, err, name)
	return value
}

// builds returns the builds of the rolling upgrades.
func builds(t *testing.T, dir string) (all []build) {
	t.Helper()
	for _, path := range []string{os.Getenv(fromEnv), binary} {
		if path == "" {
			continue
		}
		b, err := readBuild(t.Context(), path)
		require.NoError(t, err)
		all = append(all, b)
	}
	next, err := makeNext(t.Context(), dir)
	require.NoError(t, err)
	return append(all, next)
}

// startCluster starts a cluster that ends with the test. The logs are kept if it fails.
func startCluster(t *testing.T, seed uint64) *cluster {
	t.Helper()
	testenv.RequireFull(t)
	requireNetworks(t)
	dir, err := os.MkdirTemp("", "livegraph-scale-")
	require.NoError(t, err)
	began := time.Now()
	c, err := start(t.Context(), options{
		Dir: dir, Builds: builds(t, dir), Seed: seed, Load: loadFactor, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	require.NoError(t, err, "the logs of all processes are in %s", dir)
	t.Logf("%d hosts with %d processes started in %s", hosts, len(c.env.Roles(""))+hosts, time.Since(began))
	t.Cleanup(func() {
		require.NoError(t, c.Stop(context.Background()))
		require.Empty(t, created(t, os.Getpid()))
		if t.Failed() {
			t.Logf("the logs of all processes are in %s", dir)
			return
		}
		require.NoError(t, os.RemoveAll(dir))
	})
	return c
}

// requireNoViolation runs a fault under load, and requires that no invariant is violated.
func (c *cluster) requireNoViolation(t *testing.T, f faults.Fault) {
	t.Helper()
	summary, err := run.New(c.env, c, run.Options{
		Begin: run.Begin{Seed: c.options.Seed, Kafka: "apache", PerRound: 1, Load: c.options.Load}, Faults: 1,
		Kinds: []faults.Fault{f}, Log: t.Output(), Logger: c.options.Log,
	}).Run(t.Context())
	require.NoError(t, err)
	require.Zero(t, summary.Violations)
	require.Equal(t, 1, summary.Faults)
}

// TestAnInstallationOnSeveralHosts upgrades an installation on three hosts, one host after the other, and
// takes single hosts from it, under load. In the short form, each of the scenarios that are not long affects
// one host, and the invariants are checked after the last one. make scale runs each scenario on each host,
// and checks the invariants after each.
func TestAnInstallationOnSeveralHosts(t *testing.T) {
	seed, rounds := number(t, seedEnv, shortSeed), number(t, roundsEnv, 0)
	c := startCluster(t, seed)
	t.Logf("seed %d", seed)
	step := func(kind string, do func(context.Context) error) {
		passed := t.Run(kind, func(t *testing.T) { c.requireNoViolation(t, c.fault(kind, do)) })
		if !passed {
			t.FailNow() // what follows is no evidence
		}
	}
	if rounds == 0 {
		step("upgrade", c.upgrade)
		step("hosts", func(ctx context.Context) error { return c.eachOnce(ctx, seed) })
	}
	for range rounds {
		step("upgrade", c.upgrade)
		for _, s := range c.scenarios() {
			for _, h := range c.hosts {
				step(s.name+"/"+h.name, func(ctx context.Context) error { return s.run(ctx, h) })
			}
		}
	}
}

// eachOnce runs the scenarios of the short form, each on another host.
func (c *cluster) eachOnce(ctx context.Context, seed uint64) error {
	first := rand.New(rand.NewPCG(seed, 3)).IntN(hosts)
	for i, s := range c.scenarios() {
		if s.long {
			continue
		}
		h := c.hosts[(first+i)%hosts]
		began := time.Now()
		if err := s.run(ctx, h); err != nil {
			return fmt.Errorf("%s of %s: %w", s.name, h.name, err)
		}
		c.options.Log.Info("scenario", "kind", s.name+"/"+h.name, "took", time.Since(began).Round(time.Millisecond))
	}
	return nil
}
