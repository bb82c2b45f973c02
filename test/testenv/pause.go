package testenv

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/embedded/supervisor"
)

// Pause stops an engine and its child processes with SIGSTOP and waits until they are stopped. The
// children of Postgres have process groups of their own.
func Pause(t testing.TB, engine *supervisor.Process) {
	t.Helper()
	signalTree(t, engine.PID(), syscall.SIGSTOP)
}

// Resume continues an engine that Pause stopped.
func Resume(t testing.TB, engine *supervisor.Process) {
	t.Helper()
	signalTree(t, engine.PID(), syscall.SIGCONT)
}

// AwaitStopped waits until all threads of a process that was sent SIGSTOP are stopped: on a busy
// machine the kernel delivers the signal later than the system call returns.
func AwaitStopped(t testing.TB, pid int) {
	t.Helper()
	require.Eventually(t, func() bool { return stopped(pid) }, time.Minute, time.Millisecond)
}

// signalTree sends a signal to a process and all its descendants.
func signalTree(t testing.TB, pid int, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, signal); err != nil {
		require.ErrorIs(t, err, syscall.ESRCH) // a child that has ended since it was listed
		return
	}
	if signal == syscall.SIGSTOP {
		AwaitStopped(t, pid) // from then on it has no new children
	}
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, field := range strings.Fields(string(children)) {
		child, err := strconv.Atoi(field)
		require.NoError(t, err)
		signalTree(t, child, signal)
	}
}

// stopped reports whether no thread of a process runs: each is stopped or has ended (T, Z and X of
// proc(5)).
func stopped(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false
	}
	for _, path := range threads {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		_, state, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')'):], []byte(" "))
		if len(state) == 0 || !bytes.ContainsAny(state[:1], "TZX") {
			return false
		}
	}
	return true
}
