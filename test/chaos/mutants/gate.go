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

// tryLimit bounds what is made with one planted bug.
const tryLimit = 20 * time.Minute

// gate tries planted bugs.
type gate struct {
	dir   string // for all that is made
	chaos string
	seed  uint64
	out   io.Writer
}

// result is what came of a planted bug.
type result struct {
	patch
	by    string // what caught it; empty: nothing has
	found []int  // the invariants that were seen to be broken
	what  string // the first violation, or the test that failed
	took  time.Duration

	failure error // it could not be tried
}

// try builds the product with a bug and has it caught.
func (g *gate) try(ctx context.Context, name, path string) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, tryLimit)
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
		return p.byTest(ctx, overlay)
	}
	binary := filepath.Join(dir, "livegraph")
	build := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", binary, "./cmd/livegraph")
	if said, err := build.CombinedOutput(); err != nil {
		return result{}, fmt.Errorf("building it: %w: %s", err, said)
	}
	return g.byFaults(ctx, p, binary, dir)
}

var failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// byTest runs the test that is to fail.
func (p patch) byTest(ctx context.Context, overlay string) (result, error) {
	r := result{patch: p}
	test := exec.CommandContext(ctx, "go", "test", "-count=1", "-overlay", overlay, "-run", p.run, p.test)
	test.Env = append(os.Environ(), "GOFLAGS=-overlay="+overlay) // for binaries that tests build
	said, err := test.CombinedOutput()
	if err == nil {
		return r, nil
	}
	failed := failedTest.FindSubmatch(said)
	if failed == nil {
		return r, fmt.Errorf("running its test: %w: %s", err, said)
	}
	r.by, r.what = "a test", string(failed[1])
	return r, nil
}

// mostTries is how often a bug may be missed: what meets what is not in our hands.
const mostTries = 2

// byFaults makes runs of faults until one finds that what the bug breaks is broken.
func (g *gate) byFaults(ctx context.Context, p patch, binary, dir string) (result, error) {
	r := result{patch: p}
	for try := range uint64(mostTries) {
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
			if slices.Contains(p.broken(), v.Invariant) && r.by == "" {
				r.by, r.what = "faults", fmt.Sprintf("invariant %d: %s", v.Invariant, v.What)
			}
			_, _ = fmt.Fprintf(g.out, "  %s: invariant %d: %s: %s\n", p.name, v.Invariant, v.What, v.Evidence)
		}
		if r.by != "" {
			break
		}
	}
	slices.Sort(r.found)
	r.found = slices.Compact(r.found)
	return r, nil
}

// run creates one run, and gives what was wrong.
func (g *gate) run(ctx context.Context, p patch, binary, dir string, seed uint64) (all []run.Violation, err error) {
	chaos := exec.CommandContext(ctx, g.chaos, "-binary", binary, "-faults", strconv.Itoa(p.count), "-only", p.faults,
		"-seed", strconv.FormatUint(seed, 10), "-embedder=false", "-runs", dir)
	var said bytes.Buffer
	chaos.Stdout, chaos.Stderr = &said, &said
	chaos.Env = append(os.Environ(), "TMPDIR="+dir) // the world goes with it
	chaos.Cancel = func() error { return chaos.Process.Signal(os.Interrupt) }
	chaos.WaitDelay = time.Minute
	failure := chaos.Run()
	var exit *exec.ExitError
	if failure != nil && !errors.As(failure, &exit) || ctx.Err() != nil {
		return nil, fmt.Errorf("running the faults: %w: %s", errors.Join(failure, ctx.Err()), said.Bytes())
	}
	rounds, err := readRounds(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, said.Bytes())
	}
	for _, round := range rounds {
		all = append(all, round.Violations...)
	}
	if failure != nil && len(all) == 0 {
		return nil, fmt.Errorf("the faults were not run to their end: %w: %s", failure, said.Bytes())
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
