package bench

import (
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// apart has what start starts on the first of the machine's processors, and this process on
// the others from then on: what a load generator measures beside a server that it takes the
// processors from is how long it waited itself. With one processor they share it, and apart
// is false.
func apart(b *testing.B, start func()) bool {
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
	runtime.LockOSThread() // a child has the processors of the thread that starts it
	require.NoError(b, unix.SchedSetaffinity(0, &first))
	start()
	require.NoError(b, unix.SchedSetaffinity(0, &all))
	runtime.UnlockOSThread()
	setThreads(b, &others)
	b.Cleanup(func() { setThreads(b, &all) })
	return true
}

// setThreads binds every thread of this process to these processors, and so those that they start.
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
