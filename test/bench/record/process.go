package record

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// ProcessCPU returns the CPU time, user and system, of a process without its children.
func ProcessCPU(tb testing.TB, pid int) time.Duration {
	tb.Helper()
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		tb.Fatalf("reading the CPU time: %v", err)
	}
	times, err := p.Times()
	if err != nil {
		tb.Fatalf("reading the CPU time: %v", err)
	}
	return time.Duration((times.User + times.System) * float64(time.Second))
}

// PeakMemory returns the peak memory of a process, in MiB: its resident set (proc(5), VmHWM).
func PeakMemory(tb testing.TB, pid int) float64 {
	tb.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		tb.Fatalf("reading the peak memory: %v", err)
	}
	_, after, _ := strings.Cut(string(status), "\nVmHWM:")
	var kib float64
	if _, err := fmt.Sscanf(after, "%f kB", &kib); err != nil {
		tb.Fatalf("the process %d has no VmHWM: %v", pid, err)
	}
	return kib / 1024
}
