package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	readyPoll     = 15 * time.Millisecond // between two probes of a starting engine
	restartFirst  = 100 * time.Millisecond
	restartMost   = 5 * time.Second
	restartReset  = 30 * time.Second // a run this long makes the next back-off short again
	lockPatience  = 6 * time.Second  // for processes of a parent that has just died
	killPatience  = 5 * time.Second
	errorTailSize = 2 << 10
)

// spec is what supervision needs to know of an engine.
type spec struct {
	name        string
	dir         string                          // its data; the lock file is there
	port        func() int                      // where it will listen
	address     func() string                   // how it is reached
	logPath     string                          // its output
	command     func() (*exec.Cmd, error)       // a fresh command for each run
	ready       func(ctx context.Context) error // nil once the engine answers
	prepared    func(ctx context.Context) error // after the first time it is ready; may be nil
	startLimit  time.Duration                   // from start to ready
	stopSignal  syscall.Signal                  // asks it to end in order
	stopLimit   time.Duration                   // from there to SIGKILL
	deathSignal syscall.Signal                  // what it gets when we die
}

// Process is an engine that runs as a child process. While it is started, a
// crash is followed by a restart at the same address, with back-off.
type Process struct {
	spec   spec
	logger *slog.Logger

	mu      sync.Mutex
	current *child
	stop    chan struct{} // closed by Stop; nil while stopped
	done    chan struct{} // closed when the supervisor has ended
	log     *logFile
	claim   *portClaim

	restarts atomic.Int64
}

// Name is the engine's name, as in "clickhouse".
func (p *Process) Name() string { return p.spec.name }

// Address is the engine's URL, or host:port for Milvus. It holds credentials.
func (p *Process) Address() string { return p.spec.address() }

// Restarts counts the times that the engine ended unexpectedly.
func (p *Process) Restarts() int64 { return p.restarts.Load() }

// PID is the process's id, 0 while there is none.
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

// Signal sends a signal to the process, as a fault to be survived: SIGKILL,
// SIGSTOP, SIGCONT.
func (p *Process) Signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil {
		return os.ErrProcessDone
	}
	return p.current.signal(s)
}

// Start starts the engine and returns once it answers.
func (p *Process) Start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop != nil {
		return fmt.Errorf("%s is started already", p.spec.name)
	}
	claim, err := claimPort(ctx, p.spec.port())
	if err != nil {
		return fmt.Errorf("starting %s: %w", p.spec.name, err)
	}
	log, err := openLog(p.spec.logPath)
	if err != nil {
		claim.release()
		return err
	}
	p.log, p.claim = log, claim
	run, err := p.firstRun(ctx)
	if err != nil {
		claim.release()
		return errors.Join(err, log.Close())
	}
	p.current = run
	p.stop, p.done = make(chan struct{}), make(chan struct{})
	go p.supervise(run, p.stop, p.done)
	return nil
}

// firstRun launches the engine and prepares it for use.
func (p *Process) firstRun(ctx context.Context) (*child, error) {
	run, err := p.launch(ctx)
	if err != nil || p.spec.prepared == nil {
		return run, err
	}
	if err := p.spec.prepared(ctx); err != nil {
		run.kill()
		<-run.ended
		return nil, err
	}
	return run, nil
}

// Stop ends the engine in order, and with SIGKILL when its time or ctx is up.
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
	p.claim.release()
	return errors.Join(err, p.log.Close())
}

func (p *Process) end(ctx context.Context, run *child) error {
	if run.signal(p.spec.stopSignal) != nil {
		return nil
	}
	_ = run.signal(syscall.SIGCONT) // a stopped process would never see it
	limit := time.NewTimer(p.spec.stopLimit)
	defer limit.Stop()
	select {
	case <-run.ended:
		return nil
	case <-ctx.Done():
	case <-limit.C:
	}
	run.kill()
	<-run.ended
	return fmt.Errorf("%s did not stop in time and was killed", p.spec.name)
}

// launch starts one run and waits until it answers.
func (p *Process) launch(ctx context.Context) (*child, error) {
	ctx, cancel := context.WithTimeout(ctx, p.spec.startLimit)
	defer cancel()
	lock, err := p.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer lock.Close() // the child holds it from here on
	// Another's server on our port would pass for ours being ready.
	if err := awaitPort(ctx, p.spec.port()); err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.spec.name, err)
	}
	cmd, err := p.spec.command()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.spec.name, err)
	}
	run, err := spawn(cmd, p.spec.deathSignal, p.log, lock)
	if err != nil {
		return nil, err
	}
	if err := writePID(lock, run.pid); err != nil {
		p.logger.Warn("cannot note an engine's process", "engine", p.spec.name, "error", err)
	}
	if err := p.awaitReady(ctx, run); err != nil {
		run.kill()
		<-run.ended
		return nil, err
	}
	return run, nil
}

func (p *Process) awaitReady(ctx context.Context, run *child) error {
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	var last error
	for {
		select {
		case <-run.ended:
			return fmt.Errorf("%s ended while it started (%w); the end of %s:\n%s",
				p.spec.name, run.result, p.spec.logPath, strings.TrimSpace(p.log.tail(errorTailSize)))
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer (%w; %w); see %s", p.spec.name, ctx.Err(), last, p.spec.logPath)
		case <-tick.C:
			if last = p.spec.ready(ctx); last == nil {
				return nil
			}
		}
	}
}

// lock takes the engine's lock file. Each run inherits it and holds it for as
// long as any of its processes lives, so two never work on the same files. The
// one that holds it can only be left over from a parent that died: it is about
// to end, and is helped to.
func (p *Process) lock(ctx context.Context) (*os.File, error) {
	path := filepath.Join(p.spec.dir, "process.lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.spec.name, err)
	}
	for deadline := time.Now().Add(lockPatience); ; time.Sleep(25 * time.Millisecond) {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return nil, errors.Join(fmt.Errorf("starting %s: another %s process holds %s; end it first",
				p.spec.name, p.spec.name, path), file.Close())
		}
	}
}

// supervise waits for the run to end and starts the next, until stop is closed.
func (p *Process) supervise(run *child, stop, done chan struct{}) {
	defer close(done)
	wait := restartFirst
	for {
		began := time.Now()
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
		if ended.Sub(began) > restartReset {
			wait = restartFirst
		}
		p.restarts.Add(1)
		p.logger.Error("engine ended unexpectedly, restarting it", "engine", p.spec.name,
			"reason", fmt.Sprint(run.result), "after", wait, "log", p.spec.logPath)
		if run = p.relaunch(stop, &wait); run == nil {
			return
		}
		p.logger.Info("engine is back", "engine", p.spec.name, "pid", run.pid, "took", time.Since(ended))
	}
}

// relaunch starts runs until one answers; nil once stop is closed.
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
		*wait = min(*wait*2, restartMost)
		run, err := p.launch(ctx)
		if err != nil {
			if !stopped(stop) {
				p.logger.Error("engine does not start, trying again", "engine", p.spec.name, "error", err, "after", *wait)
			}
			continue
		}
		p.mu.Lock()
		p.current = run
		p.mu.Unlock()
		if stopped(stop) { // Stop may have looked before this run was there
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
