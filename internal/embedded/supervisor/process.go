// Package supervisor runs an engine as a child process: it starts the process, waits until it is
// ready, restarts it after a crash, and stops it. The process ends with this one, however this one
// ends.
//
// It also has what every child process and every engine on this machine needs: an environment
// without secrets ([Env]), and ports that no other server chooses at the same time ([ClaimPort]).
// It does not know the engines, their packages or their folders.
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/livegraph/livegraph/internal/platform/logfile"
)

const (
	readyPollInterval = 15 * time.Millisecond // between two probes of a starting engine
	minRestartWait    = 100 * time.Millisecond
	maxRestartWait    = 5 * time.Second
	stableRunTime     = 30 * time.Second // a run of this length resets the back-off
	lockTimeout       = 6 * time.Second  // for processes whose parent has just died to end
	errorTailSize     = 2 << 10
)

// startTimeout is the timeout of an engine's start. It is long because of crash recovery.
const startTimeout = 2 * time.Minute

// Spec describes an engine for its supervision. All fields but SetUp are required.
type Spec struct {
	Name        string
	Dir         string                          // folder of its data and its lock file
	LogPath     string                          // file for its output
	Port        func() int                      // port to listen on
	Address     func() string                   // URL or host:port for clients
	Command     func() (*exec.Cmd, error)       // returns a new command for each run; without Env, it gets that of [Env]
	Ready       func(ctx context.Context) error // returns nil once the engine is ready
	SetUp       func(ctx context.Context) error // called at each Start, when the engine is ready; may be nil
	StopSignal  syscall.Signal                  // requests an orderly shutdown
	StopTimeout time.Duration                   // from StopSignal to SIGKILL
	DeathSignal syscall.Signal                  // sent to it when this process dies
}

// Process is an engine that runs as a child process. After a crash it is restarted
// with the same address, with back-off, until it is stopped.
type Process struct {
	spec   Spec
	logger *slog.Logger

	mu      sync.Mutex
	current *child
	stop    chan struct{} // closed by Stop; nil while stopped
	done    chan struct{} // closed when the supervisor has ended
	log     *logfile.File
	claim   *PortClaim

	restarts atomic.Int64
}

// New creates a Process, which the caller starts. logger must not be nil.
func New(spec Spec, logger *slog.Logger) *Process { return &Process{spec: spec, logger: logger} }

// Name returns the name of the engine, such as "clickhouse".
func (p *Process) Name() string { return p.spec.Name }

// Address returns the URL of the engine, or host:port for Milvus. It contains credentials.
func (p *Process) Address() string { return p.spec.Address() }

// Restarts returns how often the engine has ended unexpectedly.
func (p *Process) Restarts() int64 { return p.restarts.Load() }

// PID returns the id of the process, or 0 if none is running.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil {
		return 0
	}
	select {
	case <-p.current.ended:
		return 0
	default:
		return p.current.pid
	}
}

// Signal sends a signal to the process, to simulate a fault: SIGKILL, SIGSTOP or
// SIGCONT.
func (p *Process) Signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil {
		return os.ErrProcessDone
	}
	return p.current.signal(s)
}

// Start starts the engine and waits until it is ready.
func (p *Process) Start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop != nil {
		return fmt.Errorf("%s is started already", p.spec.Name)
	}
	claim, err := ClaimPort(ctx, p.spec.Port())
	if err != nil {
		return fmt.Errorf("starting %s: %w", p.spec.Name, err)
	}
	log, err := logfile.Open(p.spec.LogPath)
	if err != nil {
		claim.Release()
		return err
	}
	p.log, p.claim = log, claim
	run, err := p.firstRun(ctx)
	if err != nil {
		claim.Release()
		return errors.Join(err, log.Close())
	}
	p.current = run
	p.stop, p.done = make(chan struct{}), make(chan struct{})
	go p.supervise(run, p.stop, p.done)
	return nil
}

// firstRun launches the engine and sets it up.
func (p *Process) firstRun(ctx context.Context) (*child, error) {
	run, err := p.launch(ctx)
	if err != nil || p.spec.SetUp == nil {
		return run, err
	}
	if err := p.spec.SetUp(ctx); err != nil {
		run.kill()
		<-run.ended
		return nil, err
	}
	return run, nil
}

// Stop stops the engine. It kills the engine after its timeout, or when ctx is done.
func (p *Process) Stop(ctx context.Context) error {
	p.mu.Lock()
	stop, done := p.stop, p.done
	p.stop, p.done = nil, nil
	p.mu.Unlock()
	if stop == nil {
		return nil
	}
	close(stop)
	p.mu.Lock()
	run := p.current
	p.mu.Unlock()
	err := p.end(ctx, run)
	<-done
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = nil
	p.claim.Release()
	return errors.Join(err, p.log.Close())
}

func (p *Process) end(ctx context.Context, run *child) error {
	if run.signal(p.spec.StopSignal) != nil {
		return nil
	}
	_ = run.signal(syscall.SIGCONT) // a process stopped by SIGSTOP would not handle the signal
	limit := time.NewTimer(p.spec.StopTimeout)
	defer limit.Stop()
	select {
	case <-run.ended:
		return nil
	case <-ctx.Done():
	case <-limit.C:
	}
	run.kill()
	<-run.ended
	return fmt.Errorf("%s did not stop in time and was killed", p.spec.Name)
}

// launch starts one run and waits until it is ready.
func (p *Process) launch(ctx context.Context) (*child, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	lock, err := p.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer lock.Close() // the child holds the lock from now on
	// Another server on the port would be mistaken for this engine being ready.
	if err := waitForPort(ctx, p.spec.Port()); err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.spec.Name, err)
	}
	cmd, err := p.spec.Command()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.spec.Name, err)
	}
	run, err := spawn(cmd, p.spec.DeathSignal, p.log, lock)
	if err != nil {
		return nil, err
	}
	if err := WritePID(lock, run.pid); err != nil {
		p.logger.Warn("cannot note an engine's process", "engine", p.spec.Name, "error", err)
	}
	if err := p.awaitReady(ctx, run); err != nil {
		run.kill()
		<-run.ended
		return nil, err
	}
	return run, nil
}

func (p *Process) awaitReady(ctx context.Context, run *child) error {
	tick := time.NewTicker(readyPollInterval)
	defer tick.Stop()
	var last error
	for {
		select {
		case <-run.ended:
			return fmt.Errorf("%s ended while it started (%w); the end of %s:\n%s",
				p.spec.Name, run.result, p.spec.LogPath, strings.TrimSpace(p.log.Tail(errorTailSize)))
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer (%w; %w); see %s", p.spec.Name, ctx.Err(), last, p.spec.LogPath)
		case <-tick.C:
			if last = p.spec.Ready(ctx); last == nil {
				return nil
			}
		}
	}
}

// lock locks the lock file of the engine. Each run inherits the lock and holds it as
// long as one of its processes lives, so that two runs never use the same files.
// Another holder can only be a process whose parent has died and which is about to
// end.
func (p *Process) lock(ctx context.Context) (*os.File, error) {
	path := filepath.Join(p.spec.Dir, "process.lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.spec.Name, err)
	}
	for deadline := time.Now().Add(lockTimeout); ; time.Sleep(25 * time.Millisecond) {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return nil, errors.Join(fmt.Errorf("starting %s: another %s process holds %s; end it first",
				p.spec.Name, p.spec.Name, path), file.Close())
		}
	}
}

// WritePID replaces the content of a lock file by pid, for users and messages. The lock
// does not depend on it.
func WritePID(file *os.File, pid int) error {
	if err := file.Truncate(0); err != nil {
		return fmt.Errorf("writing a lock file: %w", err)
	}
	if _, err := file.WriteAt([]byte(strconv.Itoa(pid)+"\n"), 0); err != nil {
		return fmt.Errorf("writing a lock file: %w", err)
	}
	return nil
}

// supervise waits for the run to end and starts the next, until stop is closed.
func (p *Process) supervise(run *child, stop, done chan struct{}) {
	defer close(done)
	wait := minRestartWait
	for {
		start := time.Now()
		select {
		case <-stop:
			<-run.ended
			return
		case <-run.ended:
		}
		if stopped(stop) {
			return
		}
		ended := time.Now()
		if ended.Sub(start) > stableRunTime {
			wait = minRestartWait
		}
		p.restarts.Add(1)
		p.logger.Error("engine ended unexpectedly, restarting it", "engine", p.spec.Name,
			"reason", fmt.Sprint(run.result), "after", wait, "log", p.spec.LogPath)
		if run = p.relaunch(stop, &wait); run == nil {
			return
		}
		p.logger.Info("engine is back", "engine", p.spec.Name, "pid", run.pid, "took", time.Since(ended))
	}
}

// relaunch starts runs until one is ready. It returns nil once stop is closed.
func (p *Process) relaunch(stop chan struct{}, wait *time.Duration) *child {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	for {
		select {
		case <-stop:
			return nil
		case <-time.After(*wait):
		}
		*wait = min(*wait*2, maxRestartWait)
		run, err := p.launch(ctx)
		if err != nil {
			if !stopped(stop) {
				p.logger.Error("engine does not start, trying again", "engine", p.spec.Name, "error", err, "after", *wait)
			}
			continue
		}
		p.mu.Lock()
		p.current = run
		p.mu.Unlock()
		if stopped(stop) { // Stop may have read current before this run was set
			run.kill()
			<-run.ended
			return nil
		}
		return run
	}
}

func stopped(stop chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}
