package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/stretchr/testify/require"
)

// resetPeak has the kernel forget how much memory the service's process had at most
// (proc(5), clear_refs: 5).
func (t *target) resetPeak() {
	t.b.Helper()
	require.NoError(t.b, resetPeakOf(t.PID()))
}

// resetPeakOf is the same for any process.
func resetPeakOf(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0o200)
}

// peak gives the most memory, in MiB, that the service's process had since then: its
// resident set, with the embedded broker inside it and without the other engines.
func (t *target) peak() float64 {
	t.b.Helper()
	return peakOf(t, t.PID())
}

// peakOf is the same for any process, as the kernel has it (VmHWM).
func peakOf(t *target, pid int) float64 {
	t.b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t.b, err)
	for lines := bufio.NewScanner(bytes.NewReader(status)); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			var kib float64
			_, err := fmt.Sscanf(value, "%f kB", &kib)
			require.NoError(t.b, err)
			return kib / 1024
		}
	}
	require.FailNow(t.b, "the process has no VmHWM")
	return 0
}
