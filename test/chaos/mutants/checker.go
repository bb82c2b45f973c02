package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/livegraph/livegraph/test/chaos/run"
)

// checkTimeout bounds the time for one planted bug.
const checkTimeout = 20 * time.Minute

// checker checks whether planted bugs are caught.
type checker struct {
	dir   string // for builds and runs
	chaos string
	seed  uint64
	out   io.Writer
}

// result is the result of checking a planted bug.
type result struct {
	patch
	caughtBy string // what caught it; empty: nothing
	found    []int  // the violated invariants
	what     string // the first violation, or the test that failed
	took     time.Duration

	failure error // why it could not be checked
}

// check builds the product with a bug and runs the faults or the test that must catch it.
func (g *checker) check(ctx context.Context, name, path string) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	p, err := readPatch(name, path)
	if err != nil {
		return result{}, err
	}
	dir := filepath.Join(g.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return result{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := p.overlay(ctx, path, dir)
	if err != nil {
		return result{}, err
	}
	if p.test != "" {
		return p.runTest(ctx, overlay)
	}
	binary := filepath.Join(dir, "livegraph")
	build := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", binary, "./cmd/livegraph")
	if output, err := build.CombinedOutput(); err != nil {
		return result{}, fmt.Errorf("building it: %w: %s", err, output)
	}
	return g.runFaults(ctx, p, binary, dir)
}

var failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// runTest runs the test that must fail.
func (p patch) runTest(ctx context.Context, overlay string) (result, error) {
	r := result{patch: p}
	test := exec.CommandContext(ctx, "go", "test", "-count=1", "-overlay", overlay, "-run", p.run, p.test)
	test.Env = append(os.Environ(), "GOFLAGS=-overlay="+overlay) // for binaries that tests build
	output, err := test.CombinedOutput()
	if err == nil {
		return r, nil
	}
	failed := failedTest.FindSubmatch(output)
	if failed == nil {
		return r, fmt.Errorf("running its test: %w: %s", err, output)
	}
	r.caughtBy, r.what = "a test", string(failed[1])
	return r, nil
}

// maxTries is the number of runs in which a bug may be caught: the timing of faults and requests is
// random.
const maxTries = 2

// runFaults runs faults until a run finds a violation of an invariant that the bug breaks.
func (g *checker) runFaults(ctx context.Context, p patch, binary, dir string) (result, error) {
	r := result{patch: p}
	for try := range uint64(maxTries) {
		runs := filepath.Join(dir, fmt.Sprintf("run-%d", try))
		if err := os.MkdirAll(runs, 0o700); err != nil {
			return r, err
		}
		violations, err := g.run(ctx, p, binary, runs, g.seed+try)
		if err != nil {
			return r, err
		}
		for _, v := range violations {
			r.found = append(r.found, v.Invariant)
			if slices.Contains(p.invariants(), v.Invariant) && r.caughtBy == "" {
				r.caughtBy, r.what = "faults", fmt.Sprintf("invariant %d: %s", v.Invariant, v.What)
			}
			_, _ = fmt.Fprintf(g.out, "  %s: invariant %d: %s: %s\n", p.name, v.Invariant, v.What, v.Evidence)
		}
		if r.caughtBy != "" {
			break
		}
	}
	slices.Sort(r.found)
	r.found = slices.Compact(r.found)
	return r, nil
}

// run executes one run and returns its violations.
func (g *checker) run(ctx context.Context, p patch, binary, dir string, seed uint64) (all []run.Violation, err error) {
	chaos := exec.CommandContext(ctx, g.chaos, "-binary", binary, "-faults", strconv.Itoa(p.count), "-only", p.faults,
		"-seed", strconv.FormatUint(seed, 10), "-embedder=false", "-runs", dir)
	var output bytes.Buffer
	chaos.Stdout, chaos.Stderr = &output, &output
	chaos.Env = append(os.Environ(), "TMPDIR="+dir) // so that the environment is removed with dir
	chaos.Cancel = func() error { return chaos.Process.Signal(os.Interrupt) }
	chaos.WaitDelay = time.Minute
	failure := chaos.Run()
	var exit *exec.ExitError
	if failure != nil && !errors.As(failure, &exit) || ctx.Err() != nil {
		return nil, fmt.Errorf("running the faults: %w: %s", errors.Join(failure, ctx.Err()), output.Bytes())
	}
	rounds, err := readRounds(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, output.Bytes())
	}
	for _, round := range rounds {
		all = append(all, round.Violations...)
	}
	if failure != nil && len(all) == 0 {
		return nil, fmt.Errorf("the faults were not run to their end: %w: %s", failure, output.Bytes())
	}
	return all, nil
}

func readRounds(dir string) (rounds []run.Round, err error) {
	logs, err := filepath.Glob(filepath.Join(dir, "*.ndjson"))
	if err != nil || len(logs) != 1 {
		return nil, errors.Join(err, fmt.Errorf("there are %d logs of the run", len(logs)))
	}
	file, err := os.Open(logs[0])
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	lines, err := run.Read(file)
	for _, line := range lines {
		if line.Round != nil {
			rounds = append(rounds, *line.Round)
		}
	}
	return rounds, err
}
