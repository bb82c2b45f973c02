// Command cmd injects faults into Livegraph under load: make chaos.
//
// It starts an environment (engines, processes of the binary, a proxy before each engine) below a
// new directory, and runs rounds until the number of faults is reached or a violation is found.
// After a violation it exits with status 1 and keeps the logs of all processes in that directory.
// The same seed selects the same faults.
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

	"github.com/livegraph/livegraph/test/chaos/environment"
	"github.com/livegraph/livegraph/test/chaos/run"
	"github.com/livegraph/livegraph/test/chaos/soak"
)

// insideEnv is set in the process that runs in a separate mount namespace.
const insideEnv = "LIVEGRAPH_CHAOS_INSIDE"

func main() {
	environment.RunBroker()
	os.Exit(start(os.Args[1:], os.Stderr))
}

// start runs this command again, if it is root, in a separate mount namespace: its mounts disappear
// when the process ends, however it ends.
func start(args []string, out io.Writer) int {
	if os.Geteuid() != 0 || os.Getenv(insideEnv) != "" {
		return runCommand(args, out)
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
	if err := inside.Start(); err != nil { // not permitted: run without disks
		return runCommand(args, out)
	}
	signals := make(chan os.Signal, 1) // the child receives Ctrl-C itself, and then exits gracefully
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = inside.Wait()
	}()
	for {
		select {
		case s := <-signals:
			if s == syscall.SIGTERM {
				_ = inside.Process.Signal(s)
			}
			continue
		case <-ended:
		}
		return inside.ProcessState.ExitCode()
	}
}

// runCommand parses the arguments and runs the command.
func runCommand(args []string, out io.Writer) int {
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.SetOutput(out)
	var c run.Config
	flags.IntVar(&c.Faults, "faults", 100, "minimum number of faults")
	flags.DurationVar(
		&c.Duration, "for", 0,
		"soak test, in place of -faults: run for this long, sample the processes, and write docs/soak.md",
	)
	flags.Uint64Var(&c.Environment.Seed, "seed", uint64(time.Now().UnixNano()), "seed of the faults and the load")
	flags.IntVar(&c.PerRound, "per-round", 6, "how many faults overlap")
	flags.Float64Var(&c.Load, "load", 0, "factor of the usual load, for several concurrent runs; default: 1")
	flags.StringVar(&c.Environment.Kafka, "kafka", "", "apache: on Apache Kafka, instead of the embedded edition")
	flags.IntVar(&c.Environment.Shards, "shards", 0, "ClickHouse is a cluster of this many shards; default: one server")
	flags.BoolVar(
		&c.Environment.Embedder, "embedder", true, "with the embedded embedder, instead of the model inside the binary",
	)
	flags.BoolVar(&c.Losing, "losing", false, "faults that lose data by definition: check that the loss is logged")
	flags.StringVar(&c.Environment.Binary, "binary", "bin/livegraph", "the built livegraph")
	flags.StringVar(&c.Commit, "commit", "", "commit of the binary, for the log")
	flags.BoolVar(&c.ContinueOnViolation, "go-on", false, "continue after a violation")
	flags.BoolVar(&c.KeepRunning, "stay", false, "after a violation, keep the environment running until Ctrl-C")
	only := flags.String("only", "", "kinds of faults, by comma, with * for anything but a slash: kill/*")
	runs := flags.String("runs", "", "folder for the run's log, NDJSON; default: with the rest")
	if flags.Parse(args) != nil {
		return 2
	}
	if *only != "" {
		c.Only = strings.Split(*only, ",")
	}
	if err := runOnce(c, *runs, out); err != nil {
		_, _ = fmt.Fprintln(out, "chaos:", err)
		return 1
	}
	return 0
}

// runOnce executes the run in a new directory, which it removes if there is no violation.
func runOnce(c run.Config, runs string, out io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c.Environment.Log = slog.New(slog.NewTextHandler(out, nil))
	dir, err := os.MkdirTemp("", "livegraph-chaos-")
	if err != nil {
		return err
	}
	c.Environment.Dir = dir
	if c.Environment.Binary, err = filepath.Abs(c.Environment.Binary); err != nil {
		return err
	}
	if err := environment.MayMount(); err != nil {
		c.Environment.Log.Info("disks cannot be mounted: no disk-full faults", "reason", err)
	} else {
		c.Environment.Disks = true
	}
	if runs == "" {
		runs = dir
	}
	name := fmt.Sprintf("%s-%d.ndjson", time.Now().UTC().Format("20060102T150405Z"), c.Environment.Seed)
	path := filepath.Join(runs, name)
	log, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	c.Log = log
	c.Environment.Log.Info("chaos", "seed", c.Environment.Seed, "directory", dir, "log", path)
	if c.Duration > 0 {
		if err := soak.Run(ctx, c, out); err != nil {
			return fmt.Errorf("%w; the logs are in %s", err, dir)
		}
		return nil
	}
	summary, err := run.Execute(ctx, c)
	summary.Print(out)
	if err != nil {
		return fmt.Errorf("%w; the logs are in %s", err, dir)
	}
	if summary.Violations > 0 {
		return fmt.Errorf(
			"%d violations, seed %d; the logs are in %s, the rounds in %s", summary.Violations, c.Environment.Seed, dir, path,
		)
	}
	if runs == dir {
		return nil // no other directory for the log was given: keep it
	}
	return os.RemoveAll(dir)
}
