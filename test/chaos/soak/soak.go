// Package soak is the long mode of the runner of faults: chaos -for 1h, make soak. It runs the rounds of package run
// for a length of time, samples what the processes take, and writes docs/soak.md with plots and a verdict.
package soak

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/livegraph/livegraph/test/bench/machine"
	"github.com/livegraph/livegraph/test/chaos/run"
	"github.com/livegraph/livegraph/test/chaos/watch"
	"github.com/livegraph/livegraph/test/chaos/world"
)

const (
	pagePath = "docs/soak.md"
	// A round has so many faults, one a minute.
	perRound   = 5
	faultEvery = time.Minute
	fewest     = 4 // rounds of a short run
)

var errNotGood = errors.New("it did not hold")

// Run makes the run and writes its page, which for a run that is too short for trends is in the run's own directory.
func Run(ctx context.Context, c run.Config, out io.Writer) error {
	r := &result{Began: time.Now().UTC(), Length: c.For}
	r.Command = fmt.Sprintf("make soak SOAK=%s SEED=%d", shortest(c.For), c.World.Seed)
	if c.World.Kafka != "" {
		r.Command += " KAFKA=" + c.World.Kafka
	}
	page := pagePath
	if r.Short() {
		page = filepath.Join(c.World.Dir, "soak.md")
	}
	var err error
	if r.Where, err = machine.Look(ctx, pagePath, "docs/"+imagesPath); err != nil {
		return err
	}
	var log bytes.Buffer
	c.PerRound, c.Apart = perRound, min(faultEvery, c.For/(fewest*perRound))
	c.Log = io.MultiWriter(c.Log, &log)
	var taken *watch.Watch
	c.Watch = func(ctx context.Context, w *world.World, s *world.Stores) {
		const samples, often, seldom = 720, time.Second, 5 * time.Second
		if said, _ := w.Command(ctx, "doctor", "--json").Output(); len(said) > 0 { // it fails for a finding, too
			r.Engines, _ = machine.Engines(said, c.World.Binary)
		}
		taken = watch.New(w, s)
		taken.Run(ctx, min(max(c.For/samples, often), seldom))
	}
	if r.Summary, err = run.Whole(ctx, c); err != nil {
		return err
	}
	lines, err := run.Read(&log)
	if err != nil {
		return err
	}
	for _, line := range lines {
		if line.Round != nil {
			r.Rounds = append(r.Rounds, *line.Round)
		}
	}
	r.Samples = taken.Samples()
	if err := r.write(page); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "\n%s\nwrote %s\n", r.Verdict(), page)
	if !r.Good() {
		return errNotGood
	}
	return nil
}
