package embedded

import (
	"os"
	"strconv"
	"strings"
)

// fallbackMemory is used if the memory of the machine is unknown.
const fallbackMemory = 4 << 30

// machineMemory returns the memory of this machine, or of the container, in bytes.
func machineMemory() int64 {
	total := int64(fallbackMemory)
	if raw, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(raw)) {
			if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "MemTotal:" {
				if kib, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
					total = kib << 10
				}
			}
		}
	}
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if raw, err := os.ReadFile(path); err == nil {
			if limit, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64); err == nil && limit > 0 {
				total = min(total, limit)
			}
		}
	}
	return total
}
