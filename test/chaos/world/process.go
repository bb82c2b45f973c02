package world

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
	readyEvery   = 25 * time.Millisecond
	readyLimit   = 2 * time.Minute
	restartFirst = 50 * time.Millisecond
	restartMost  = 2 * time.Second
	stopLimit    = 20 * time.Second
	tailBytes    = 8 << 10
)

// Exit is the end of a process that nobody asked for, or that was not as it should be.
type Exit struct {
	Process string    `json:"process"`
	At      time.Time `json:"at"`
	How     string    `json:"how"`   // exit status or signal
	Ready   bool      `json:"ready"` // it had been ready before
	Asked   bool      `json:"asked"` // it was asked to end in order
	Tail    string    `json:"tail"`  // the end of its log
}

// Process is a process of this world. While the world stands, one that ended is started
// again, as a service manager would.
type Process struct {
	Name string

	command func() *exec.Cmd
	probe   func(context.Context) error // nil once it serves
	logPath string
	over    chan struct{} // closed when it is not started any more

	mu       sync.Mutex
	pid      int // 0: it does not run
	ready    bool
	killed   bool // by us: its end is what was wanted
	asked    bool // it was told to end in order
	held     int  // how many want it to stay away
	stopping bool
	changed  chan struct{} // closed when one of these is another
	exits    []Exit
	starts   int
}

// start makes the process run from here on.
func (p *Process) start() {
	p.over, p.changed = make(chan struct{}), make(chan struct{})
	go p.supervise()
}

// supervise starts the process whenever it is not there and should be. The kernel ends
// the child with the thread that made it, so that thread is kept for it.
func (p *Process) supervise() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.over)
	wait := restartFirst
	for p.awaitTurn() {
		began := time.Now()
		if err := p.run(); err != nil {
			p.note(Exit{Process: p.Name, At: time.Now(), How: err.Error()})
		}
		if time.Since(began) > restartMost {
			wait = restartFirst
		}
		select {
		case <-time.After(wait):
		case <-p.stopped():
		}
		wait = min(wait*2, restartMost)
	}
}

// awaitTurn waits until nobody requires the process to stay away; false: it is to end.
func (p *Process) awaitTurn() bool {
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

// stopped returns what is closed at the next change; a closed channel once it is to end.
func (p *Process) stopped() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopping {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	return p.changed
}

// run is one life of the process.
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
	p.set(func() {
		p.pid, p.ready, p.killed, p.asked, p.starts = cmd.Process.Pid, false, p.stopping, false, p.starts+1
		if p.stopping { // asked to end while it was being made
			_ = cmd.Process.Kill()
		}
	})
	var watch sync.WaitGroup
	watch.Go(func() { p.watchReady(ctx) })
	err = cmd.Wait()
	cancel()
	watch.Wait()
	p.set(func() {
		if !p.killed && (!p.asked || err != nil) {
			p.exits = append(p.exits, Exit{
				Process: p.Name, At: time.Now(), How: how(err), Ready: p.ready, Asked: p.asked, Tail: tail(p.logPath),
			})
		}
		p.pid, p.ready = 0, false
	})
	return nil
}

func how(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// watchReady notes when the process serves.
func (p *Process) watchReady(ctx context.Context) {
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if p.probe(ctx) == nil && ctx.Err() == nil {
			p.set(func() { p.ready = true })
			return
		}
	}
}

// set changes the state and tells those who wait.
func (p *Process) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Process) note(e Exit) { p.set(func() { p.exits = append(p.exits, e) }) }

// PID is the process's id; 0 while it does not run.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pid
}

// Starts counts how often it was started.
func (p *Process) Starts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts
}

// Exits returns the ends that nobody asked for since the last call.
func (p *Process) Exits() []Exit {
	p.mu.Lock()
	defer p.mu.Unlock()
	exits := p.exits
	p.exits = nil
	return exits
}

// Kill ends the process at once. It is started again when nobody holds it.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid != 0 {
		p.killed, p.ready = true, false
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}

// Pause stops the process where it is; resume lets it go on.
func (p *Process) Pause() (resume func()) { return pause(p.PID()) }

// Hold keeps the process from being started until release is called.
func (p *Process) Hold() (release func()) {
	p.set(func() { p.held++ })
	return sync.OnceFunc(func() { p.set(func() { p.held-- }) })
}

// Terminate asks the process to end in order, and waits until it has. How it did is
// among the exits unless it is as it should be. One that does not run has ended.
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
	err := p.await(ctx, func() bool { return p.pid != pid })
	if errors.Is(err, errOver) {
		return nil
	}
	return err
}

// WaitReady waits until the process serves, for two minutes at most.
func (p *Process) WaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	err := p.await(ctx, func() bool { return p.ready })
	if errors.Is(err, errOver) {
		return nil // nobody wants it to be
	}
	if err != nil {
		return fmt.Errorf("%s does not become ready: %w; its log ends:\n%s", p.Name, err, tail(p.logPath))
	}
	return nil
}

// await waits until a condition on the state holds.
func (p *Process) await(ctx context.Context, holds func() bool) error {
	for {
		p.mu.Lock()
		done, changed := holds(), p.changed
		p.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-p.over:
			return errOver
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// errOver says that the process is not to run any more.
var errOver = errors.New("it has ended for good")

// stop ends the process for good.
func (p *Process) stop() {
	if p.over == nil {
		return
	}
	p.set(func() {
		p.stopping, p.killed = true, true
		if p.pid != 0 {
			_ = syscall.Kill(p.pid, syscall.SIGTERM)
			_ = syscall.Kill(p.pid, syscall.SIGCONT)
		}
	})
	select {
	case <-p.over:
	case <-time.After(stopLimit):
		p.Kill()
		<-p.over
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
