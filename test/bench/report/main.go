// Command report runs the benchmarks, prints their measurements and writes docs/benchmarks.md, with
// the machine and the versions in each section.
//
//	go run ./test/bench/report                 all sections except for long ones
//	go run ./test/bench/report -only 'fresh'   sections whose id matches
//	go run ./test/bench/report -render         no benchmark, only the page
//
// docs/benchmarks.txt stores the last measurements that the page shows, so that a run of some sections
// keeps the others, and the page can be generated again. If a benchmark fails, its section is kept.
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

// Paths of the results and the page, relative to the repository's root.
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
		"only", "", "regular expression: run the sections whose id matches; long sections run only this way",
	)
	render := flags.Bool("render", false, "run no benchmark, generate the page")
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
	// The measurements are saved even if the page fails.
	if err := errors.Join(err, save(resultsPath, all)); err != nil {
		return errors.Join(failed, err)
	}
	if err := os.WriteFile(pagePath, page, 0o644); err != nil { // a page is public
		return errors.Join(failed, err)
	}
	_, _ = fmt.Fprintf(out, "wrote %s and %s\n", pagePath, resultsPath)
	return failed
}

// compile compiles -only; it returns nil if no section is named.
func compile(only string) (*regexp.Regexp, error) {
	if only == "" {
		return nil, nil
	}
	return regexp.Compile("(?i)" + only)
}

// selected reports whether to run the section.
func (s section) selected(pattern *regexp.Regexp) bool {
	if pattern == nil {
		return !s.asked
	}
	return pattern.MatchString(s.id)
}

// measure runs the selected sections, replaces their results in all, and prints each section when it
// is done.
func measure(ctx context.Context, out io.Writer, pattern *regexp.Regexp, all map[string]*results) error {
	environment, err := machine.Describe(ctx, resultsPath, pagePath)
	if err != nil {
		return err
	}
	var failed error
	matched := false
	for _, s := range sections {
		if !s.selected(pattern) || ctx.Err() != nil {
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
		measured.notes[noteMachine], measured.notes[noteGo] = environment.Machine, environment.Go
		measured.notes[noteCommit] = environment.Commit
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
