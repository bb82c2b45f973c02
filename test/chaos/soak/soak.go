// Package soak is the soak test of the chaos runner: chaos -for 1h, make soak. It runs the rounds
// of package run for a length of time, samples the resources of the processes, and writes
// docs/soak.md with plots and a verdict.
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
	"github.com/livegraph/livegraph/test/chaos/environment"
	"github.com/livegraph/livegraph/test/chaos/run"
	"github.com/livegraph/livegraph/test/chaos/watch"
)

const (
	pagePath = "docs/soak.md"
	// A round has perRound faults, one each faultEvery.
	perRound   = 5
	faultEvery = time.Minute
	minRounds  = 4 // minimum number of rounds
)

var errNotGood = errors.New("it did not hold")

// Run executes the run and writes its page. If the run is too short for trends, the page is written
// into the directory of the run.
func Run(ctx context.Context, c run.Config, out io.Writer) error {
	r := &result{Began: time.Now().UTC(), Length: c.Duration}
	r.Command = fmt.Sprintf("make soak SOAK=%s SEED=%d", formatLength(c.Duration), c.Environment.Seed)
	if c.Environment.Kafka != "" {
		r.Command += " KAFKA=" + c.Environment.Kafka
	}
	page := pagePath
	if r.Short() {
		page = filepath.Join(c.Environment.Dir, "soak.md")
	}
	var err error
	if r.Where, err = machine.Describe(ctx, pagePath, "docs/"+imagesPath); err != nil {
		return err
	}
	var log bytes.Buffer
	c.PerRound, c.Spacing = perRound, min(faultEvery, c.Duration/(minRounds*perRound))
	c.Log = io.MultiWriter(c.Log, &log)
	var watcher *watch.Watch
	c.Watch = func(ctx context.Context, env *environment.Environment, s *environment.Stores) {
		const samples, minInterval, maxInterval = 720, time.Second, 5 * time.Second
		// doctor also exits with an error for findings
		if output, _ := env.Command(ctx, "doctor", "--json").Output(); len(output) > 0 {
			r.Engines, _ = machine.Engines(output, c.Environment.Binary)
		}
		watcher = watch.New(env, s)
		watcher.Run(ctx, min(max(c.Duration/samples, minInterval), maxInterval))
	}
	if r.Summary, err = run.Execute(ctx, c); err != nil {
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
	r.Samples = watcher.Samples()
	if err := r.write(page); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "\n%s\nwrote %s\n", r.Verdict(), page)
	if !r.Good() {
		return errNotGood
	}
	return nil
}
