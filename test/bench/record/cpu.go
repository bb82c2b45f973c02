package record

import (
	"syscall"
	"testing"
	"time"
)

// CPU returns the CPU time, user and system, that this process has used so far: what
// a busy machine does not change.
func CPU(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatalf("asking for the CPU time: %v", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
