package embedded

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// outputGrace is how long the output of an ended process is still read: a
// grandchild may hold its end of the pipe.
const outputGrace = 500 * time.Millisecond

// child is one run of an engine's process. It is in a process group of its own,
// so that a Ctrl-C at the terminal reaches only us and we stop it in order; and
// it dies with us, however we die.
type child struct {
	pid    int
	stdin  *os.File      // held open as long as we live; its end tells the process
	ended  chan struct{} // closed when the process is gone
	result error         // why it ended; valid once ended is closed
}

// childEnv is our environment without our settings, which hold secrets: anyone who may read the
// environment of an engine's process would have all of them.
func childEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "LIVEGRAPH_") })
}

// spawn starts cmd, with its output to log and holding lock until it ends.
//
// deathSignal is sent by the kernel when the thread that forked ends, not the
// process. So that thread is kept for the child alone until the child is gone.
func spawn(cmd *exec.Cmd, deathSignal syscall.Signal, log io.Writer, lock *os.File) (*child, error) {
	output, outputEnd, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	input, inputEnd, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", cmd.Path, err), output.Close(), outputEnd.Close())
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, outputEnd, outputEnd
	if lock != nil {
		cmd.ExtraFiles = []*os.File{lock}
	}
	if cmd.Env == nil {
		cmd.Env = childEnv()
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pdeathsig = deathSignal

	c := &child{stdin: inputEnd, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		_ = input.Close()
		_ = outputEnd.Close()
		if err != nil {
			started <- err
			return
		}
		c.pid = cmd.Process.Pid
		copied := make(chan struct{})
		go func() {
			defer close(copied)
			_, _ = io.Copy(log, output)
		}()
		started <- nil
		c.result = cmd.Wait()
		_ = output.SetReadDeadline(time.Now().Add(outputGrace))
		<-copied
		_ = output.Close()
		_ = inputEnd.Close()
		close(c.ended)
	}()
	if err := <-started; err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", cmd.Path, err), output.Close(), inputEnd.Close())
	}
	return c, nil
}

// signal sends s to the process itself.
func (c *child) signal(s syscall.Signal) error {
	select {
	case <-c.ended:
		return os.ErrProcessDone
	default:
		return syscall.Kill(c.pid, s)
	}
}

// kill ends the process and all that it started.
func (c *child) kill() {
	select {
	case <-c.ended:
	default:
		_ = syscall.Kill(-c.pid, syscall.SIGKILL)
	}
}
