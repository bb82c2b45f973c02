// Command report runs the benchmarks, prints what they measured and writes
// docs/benchmarks.md, a section each with the machine and the versions.
//
//	go run ./test/bench/report                 all sections but those that take long
//	go run ./test/bench/report -only 'fresh'   those whose id matches
//	go run ./test/bench/report -render         no benchmark, only the page again
//
// What the page shows of the last measurements is kept in docs/benchmarks.txt, so that a run of some sections leaves
// the others as they are and the page can be made again. A section whose benchmark fails stays as it was.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"github.com/livegraph/livegraph/test/bench/machine"
)

// Where the results and the page are, from the repository's root.
const (
	resultsPath = "docs/benchmarks.txt"
	pagePath    = "docs/benchmarks.md"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("report", flag.ContinueOnError)
	only := flags.String(
		"only", "", "regular expression: run the sections whose id matches; those that take long run only so",
	)
	render := flags.Bool("render", false, "run nothing, make the page again")
	if err := flags.Parse(args); err != nil {
		return err
	}
	pattern, err := compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	all, err := load(resultsPath)
	if err != nil {
		return err
	}
	var failed error
	if !*render {
		failed = measure(ctx, out, pattern, all)
	}
	page, err := renderPage(all)
	if err == nil {
		for _, r := range all {
			r.dropUnshown()
		}
	}
	// What was measured is kept, whatever becomes of the page.
	if err := errors.Join(err, save(resultsPath, all)); err != nil {
		return errors.Join(failed, err)
	}
	if err := os.WriteFile(pagePath, page, 0o644); err != nil { // a page for everybody
		return errors.Join(failed, err)
	}
	_, _ = fmt.Fprintf(out, "wrote %s and %s\n", pagePath, resultsPath)
	return failed
}

// compile reads which sections are to be run; nil where none is named.
func compile(only string) (*regexp.Regexp, error) {
	if only == "" {
		return nil, nil
	}
	return regexp.Compile("(?i)" + only)
}

// chosen reports whether the section is to be run.
func (s section) chosen(pattern *regexp.Regexp) bool {
	if pattern == nil {
		return !s.asked
	}
	return pattern.MatchString(s.id)
}

// measure runs the sections that are chosen, puts their results in the place of those of
// before, and prints each when it is there.
func measure(ctx context.Context, out io.Writer, pattern *regexp.Regexp, all map[string]*results) error {
	where, err := machine.Look(ctx, resultsPath, pagePath)
	if err != nil {
		return err
	}
	var failed error
	matched := false
	for _, s := range sections {
		if !s.chosen(pattern) || ctx.Err() != nil {
			continue
		}
		matched = true
		before := "not measured before"
		if last := all[s.id]; last != nil {
			before = "took " + last.notes[noteTook] + " last time"
		}
		_, _ = fmt.Fprintf(out, "== %s (%s)\n", s.id, before)
		began := time.Now()
		measured, err := s.run(ctx, out)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("section %s: %w", s.id, err))
			continue
		}
		measured.notes[noteMachine], measured.notes[noteGo] = where.Machine, where.Go
		measured.notes[noteCommit] = where.Commit
		measured.notes[noteMeasured] = began.UTC().Format(time.DateOnly)
		measured.notes[noteTook] = time.Since(began).Round(time.Second).String()
		text, err := renderSection(s.id, measured)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		all[s.id] = measured
		_, _ = fmt.Fprintf(out, "\n%s\n", text)
	}
	if !matched {
		return errors.Join(ctx.Err(), fmt.Errorf("no section matches %q", pattern))
	}
	return errors.Join(failed, ctx.Err())
}
