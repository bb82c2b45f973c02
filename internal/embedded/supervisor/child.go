package supervisor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// outputGrace is how long the output of an ended process is still read, because a
// grandchild may keep the pipe open.
const outputGrace = 500 * time.Millisecond

// child is one run of an engine's process. It has its own process group, so that
// Ctrl-C in the terminal reaches only this process, which then stops the child. It
// ends with this process however this process ends.
type child struct {
	pid    int
	stdin  *os.File      // held open as long as this process lives; its EOF notifies the child
	ended  chan struct{} // closed when the process has ended
	result error         // why it ended; valid once ended is closed
}

// spawn starts cmd. Its output goes to log, and it holds lock until it ends.
//
// The kernel sends deathSignal when the thread that forked ends, not when the
// process ends. That thread is therefore reserved until the child has ended.
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
		cmd.Env = Env()
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

// signal sends s to the process, not to its process group.
func (c *child) signal(s syscall.Signal) error {
	select {
	case <-c.ended:
		return os.ErrProcessDone
	default:
		return syscall.Kill(c.pid, s)
	}
}

// kill kills the process group.
func (c *child) kill() {
	select {
	case <-c.ended:
	default:
		_ = syscall.Kill(-c.pid, syscall.SIGKILL)
	}
}
