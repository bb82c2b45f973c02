// Command cmd tries faults on Livegraph under load: make chaos.
//
// It makes its own world (engines, processes of the binary, a proxy before each
// engine) below its own directory, and runs rounds until so many faults have
// happened or something was wrong. Then it exits with status 1, and leaves the logs of
// all processes there. The same seed deals the same faults again.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/livegraph/livegraph/test/chaos/run"
	"github.com/livegraph/livegraph/test/chaos/soak"
	"github.com/livegraph/livegraph/test/chaos/world"
)

// insideEnv is set for the process that has its own mounts.
const insideEnv = "LIVEGRAPH_CHAOS_INSIDE"

func main() {
	world.Broker()
	os.Exit(start(os.Args[1:], os.Stderr))
}

// start runs this command once more, as root with a view of the its own disks: those
// that it mounts go with it, however it ends.
func start(args []string, out io.Writer) int {
	if os.Geteuid() != 0 || os.Getenv(insideEnv) != "" {
		return chaos(args, out)
	}
	self, err := os.Executable()
	if err != nil {
		_, _ = fmt.Fprintln(out, err)
		return 1
	}
	inside := exec.Command(self, args...)
	inside.Env = append(os.Environ(), insideEnv+"=1")
	inside.Stdin, inside.Stdout, inside.Stderr = os.Stdin, os.Stdout, out
	inside.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGTERM}
	if err := inside.Start(); err != nil { // not allowed here: then without disks
		return chaos(args, out)
	}
	told := make(chan os.Signal, 1) // Ctrl-C reaches the one inside by itself, which then ends in order
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(told)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = inside.Wait()
	}()
	for {
		select {
		case s := <-told:
			if s == syscall.SIGTERM {
				_ = inside.Process.Signal(s)
			}
			continue
		case <-ended:
		}
		return inside.ProcessState.ExitCode()
	}
}

// chaos is the command itself.
func chaos(args []string, out io.Writer) int {
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.SetOutput(out)
	var c run.Config
	flags.IntVar(&c.Faults, "faults", 100, "how many faults, at least")
	flags.DurationVar(
		&c.For, "for", 0, "the long mode, in place of -faults: so long, with what the processes take, and docs/soak.md",
	)
	flags.Uint64Var(&c.World.Seed, "seed", uint64(time.Now().UnixNano()), "what the faults and the load follow from")
	flags.IntVar(&c.PerRound, "per-round", 6, "how many faults overlap")
	flags.Float64Var(&c.Load, "load", 0, "share of the usual load, for several runs beside each other; default: all of it")
	flags.StringVar(&c.World.Kafka, "kafka", "", "apache: on Apache Kafka, instead of the embedded edition")
	flags.BoolVar(
		&c.World.Embedder, "embedder", true, "with the embedded embedder, instead of the model inside the binary",
	)
	flags.BoolVar(&c.Losing, "losing", false, "faults that lose data by definition: that it is noticed and said")
	flags.StringVar(&c.World.Binary, "binary", "bin/livegraph", "the built livegraph")
	flags.StringVar(&c.Commit, "commit", "", "what is run, for the log")
	flags.BoolVar(&c.GoOn, "go-on", false, "run on after a violation, to see more of them")
	flags.BoolVar(&c.Stay, "stay", false, "after a violation, leave the world standing until Ctrl-C")
	only := flags.String("only", "", "kinds of faults, by comma, with * for anything but a slash: kill/*")
	runs := flags.String("runs", "", "folder for the run's log, NDJSON; default: with the rest")
	if flags.Parse(args) != nil {
		return 2
	}
	if *only != "" {
		c.Only = strings.Split(*only, ",")
	}
	if err := try(c, *runs, out); err != nil {
		_, _ = fmt.Fprintln(out, "chaos:", err)
		return 1
	}
	return 0
}

// try makes the run in a new directory, which it removes if nothing was wrong.
func try(c run.Config, runs string, out io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c.World.Log = slog.New(slog.NewTextHandler(out, nil))
	dir, err := os.MkdirTemp("", "livegraph-chaos-")
	if err != nil {
		return err
	}
	c.World.Dir = dir
	if c.World.Binary, err = filepath.Abs(c.World.Binary); err != nil {
		return err
	}
	if err := world.MayMount(); err != nil {
		c.World.Log.Info("no disk can be full: engines get none of their own", "reason", err)
	} else {
		c.World.Disks = true
	}
	if runs == "" {
		runs = dir
	}
	path := filepath.Join(runs, fmt.Sprintf("%s-%d.ndjson", time.Now().UTC().Format("20060102T150405Z"), c.World.Seed))
	log, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	c.Log = log
	c.World.Log.Info("chaos", "seed", c.World.Seed, "directory", dir, "log", path)
	if c.For > 0 {
		if err := soak.Run(ctx, c, out); err != nil {
			return fmt.Errorf("%w; the logs are in %s", err, dir)
		}
		return nil
	}
	summary, err := run.Whole(ctx, c)
	summary.Print(out)
	if err != nil {
		return fmt.Errorf("%w; the logs are in %s", err, dir)
	}
	if summary.Violations > 0 {
		return fmt.Errorf(
			"%d violations, seed %d; the logs are in %s, the rounds in %s", summary.Violations, c.World.Seed, dir, path,
		)
	}
	if runs == dir {
		return nil // the caller wanted no log elsewhere: it stays
	}
	return os.RemoveAll(dir)
}
