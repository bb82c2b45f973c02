// Command mutants checks that the chaos runs detect planted bugs: make mutants.
//
// Each file in patches is a patch that plants a bug in the product. The command builds the product
// with it, without changing or copying the tree (go build -overlay), and runs faults with that
// binary (test/chaos/cmd), which must find a violation; or, if the header of the patch names a
// test, that test must fail. A patch that does not apply is an error, and so is a run that fails
// for another reason. If a bug is not caught, the command exits with status 1.
//
// A patch begins with a header, one field per line: Bug describes the bug in a sentence, Invariant
// contains the numbers of docs/reliability.md that it breaks; then either Faults, kinds of faults
// separated by commas, and Count, the maximum number of faults; or Test, a test package, and Run, a
// pattern of its tests.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := mutants(ctx, os.Args[1:], os.Stderr)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

var errMissed = errors.New("nothing has caught it")

// mutants runs the command.
func mutants(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	g := checker{out: out}
	flags.StringVar(&g.chaos, "chaos", "bin/chaos", "the built test/chaos/cmd")
	flags.Uint64Var(&g.seed, "seed", 1, "of every run")
	only := flags.String("only", "", "names of patches, by comma; none: all")
	parallel := flags.Int("parallel", 1, "number of bugs that are tried at a time")
	doc := flags.String("write", "", "the document whose table is brought up to date")
	if err := flags.Parse(args); err != nil {
		return err
	}
	patches, err := filepath.Glob("test/chaos/mutants/patches/*.patch")
	if err != nil {
		return err
	}
	if g.dir, err = os.MkdirTemp("", "livegraph-mutants-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(g.dir) }()
	results := g.checkAll(ctx, patches, *only, *parallel)
	var bugs []string
	for _, path := range patches {
		p, err := readPatch(filepath.Base(path), path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		bugs = append(bugs, p.bug)
	}
	_, _ = fmt.Fprintln(out, "\n"+table(bugs, results, ""))
	if *doc != "" {
		if err := write(*doc, bugs, results); err != nil {
			return err
		}
	}
	for _, r := range results {
		if r.failure != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", r.name, r.failure))
		} else if r.caughtBy == "" {
			err = errors.Join(err, fmt.Errorf("%s: %w", r.name, errMissed))
		}
	}
	return err
}

// checkAll checks the bugs and returns the results, sorted by name.
func (g *checker) checkAll(ctx context.Context, patches []string, only string, parallel int) (results []result) {
	var (
		mu   sync.Mutex
		work errgroup.Group
	)
	work.SetLimit(max(parallel, 1))
	for _, path := range patches {
		name := strings.TrimSuffix(filepath.Base(path), ".patch")
		if only != "" && !slices.Contains(strings.Split(only, ","), name) {
			continue
		}
		work.Go(func() error {
			began := time.Now()
			r, err := g.check(ctx, name, path)
			r.name, r.failure, r.took = name, err, time.Since(began)
			mu.Lock()
			defer mu.Unlock()
			results = append(results, r)
			_, _ = fmt.Fprintf(
				g.out, "%-24s %-12s %5.0f s  %s\n", name, cmp.Or(r.caughtBy, "NOT CAUGHT"), r.took.Seconds(), r.what,
			)
			return nil
		})
	}
	_ = work.Wait() // failures are in the results
	slices.SortFunc(results, func(a, b result) int { return cmp.Compare(a.name, b.name) })
	return results
}
