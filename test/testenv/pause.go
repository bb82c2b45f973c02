package testenv

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/embedded"
)

// Pause stops an engine with SIGSTOP and waits until all its threads are stopped: on a busy machine
// the kernel delivers the signal later than the system call returns.
func Pause(t testing.TB, engine *embedded.Process) {
	t.Helper()
	require.NoError(t, engine.Signal(syscall.SIGSTOP))
	require.Eventually(t, func() bool { return stopped(engine.PID()) }, 30*time.Second, time.Millisecond)
}

// Resume continues an engine that Pause stopped.
func Resume(t testing.TB, engine *embedded.Process) {
	t.Helper()
	require.NoError(t, engine.Signal(syscall.SIGCONT))
}

// stopped reports whether all threads of a process are in the state T of proc(5).
func stopped(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		return false
	}
	for _, path := range threads {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		_, state, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')'):], []byte(" "))
		if !bytes.HasPrefix(state, []byte("T")) {
			return false
		}
	}
	return true
}
