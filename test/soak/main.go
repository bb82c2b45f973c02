// Command soak holds Livegraph under load for long: make soak.
//
// It makes a world as test/chaos does (engines, the binary as several processes by role),
// measures how much of a mix of requests it bears, sends 70 % of that for an hour while
// processes are restarted one after the other and a fault happens every minute, samples
// what all of them take, and in the end holds what stands against what was answered, with
// the checks of test/chaos. A line a minute says how it goes. What was seen becomes
// docs/soak.md, with plots, and a verdict; the exit status is 1 when that is not good.
//
// A run of less than 20 minutes says nothing of trends. It is for trying, and writes below
// a directory of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/livegraph/livegraph/test/chaos/world"
	"github.com/livegraph/livegraph/test/soak/watch"
)

func main() {
	world.Broker()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := start(ctx, os.Args[1:], os.Stderr)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// config says what a run is.
type config struct {
	length  time.Duration
	share   float64 // of the capacity
	faults  time.Duration
	command string // as it was typed, for the page
	world   world.Options
}

// pagePath is the page that a run writes, imagesPath the folder of its plots below the
// page's.
const (
	pagePath   = "docs/soak.md"
	imagesPath = "images"
)

var errNotGood = errors.New("it did not hold")

func start(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(out)
	var c config
	flags.DurationVar(&c.length, "for", time.Hour, "how long, beside the measuring of the capacity and the checks")
	flags.Float64Var(&c.share, "share", 0.7, "how much of the capacity is sent")
	flags.DurationVar(&c.faults, "fault-every", time.Minute, "how often a fault happens")
	flags.Uint64Var(&c.world.Seed, "seed", 1, "what the faults and the requests that are checked follow from")
	flags.StringVar(&c.world.Kafka, "kafka", "", "apache: on Apache Kafka, instead of the embedded edition")
	flags.StringVar(&c.world.Binary, "binary", "bin/livegraph", "the built livegraph")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c.command = fmt.Sprintf("make soak SOAK=%s SEED=%d", shortest(c.length), c.world.Seed)
	if c.world.Kafka != "" {
		c.command += " KAFKA=" + c.world.Kafka
	}
	dir, err := os.MkdirTemp("", "livegraph-soak-")
	if err != nil {
		return err
	}
	if c.world.Binary, err = filepath.Abs(c.world.Binary); err != nil {
		return err
	}
	c.world.Dir, c.world.Log = dir, slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelWarn}))
	page := pagePath
	if c.length < watch.LeastForTrends {
		page = filepath.Join(dir, "soak.md")
	}
	_, _ = fmt.Fprintf(out, "everything is below %s; the page will be %s\n", dir, page)
	s := &soak{config: c, out: out}
	r, err := s.run(ctx)
	if err != nil {
		return fmt.Errorf("%w; the logs are in %s", err, dir)
	}
	if err := r.write(page); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "\n%s\nwrote %s\n", r.Verdict(), page)
	if !r.Good() {
		return fmt.Errorf("%w; the logs are in %s", errNotGood, dir)
	}
	if page == pagePath {
		return os.RemoveAll(dir)
	}
	return nil
}

// shortest writes a length as one would type it: 1h, not 1h0m0s.
func shortest(d time.Duration) string {
	text := d.String()
	for _, nothing := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, nothing) {
			text = text[:len(text)-2]
		}
	}
	return text
}
