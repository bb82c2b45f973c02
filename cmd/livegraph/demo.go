package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/livegraph/livegraph/internal/demo"
)

// DemoCmd streams this machine's own metrics into a running server.
type DemoCmd struct {
	DemoFlags `embed:""`
}

// Run runs the demo on what it is given until it is over or ctx ends.
func (c *DemoCmd) Run(ctx context.Context, deps demo.Deps) error {
	return demo.Run(ctx, c.options(), deps)
}

// DemoFlags are a person's wishes for the demo.
type DemoFlags struct {
	Interval   time.Duration `help:"Time between two measurements, 100ms to 1h." default:"1s"`
	Duration   time.Duration `help:"End after this time; 0: at Ctrl-C." default:"0s"`
	NoBackfill bool          `help:"Leave out the four years of weather."`
	Plain      bool          `help:"Print lines instead of a view that is redrawn in place."`
}

const (
	shortestDemoInterval = 100 * time.Millisecond
	longestDemoInterval  = time.Hour
)

// Validate checks what tags cannot say.
func (f *DemoFlags) Validate() error {
	if f.Interval < shortestDemoInterval || f.Interval > longestDemoInterval {
		return fmt.Errorf("--interval: must be from %s to %s", shortestDemoInterval, longestDemoInterval)
	}
	if f.Duration < 0 {
		return fmt.Errorf("--duration: must not be negative")
	}
	return nil
}

func (f *DemoFlags) options() demo.Options {
	return demo.Options{Interval: f.Interval, Duration: f.Duration, Backfill: !f.NoBackfill, Plain: f.Plain}
}

// firstRunKeyCommand gives the shell command that prints the key in a
// first-run.json, for commands that are to work when pasted without the key
// being written where it may be kept.
func firstRunKeyCommand(path string) string {
	quoted := "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	return `sed -n 's/.*"adminKey" *: *"\([^"]*\)".*/\1/p' ` + quoted
}
