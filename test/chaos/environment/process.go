package environment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

const (
	probeInterval   = 25 * time.Millisecond
	readyTimeout    = 2 * time.Minute
	minRestartDelay = 50 * time.Millisecond
	maxRestartDelay = 2 * time.Second
	stopTimeout     = 20 * time.Second
	tailBytes       = 8 << 10
)

// Exit is an unexpected exit of a process, or a requested one with an error.
type Exit struct {
	Process string    `json:"process"`
	At      time.Time `json:"at"`
	How     string    `json:"how"`   // exit status or signal
	Ready   bool      `json:"ready"` // it was ready before
	Asked   bool      `json:"asked"` // it had received SIGTERM
	Tail    string    `json:"tail"`  // last bytes of its log
}

// Process supervises a process of the environment. While the environment runs, a process that
// exited is started again, as a service manager would do.
type Process struct {
	Name string

	command func() *exec.Cmd
	probe   func(context.Context) error // nil once it serves
	logPath string
	done    chan struct{} // closed when the supervisor has returned

	mu       sync.Mutex
	pid      int // 0: it does not run
	ready    bool
	killed   bool // by this program: its exit is expected
	asked    bool // it received SIGTERM from this program
	held     int  // number of callers that keep it from being started
	stopping bool
	changed  chan struct{} // closed when one of these fields changes
	exits    []Exit
	starts   int
}

// NewProcess returns a process without starting it. command returns the command of each start, and
// probe returns nil once the process serves.
func NewProcess(name, logPath string, command func() *exec.Cmd, probe func(context.Context) error) *Process {
	return &Process{Name: name, logPath: logPath, command: command, probe: probe}
}

// Start starts the supervisor of the process.
func (p *Process) Start() {
	p.done, p.changed = make(chan struct{}), make(chan struct{})
	go p.supervise()
}

// supervise starts the process whenever it does not run and should. The kernel kills the child when
// the thread that started it ends, so supervise keeps its thread.
func (p *Process) supervise() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	wait := minRestartDelay
	for p.awaitStart() {
		began := time.Now()
		if err := p.run(); err != nil {
			p.addExit(Exit{Process: p.Name, At: time.Now(), How: err.Error()})
		}
		if time.Since(began) > maxRestartDelay {
			wait = minRestartDelay
		}
		select {
		case <-time.After(wait):
		case <-p.wakeUp():
		}
		wait = min(wait*2, maxRestartDelay)
	}
}

// awaitStart waits until no caller holds the process. It returns false if the process is being
// stopped.
func (p *Process) awaitStart() bool {
	for {
		p.mu.Lock()
		held, stopping, changed := p.held > 0, p.stopping, p.changed
		p.mu.Unlock()
		switch {
		case stopping:
			return false
		case !held:
			return true
		}
		<-changed
	}
}

// wakeUp returns a channel that is closed at the next change, or a closed one if the process is
// being stopped.
func (p *Process) wakeUp() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopping {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	return p.changed
}

// run starts the process and waits until it exits.
func (p *Process) run() error {
	log, err := os.OpenFile(p.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := p.command()
	cmd.Stdout, cmd.Stderr = log, log
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Pdeathsig = true, syscall.SIGKILL
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", p.Name, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.update(func() {
		p.pid, p.ready, p.killed, p.asked, p.starts = cmd.Process.Pid, false, p.stopping, false, p.starts+1
		if p.stopping { // stopped while it was being started
			_ = cmd.Process.Kill()
		}
	})
	var watch sync.WaitGroup
	watch.Go(func() { p.watchReady(ctx) })
	err = cmd.Wait()
	cancel()
	watch.Wait()
	p.update(func() {
		if !p.killed && (!p.asked || err != nil) {
			p.exits = append(p.exits, Exit{
				Process: p.Name, At: time.Now(), How: exitStatus(err), Ready: p.ready, Asked: p.asked, Tail: tail(p.logPath),
			})
		}
		p.pid, p.ready = 0, false
	})
	return nil
}

func exitStatus(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// watchReady records when the process becomes ready.
func (p *Process) watchReady(ctx context.Context) {
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if p.probe(ctx) == nil && ctx.Err() == nil {
			p.update(func() { p.ready = true })
			return
		}
	}
}

// update changes the state and wakes the waiting goroutines.
func (p *Process) update(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Process) addExit(e Exit) { p.update(func() { p.exits = append(p.exits, e) }) }

// PID returns the process id; 0 while the process does not run.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pid
}

// Starts returns how often the process was started.
func (p *Process) Starts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts
}

// Exits returns the unexpected exits since the last call.
func (p *Process) Exits() []Exit {
	p.mu.Lock()
	defer p.mu.Unlock()
	exits := p.exits
	p.exits = nil
	return exits
}

// Kill kills the process. It is started again when no caller holds it.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid != 0 {
		p.killed, p.ready = true, false
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}

// Pause stops the process with SIGSTOP until resume is called.
func (p *Process) Pause() (resume func()) { return pause(p.PID()) }

// Hold keeps the process from being started until release is called.
func (p *Process) Hold() (release func()) {
	p.update(func() { p.held++ })
	return sync.OnceFunc(func() { p.update(func() { p.held-- }) })
}

// Terminate sends SIGTERM and waits until the process has exited. An exit with an error is added to
// the exits. Terminate returns at once if the process does not run.
func (p *Process) Terminate(ctx context.Context) error {
	p.mu.Lock()
	pid := p.pid
	if pid != 0 {
		p.asked = true
		_ = syscall.Kill(pid, syscall.SIGTERM)
	}
	p.mu.Unlock()
	if pid == 0 {
		return nil
	}
	err := p.waitFor(ctx, func() bool { return p.pid != pid })
	if errors.Is(err, errStopped) {
		return nil
	}
	return err
}

// WaitReady waits until the process is ready, for two minutes at most.
func (p *Process) WaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	err := p.waitFor(ctx, func() bool { return p.ready })
	if errors.Is(err, errStopped) {
		return nil // it is being stopped
	}
	if err != nil {
		return fmt.Errorf("%s does not become ready: %w; its log ends:\n%s", p.Name, err, tail(p.logPath))
	}
	return nil
}

// waitFor waits until a condition on the state is true.
func (p *Process) waitFor(ctx context.Context, condition func() bool) error {
	for {
		p.mu.Lock()
		done, changed := condition(), p.changed
		p.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-p.done:
			return errStopped
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// errStopped means that the process has been stopped permanently.
var errStopped = errors.New("it has ended permanently")

// Stop stops the process permanently.
func (p *Process) Stop() {
	if p.done == nil {
		return
	}
	p.update(func() {
		p.stopping, p.killed = true, true
		if p.pid != 0 {
			_ = syscall.Kill(p.pid, syscall.SIGTERM)
			_ = syscall.Kill(p.pid, syscall.SIGCONT)
		}
	})
	select {
	case <-p.done:
	case <-time.After(stopTimeout):
		p.Kill()
		<-p.done
	}
}

// tail returns the end of a file.
func tail(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	if size, err := file.Seek(0, io.SeekEnd); err == nil {
		_, _ = file.Seek(max(0, size-tailBytes), io.SeekStart)
	}
	text, err := io.ReadAll(file)
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	return string(text)
}
