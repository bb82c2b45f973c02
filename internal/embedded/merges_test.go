package embedded_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Merges have a lower priority than inserts and queries, whether the engine starts with
// tables or without, and after a restart.
func TestClickHouseMergesComeLast(t *testing.T) {
	engine := startClickHouse(t)
	conn := open(t, engine.Address())
	require.NoError(t, conn.Exec(t.Context(), pointsTable))
	for range 2 {
		require.NoError(t, insert(t.Context(), conn, makeColumns(1000)))
	}
	require.NoError(t, conn.Exec(t.Context(), "OPTIMIZE TABLE points FINAL"))
	requireMergesLast(t, engine.PID())

	before := engine.PID()
	require.NoError(t, engine.Signal(syscall.SIGKILL))
	require.Eventually(t, func() bool {
		pid := engine.PID() // 0 until the supervisor has seen that the engine is ready
		return pid != 0 && pid != before && conn.Ping(t.Context()) == nil
	}, time.Minute, 50*time.Millisecond)
	requireMergesLast(t, engine.PID())
}

func requireMergesLast(t *testing.T, pid int) {
	t.Helper()
	niceness := func(thread int) int {
		raw, err := unix.Getpriority(unix.PRIO_PROCESS, thread) // 20 less the niceness
		require.NoError(t, err)
		return 20 - raw
	}
	require.Equal(t, niceness(os.Getpid()), niceness(pid), "the process has the priority of the one that starts it")
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", pid))
	require.NoError(t, err)
	merging := 0
	for _, name := range names {
		comm, err := os.ReadFile(name)
		if err != nil || strings.TrimSpace(string(comm)) != "MergeMutate" {
			continue
		}
		thread, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		require.NoError(t, err)
		require.Equal(t, 10, niceness(thread), "a thread that merges")
		merging++
	}
	require.Positive(t, merging, "threads that merge")
}
