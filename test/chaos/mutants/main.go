// Command mutants shows that the runs of faults can see: make mutants.
//
// Each file in patches is a bug, planted in the product by a patch. The product is built
// with it, without changing or copying the tree (go build -overlay), and a run of faults
// is made with that binary (test/chaos/cmd) which must find something wrong; or, where
// the header of the patch names one, a test must fail. A patch that no longer applies is
// an error, and so is a run that could not be made. What is not caught ends the command
// with status 1.
//
// A patch begins with a header, a field a line: Bug says what is wrong in a sentence,
// Invariant which number of docs/reliability.md it breaks; then either Faults, the kinds
// of faults by comma, and Count, how many of them at most; or Test, a package of tests,
// and Run, which of them.
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

// mutants is the command itself.
func mutants(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	g := gate{out: out}
	flags.StringVar(&g.chaos, "chaos", "bin/chaos", "the built test/chaos/cmd")
	flags.Uint64Var(&g.seed, "seed", 1, "of every run")
	only := flags.String("only", "", "names of patches, by comma; none: all")
	parallel := flags.Int("parallel", 1, "how many bugs are tried at a time")
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
	tried := g.all(ctx, patches, *only, *parallel)
	var bugs []string
	for _, path := range patches {
		p, err := readPatch(filepath.Base(path), path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		bugs = append(bugs, p.bug)
	}
	_, _ = fmt.Fprintln(out, "\n"+table(bugs, tried, ""))
	if *doc != "" {
		if err := write(*doc, bugs, tried); err != nil {
			return err
		}
	}
	for _, r := range tried {
		if r.failure != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", r.name, r.failure))
		} else if r.by == "" {
			err = errors.Join(err, fmt.Errorf("%s: %w", r.name, errMissed))
		}
	}
	return err
}

// all tries the bugs, and gives them in the order of their names.
func (g *gate) all(ctx context.Context, patches []string, only string, parallel int) (tried []result) {
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
			r, err := g.try(ctx, name, path)
			r.name, r.failure, r.took = name, err, time.Since(began)
			mu.Lock()
			defer mu.Unlock()
			tried = append(tried, r)
			_, _ = fmt.Fprintf(g.out, "%-24s %-12s %5.0f s  %s\n", name, cmp.Or(r.by, "NOT CAUGHT"), r.took.Seconds(), r.what)
			return nil
		})
	}
	_ = work.Wait() // each has its failure in its result
	slices.SortFunc(tried, func(a, b result) int { return cmp.Compare(a.name, b.name) })
	return tried
}
