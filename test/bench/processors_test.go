package bench

import (
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// separateProcessors runs start, and so the processes that it starts, on the machine's first
// processor, and then binds this process to the others. Otherwise a load generator would measure how
// long it waits for processors that the server uses. With a single processor both share it, and
// separateProcessors returns false.
func separateProcessors(b *testing.B, start func()) bool {
	b.Helper()
	var all unix.CPUSet
	require.NoError(b, unix.SchedGetaffinity(0, &all))
	if all.Count() < 2 {
		start()
		return false
	}
	var first unix.CPUSet
	others := all
	for cpu := 0; first.Count() == 0; cpu++ {
		if all.IsSet(cpu) {
			first.Set(cpu)
			others.Clear(cpu)
		}
	}
	runtime.LockOSThread() // a child inherits the processors of the thread that starts it
	require.NoError(b, unix.SchedSetaffinity(0, &first))
	start()
	require.NoError(b, unix.SchedSetaffinity(0, &all))
	runtime.UnlockOSThread()
	setThreads(b, &others)
	b.Cleanup(func() { setThreads(b, &all) })
	return true
}

// setThreads binds every thread of this process, and the threads that they start, to processors.
func setThreads(b *testing.B, processors *unix.CPUSet) {
	b.Helper()
	threads, err := os.ReadDir("/proc/self/task")
	require.NoError(b, err)
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		require.NoError(b, err)
		if err := unix.SchedSetaffinity(id, processors); err != unix.ESRCH { // it may have ended
			require.NoError(b, err)
		}
	}
}
